import type { Database, DedicatedConnection, Queryable, Row, Statement } from '@drover/database';
import { BackOff, type Clock, type Lifecycle, type Randomness } from '@drover/service-kit';
import { withTimeout } from './deadlines.js';
import { lockStatement, ownershipChannel } from './ownership-table.js';

export interface LivenessLockOptions {
  readonly database: Database;
  readonly replicaId: string;
  /** Time limit of an answer; after it the connection counts as dead and is replaced. */
  readonly answerWithinMs: number;
  /** Owners or replicas have changed, or may have changed while there was no connection. */
  readonly onChanged: () => void;
  /** The connection is back after it was lost. */
  readonly onReconnected: () => void;
  readonly clock: Clock;
  readonly randomness: Randomness;
}

const reconnectBackOff = { firstMs: 50, maxMs: 1_000, factor: 2 };

/**
 * A connection of its own that holds an advisory lock, which the server frees when the process dies: that is how other replicas see
 * that this one lives. It also receives notifications of changes and carries the statements about ownership, so that they never wait
 * for a connection of a busy pool. While it is down, statements go through the pool.
 */
export class LivenessLock implements Lifecycle, Queryable {
  readonly name = 'liveness lock';
  readonly #options: LivenessLockOptions;
  readonly #stopping = new AbortController();
  #connection: DedicatedConnection;
  #replacing: Promise<void> = Promise.resolve();
  #wasConnected = false;

  constructor(options: LivenessLockOptions) {
    this.#options = options;
    this.#connection = this.#create();
  }

  /** Whether other replicas can see that this one lives. */
  get isHeld(): boolean {
    return this.#connection.connected;
  }

  start(signal?: AbortSignal): Promise<void> {
    return this.#connection.start(signal);
  }

  drain(): Promise<void> {
    return Promise.resolve();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    const { clock, answerWithinMs } = this.#options;
    // A server that does not answer does not confirm the end of a connection either.
    await withTimeout(clock, answerWithinMs, 'disconnect', this.#connection.stop()).catch(() => undefined);
    await this.#replacing;
  }

  async query<R extends object = Row>(statement: Statement | string, values: readonly unknown[] = []): Promise<R[]> {
    const { clock, database, answerWithinMs } = this.#options;
    const connection = this.#connection;
    if (!connection.connected)
      return withTimeout(clock, answerWithinMs, 'ownership', database.query<R>(statement, values));
    const answer = connection.query<R>(statement, values);
    return withTimeout(clock, answerWithinMs, 'ownership', answer).catch((error: unknown) => {
      // A connection that is silent rather than broken would count as alive for minutes.
      if (connection.connected) this.#replace(connection, answer);
      throw error;
    });
  }

  #create(): DedicatedConnection {
    const { database, replicaId, onChanged, onReconnected } = this.#options;
    const connection = database.dedicatedConnection('ownership');
    connection.onNotification(onChanged);
    connection.onConnected(
      async (session) => {
        await session.query(lockStatement, [replicaId]);
        await session.query(`listen ${ownershipChannel}`);
      },
      () => {
        if (this.#wasConnected) onReconnected();
        this.#wasConnected = true;
        onChanged();
      },
    );
    return connection;
  }

  #replace(silent: DedicatedConnection, answer: Promise<unknown>): void {
    if (this.#connection !== silent || this.#stopping.signal.aborted) return;
    answer.catch(() => undefined);
    silent.stop().catch(() => undefined);
    this.#connection = this.#create();
    this.#replacing = this.#connect(this.#connection);
  }

  async #connect(connection: DedicatedConnection): Promise<void> {
    const backOff = new BackOff(reconnectBackOff, this.#options);
    while (!this.#stopping.signal.aborted && !connection.connected) {
      await connection.start().catch(() => backOff.wait(this.#stopping.signal).catch(() => undefined));
    }
  }
}
