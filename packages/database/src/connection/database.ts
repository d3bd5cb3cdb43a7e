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
import { awaitServer } from './await-server.js';
import { CallerClients } from './caller-clients.js';
import type { DatabaseIo } from './database-io.js';
import { DedicatedConnection } from './dedicated-connection.js';
import { ForgottenStatements } from './forgotten-statements.js';
import { runOn } from './run-prepared.js';
import type { Queryable, Row, Statement } from './statement.js';
import { codeOf, isConflict, translateError } from './translate-error.js';

export interface DatabaseOptions extends DatabaseIo {
  readonly url: Secret;
  /** Name of this process in pg_stat_activity. */
  readonly applicationName: string;
  readonly poolSize?: number;
  readonly limits?: SessionLimits;
  /**
   * How long `start` waits for a server that cannot be reached; it waits without a limit for one that recovers. Undefined: any
   * failure of the first connection rejects at once.
   */
  readonly startWaitMs?: number | undefined;
}

export type Isolation = 'read committed' | 'repeatable read' | 'serializable';

/** A transaction in progress. Statements run one after the other on one connection. */
export interface Transaction extends Queryable {
  /** Calls `action` once the transaction has committed; never if it rolls back. */
  afterCommit(action: () => void): void;
}

/** A database for the statements of one caller. */
export interface CallerDatabase extends Queryable, Pick<Database, 'transaction'> {
  /** The database of all callers, for statements that serve several of them. */
  readonly shared: Database;
  /** Call it when the caller has left: statements that run are cancelled, further ones are refused. */
  cancel(): void;
}

/** PostgreSQL 15: the oldest release that is still maintained, and the oldest that the suites run on. */
const oldestVersion = 150_000;
const conflictBackOff = { firstMs: 5, maxMs: 250, factor: 2 };
const conflictAttempts = 10;

/**
 * A pool of connections to PostgreSQL, with a limit on every wait. Connection failures are thrown as coded errors (`DATABASE_…`);
 * errors of a statement are those of the driver.
 */
export class Database implements Lifecycle, Queryable {
  readonly name = 'database';
  readonly settings: ConnectionSettings;
  readonly #io: DatabaseIo;
  readonly #limits: SessionLimits;
  readonly #applicationName: string;
  readonly #pool: pg.Pool;
  readonly #clients: Clients;
  readonly #forgotten: ForgottenStatements;
  readonly #startWaitMs: number | undefined;
  #stopped: Promise<void> | undefined;
  #serverVersion = '';

