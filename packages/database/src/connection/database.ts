import { BackOff, type Lifecycle, type Secret } from '@drover/service-kit';
import pg from 'pg';
import { databaseTooOld, transactionConflict } from '../errors.js';
import {
  clientConfig,
  defaultSessionLimits,
  parseDatabaseUrl,
  type ConnectionSettings,
  type SessionLimits,
} from './connection-settings.js';
import type { DatabaseIo } from './database-io.js';
import { DedicatedConnection } from './dedicated-connection.js';
import { toQuery, type Queryable, type Row, type Statement } from './statement.js';
import { codeOf, isConflict, translateError } from './translate-error.js';

export interface DatabaseOptions extends DatabaseIo {
  readonly url: Secret;
  /** Who we are, in pg_stat_activity. */
  readonly applicationName: string;
  readonly poolSize?: number;
  readonly limits?: SessionLimits;
}

export type Isolation = 'read committed' | 'repeatable read' | 'serializable';

/** A transaction in progress. Statements run one after the other on one connection. */
export interface Transaction extends Queryable {
  /** Runs `action` once the transaction has been committed; never when it was rolled back. */
  afterCommit(action: () => void): void;
}

/** PostgreSQL 15 is the oldest still supported by its makers, and the oldest the suites run on. */
const oldestVersion = 150_000;
const conflictBackOff = { firstMs: 5, maxMs: 250, factor: 2 };
const conflictAttempts = 10;

/**
 * One PostgreSQL, embedded or yours: a pool of connections with limits on every wait. Errors of the connection come out
 * as coded ones (`DATABASE_…`); errors of a statement stay the driver's.
 */
export class Database implements Lifecycle, Queryable {
  readonly name = 'database';
  readonly settings: ConnectionSettings;
  readonly #io: DatabaseIo;
  readonly #limits: SessionLimits;
  readonly #applicationName: string;
  readonly #pool: pg.Pool;
  #stopped: Promise<void> | undefined;
  #serverVersion = '';

  constructor({
    url,
    applicationName,
    poolSize = 10,
    limits = defaultSessionLimits,
    clock,
    randomness,
    observe,
  }: DatabaseOptions) {
    this.settings = parseDatabaseUrl(url);
    this.#io = { clock, randomness, observe };
    this.#limits = limits;
    this.#applicationName = applicationName;
    this.#pool = new pg.Pool({
      ...clientConfig(this.settings, limits, applicationName),
      max: poolSize,
      idleTimeoutMillis: 30_000,
    });
    // An idle connection that breaks is replaced at the next use; without a listener it would end the process.
    this.#pool.on('error', (error) => {
      observe({
        kind: 'database.connection-lost',
        server: this.settings.server,
        purpose: 'idle',
        reason: error.message,
      });
    });
  }

  get serverVersion(): string {
    return this.#serverVersion;
  }

  async start(): Promise<void> {
    const [row] = await this.query<{ number: string; version: string }>(
      `select current_setting('server_version_num') as number, current_setting('server_version') as version`,
    );
    const { server } = this.settings;
    this.#serverVersion = row?.version ?? '';
    if (Number(row?.number) < oldestVersion) {
      throw databaseTooOld({
        server,
        version: this.#serverVersion,
        oldest: String(Math.floor(oldestVersion / 10_000)),
      });
    }
    this.#io.observe({ kind: 'database.connected', server, version: this.#serverVersion });
  }

  drain(): Promise<void> {
    return Promise.resolve();
  }

  stop(): Promise<void> {
    return (this.#stopped ??= this.#pool.end());
  }

  async query<R extends object = Row>(statement: Statement | string, values: readonly unknown[] = []): Promise<R[]> {
    try {
      return (await this.#pool.query<R & pg.QueryResultRow>(toQuery(statement, values))).rows;
    } catch (error) {
      throw translateError(error, this.settings.server);
    }
  }

  /**
   * Runs `work` in one transaction. When it meets a conflicting transaction (serialization failure, deadlock) all of
   * `work` runs again: it must do nothing outside the transaction that may not happen twice.
   */
  async transaction<T>(work: (tx: Transaction) => Promise<T>, isolation: Isolation = 'read committed'): Promise<T> {
    const backOff = new BackOff(conflictBackOff, this.#io);
    for (;;) {
      try {
        return await this.#attempt(work, isolation);
      } catch (error) {
        if (!isConflict(error)) throw error;
        if (backOff.failures + 1 >= conflictAttempts) throw transactionConflict({ attempts: conflictAttempts }, error);
        this.#io.observe({
          kind: 'database.transaction-retried',
          attempt: backOff.failures + 1,
          sqlState: codeOf(error) ?? '',
        });
        await backOff.wait();
      }
    }
  }

  /** A connection of one's own that comes back by itself, for notifications or pipelined statements. */
  dedicatedConnection(purpose: string): DedicatedConnection {
    const config = clientConfig(this.settings, this.#limits, `${this.#applicationName} ${purpose}`);
    return new DedicatedConnection({ purpose, server: this.settings.server, config, ...this.#io });
  }

  async #attempt<T>(work: (tx: Transaction) => Promise<T>, isolation: Isolation): Promise<T> {
    const { server } = this.settings;
    const client = await this.#pool.connect().catch((error: unknown) => {
      throw translateError(error, server);
    });
    // A connection that breaks while it is ours: the statement under way reports it.
    const ignore = (): void => undefined;
    client.on('error', ignore);
    const commits: (() => void)[] = [];
    let broken: Error | undefined;
    try {
      await client.query(isolation === 'read committed' ? 'begin' : `begin isolation level ${isolation}`);
      const result = await work({
        async query<R extends object = Row>(statement: Statement | string, values: readonly unknown[] = []) {
          return (await client.query<R & pg.QueryResultRow>(toQuery(statement, values))).rows;
        },
        afterCommit: (action) => void commits.push(action),
      });
      const { command } = await client.query('commit');
      if (command !== 'COMMIT')
        throw new Error('a statement of the transaction failed and its error was swallowed: nothing was written');
      for (const action of commits) action();
      return result;
    } catch (error) {
      await client.query('rollback').catch((failure: Error) => {
        broken = failure;
      });
      throw translateError(error, server);
    } finally {
      client.off('error', ignore);
      client.release(broken);
    }
  }
}
