import { defineStates } from '@drover/contracts';
import { BackOff, type Lifecycle } from '@drover/service-kit';
import pg from 'pg';
import { databaseUnavailable } from '../errors.js';
import { awaitServer } from './await-server.js';
import type { DatabaseIo } from './database-io.js';
import { toQuery, type Queryable, type Row, type Statement } from './statement.js';
import { translateError } from './translate-error.js';

/**
 * - connecting: there is no connection; statements fail at once, reconnects are attempted with back-off
 * - connected: statements are pipelined: sent without waiting for each other, and answered in order
 * - closed: the connection was stopped
 */
export const dedicatedConnectionStates = defineStates('dedicated connection', {
  connecting: ['connected', 'closed'],
  connected: ['connecting', 'closed'],
  closed: [],
});

export interface DedicatedConnectionOptions extends DatabaseIo {
  readonly purpose: string;
  readonly server: string;
  readonly config: pg.ClientConfig;
  /** As that of the `Database`. */
  readonly startWaitMs: number | undefined;
}

const reconnectBackOff = { firstMs: 50, maxMs: 1_000, factor: 2 };

/** One connection for one purpose. It reconnects whenever it breaks and runs its set-up on every new connection. */
export class DedicatedConnection implements Lifecycle, Queryable {
  readonly name: string;
  readonly #options: DedicatedConnectionOptions;
  readonly #state = dedicatedConnectionStates.start('connecting');
  readonly #closing = new AbortController();
  #client: pg.Client | undefined;
  #reconnecting: Promise<void> = Promise.resolve();
  #setUp: (connection: Queryable) => Promise<void> = () => Promise.resolve();
  #onReady: () => void = () => undefined;
  #onNotification: (channel: string, payload: string) => void = () => undefined;

  constructor(options: DedicatedConnectionOptions) {
    this.name = `database connection for ${options.purpose}`;
    this.#options = options;
  }

  get connected(): boolean {
    return this.#state.is('connected');
  }

  /** Runs `setUp` on every new connection before other statements, and `ready` when these are accepted. */
  onConnected(setUp: (connection: Queryable) => Promise<void>, ready: () => void = () => undefined): void {
    this.#setUp = setUp;
    this.#onReady = ready;
  }

  onNotification(action: (channel: string, payload: string) => void): void {
    this.#onNotification = action;
  }

  /**
   * Connects. With a signal, the start of a process, it waits for a server that is away or slow as `Database.start` does; without one
   * a failure rejects at once.
   */
  async start(signal?: AbortSignal): Promise<void> {
    const { startWaitMs: waitMs } = this.#options;
    await (signal && waitMs !== undefined
      ? awaitServer(() => this.#connect(), { ...this.#options, waitMs, signal })
      : this.#connect());
  }

  drain(): Promise<void> {
    return Promise.resolve();
  }

  async stop(): Promise<void> {
    if (this.#state.is('closed')) return;
    this.#state.move('closed');
    this.#closing.abort(new Error('closed'));
    const client = this.#client;
    this.#client = undefined;
    await client?.end().catch(() => undefined);
    await this.#reconnecting;
  }

  async query<R extends object = Row>(statement: Statement | string, values: readonly unknown[] = []): Promise<R[]> {
    const client = this.#client;
    const { server, purpose } = this.#options;
    if (!client || !this.connected) {
      throw databaseUnavailable({ server, reason: `the ${purpose} connection is ${this.#state.current}` });
    }
    return this.#send<R>(client, statement, values);
  }

  async #send<R extends object>(
    client: pg.Client,
    statement: Statement | string,
    values: readonly unknown[],
  ): Promise<R[]> {
    try {
      return (await client.query<R & pg.QueryResultRow>(toQuery(statement, values))).rows;
    } catch (error) {
      throw translateError(error, this.#options.server);
    }
  }

  async #connect(): Promise<void> {
    const { config, server } = this.#options;
    const client = new pg.Client({ ...config, pipeline: true });
    client.on('notification', ({ channel, payload = '' }) => this.#onNotification(channel, payload));
    let reason = 'the server closed the connection';
    client.on('error', (error) => {
      reason = error.message;
    });
    try {
      await client.connect();
      await this.#setUp({ query: (statement, values = []) => this.#send(client, statement, values) });
    } catch (error) {
      client.end().catch(() => undefined);
      throw translateError(error, server);
    }
    if (this.#state.is('closed')) return client.end();
    this.#client = client;
    this.#state.move('connected');
    client.once('end', () => this.#lost(client, reason));
    this.#onReady();
  }

  #lost(client: pg.Client, reason: string): void {
    if (this.#client !== client || !this.#state.is('connected')) return;
    const { server, purpose, observe } = this.#options;
    this.#client = undefined;
    this.#state.move('connecting');
    observe({ kind: 'database.connection-lost', server, purpose, reason });
    this.#reconnecting = this.#reconnect();
  }

  async #reconnect(): Promise<void> {
    const { server, purpose, observe } = this.#options;
    const backOff = new BackOff(reconnectBackOff, this.#options);
    while (this.#state.is('connecting')) {
      try {
        await this.#connect();
        if (this.connected)
          observe({ kind: 'database.connection-restored', server, purpose, attempts: backOff.failures + 1 });
      } catch {
        // Reported once when the connection broke: a server that stays down would fill the log.
        await backOff.wait(this.#closing.signal).catch(() => undefined);
      }
    }
  }
}