  constructor({
    url,
    applicationName,
    poolSize = 10,
    limits = defaultSessionLimits,
    startWaitMs,
    clock,
    randomness,
    observe,
  }: DatabaseOptions) {
    this.settings = parseDatabaseUrl(url);
    this.#io = { clock, randomness, observe };
    this.#limits = limits;
    this.#applicationName = applicationName;
    this.#startWaitMs = startWaitMs;
    this.#pool = new pg.Pool({
      ...clientConfig(this.settings, limits, applicationName),
      max: poolSize,
      idleTimeoutMillis: 30_000,
    });
    this.#clients = {
      connect: () => this.#pool.connect(),
      release: (client, broken) => client.release(broken),
    };
    this.#forgotten = new ForgottenStatements(this.#pool);
    // A broken idle connection is replaced at the next use; without a listener the event would crash the process.
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

  async start(signal?: AbortSignal): Promise<void> {
    const { server } = this.settings;
    const waitMs = this.#startWaitMs;
    const [row] = await (waitMs === undefined
      ? this.#askVersion()
      : awaitServer(() => this.#askVersion(), { ...this.#io, server, waitMs, signal }));
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

  query<R extends object = Row>(statement: Statement | string, values: readonly unknown[] = []): Promise<R[]> {
    return this.#query<R>(this.#clients, statement, values);
  }

  /** Frees what the connections hold of a prepared statement. It may be used again: it is prepared again then. */
  forgetStatement(name: string): void {
    this.#forgotten.forget(name);
  }

  /**
   * Runs `work` in one transaction. After a conflict with another transaction (serialization failure, deadlock) all of `work`
   * runs again, so it must have no side effects outside the transaction that may not happen twice.
   */
  transaction<T>(work: (tx: Transaction) => Promise<T>, isolation?: Isolation): Promise<T> {
    return this.#transaction(this.#clients, work, isolation);
  }

  /** Returns a view of this database whose statements can be cancelled together. Nothing has to be closed. */
  forCaller(): CallerDatabase {
    const clients = new CallerClients(this.#pool);
    return {
      shared: this,
      query: <R extends object = Row>(statement: Statement | string, values: readonly unknown[] = []) =>
        this.#query<R>(clients, statement, values),
      transaction: (work, isolation) => this.#transaction(clients, work, isolation),
      cancel: () => clients.cancel(),
    };
  }

  async #transaction<T>(
    clients: Clients,
    work: (tx: Transaction) => Promise<T>,
    isolation: Isolation = 'read committed',
  ): Promise<T> {
    const backOff = new BackOff(conflictBackOff, this.#io);
    for (;;) {
      try {
        return await this.#use(clients, (client, broke) => attempt(client, work, isolation, broke));
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

  /** Creates a connection outside the pool that reconnects by itself, for notifications or pipelined statements. */
  dedicatedConnection(purpose: string): DedicatedConnection {
    const config = clientConfig(this.settings, this.#limits, `${this.#applicationName} ${purpose}`);
    const { server } = this.settings;
    return new DedicatedConnection({ purpose, server, config, startWaitMs: this.#startWaitMs, ...this.#io });
  }

  #askVersion(): Promise<{ number: string; version: string }[]> {
    return this.query(
      `select current_setting('server_version_num') as number, current_setting('server_version') as version`,
    );
  }

  #query<R extends object>(clients: Clients, statement: Statement | string, values: readonly unknown[]): Promise<R[]> {
    return this.#use(clients, (client, broke) =>
      runOn<R>(client, statement, values).catch((error: unknown) => {
        if (error instanceof Error && !isUsableAfter(error)) broke(error);
        throw error;
      }),
    );
  }

  /** Runs `work` on a connection. It calls `broke` for one that must not be used again. */
  async #use<T>(
    clients: Clients,
    work: (client: pg.PoolClient, broke: (error: Error) => void) => Promise<T>,
  ): Promise<T> {
    const { server } = this.settings;
    const client = await clients.connect().catch((error: unknown) => {
      throw translateError(error, server);
    });
    let broken: Error | undefined;
    // If the connection breaks meanwhile, the statement in progress rejects.
    const broke = (error: Error): void => {
      broken = error;
    };
    client.on('error', broke);
    try {
      return await work(client, broke);
    } catch (error) {
      throw translateError(error, server);
    } finally {
      client.off('error', broke);
      clients.release(client, broken);
    }
  }
}

/**
 * Whether the connection of a failed statement can be used again. After a time limit of this process the statement may still run there,
 * and the next one would wait for it. A prepared statement whose columns have changed (0A000), or that was dropped (26000), would fail again.
 */
const isUsableAfter = (error: Error): boolean =>
  error instanceof pg.DatabaseError && error.severity === 'ERROR' && error.code !== '0A000' && error.code !== '26000';

/** Where connections for statements come from. */
type Clients = Pick<CallerClients, 'connect' | 'release'>;

async function attempt<T>(
  client: pg.PoolClient,
  work: (tx: Transaction) => Promise<T>,
  isolation: Isolation,
  broke: (error: Error) => void,
): Promise<T> {
  const commits: (() => void)[] = [];
  try {
    await client.query(isolation === 'read committed' ? 'begin' : `begin isolation level ${isolation}`);
    const result = await work({
      query: <R extends object = Row>(statement: Statement | string, values: readonly unknown[] = []) =>
        runOn<R>(client, statement, values),
      afterCommit: (action) => void commits.push(action),
    });
    const { command } = await client.query('commit');
    if (command !== 'COMMIT')
      throw new Error(
        'A statement of the transaction failed and its error was ignored, so nothing was committed. Let it propagate.',
      );
    for (const action of commits) action();
    return result;
  } catch (error) {
    await client.query('rollback').catch(broke);
    throw error;
  }
}
