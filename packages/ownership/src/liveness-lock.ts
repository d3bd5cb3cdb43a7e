import type { Database, DedicatedConnection, Queryable, Row, Statement } from '@drover/database';
import { BackOff, type Clock, type Lifecycle, type Randomness } from '@drover/service-kit';
import { ownershipChannel, lockStatement } from './ownership-table.js';
import { within } from './within.js';

export interface LivenessLockOptions {
  readonly database: Database;
  readonly replicaId: string;
  /** What an answer may take until the connection is held for dead. */
  readonly answerWithinMs: number;
  /** Something has changed, or may have while nobody listened. */
  readonly wake: () => void;
  /** The connection is back after it was lost. */
  readonly returned: () => void;
  readonly clock: Clock;
  readonly randomness: Randomness;
}

const replaceBackOff = { firstMs: 50, maxMs: 1_000, factor: 2 };

/**
 * The connection by which the others see that this process lives: it holds a lock that the server frees when the process
 * dies. It also hears of changes, and carries our statements, so that those never wait for a place in a busy pool. When
 * it is away they go through the pool.
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

  /** Others can see us. */
  get visible(): boolean {
    return this.#connection.connected;
  }

  start(): Promise<void> {
    return this.#connection.start();
  }

  drain(): Promise<void> {
    return Promise.resolve();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    const { clock, answerWithinMs } = this.#options;
    // A server that does not answer does not say goodbye either.
    await within(clock, answerWithinMs, 'goodbye', this.#connection.stop()).catch(() => undefined);
    await this.#replacing;
  }

  async query<R extends object = Row>(statement: Statement | string, values: readonly unknown[] = []): Promise<R[]> {
    const { clock, database, answerWithinMs } = this.#options;
    const connection = this.#connection;
    if (!connection.connected) return within(clock, answerWithinMs, 'ownership', database.query<R>(statement, values));
    const answer = connection.query<R>(statement, values);
    return within(clock, answerWithinMs, 'ownership', answer).catch((error: unknown) => {
      // A connection that is silent instead of broken would be believed in for minutes.
      if (connection.connected) this.#replace(connection, answer);
      throw error;
    });
  }

  #create(): DedicatedConnection {
    const { database, replicaId, wake, returned } = this.#options;
    const connection = database.dedicatedConnection('ownership');
    connection.onNotification(wake);
    connection.onConnected(
      async (session) => {
        await session.query(lockStatement, [replicaId]);
        await session.query(`listen ${ownershipChannel}`);
      },
      () => {
        if (this.#wasConnected) returned();
        this.#wasConnected = true;
        wake();
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
    const backOff = new BackOff(replaceBackOff, this.#options);
    while (!this.#stopping.signal.aborted && !connection.connected) {
      await connection.start().catch(() => backOff.wait(this.#stopping.signal).catch(() => undefined));
    }
  }
}
