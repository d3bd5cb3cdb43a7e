import { sleep, type Clock, type Lifecycle } from '@drover/service-kit';
import type { Database } from './database.js';

const everyMs = 1_000;

/** Queries the database every second, so that readiness checks need not wait for it. */
export class DatabaseProbe implements Lifecycle {
  readonly name = 'database probe';
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #closing = new AbortController();
  #done: Promise<void> = Promise.resolve();
  #problem: string | undefined;

  constructor(database: Database, clock: Clock) {
    this.#database = database;
    this.#clock = clock;
  }

  /** Returns the error code of the latest query, or undefined if it succeeded. */
  problem(): string | undefined {
    return this.#problem;
  }

  async start(): Promise<void> {
    this.#done = this.#run();
  }

  drain(): Promise<void> {
    return Promise.resolve();
  }

  async stop(): Promise<void> {
    this.#closing.abort(new Error('probe stopped'));
    await this.#done;
  }

  async #run(): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      try {
        await this.#database.query('select 1');
        this.#problem = undefined;
      } catch (error) {
        this.#problem = error instanceof Error && 'code' in error ? String(error.code) : 'DATABASE_UNAVAILABLE';
      }
      await sleep(this.#clock, everyMs, signal).catch(() => undefined);
    }
  }
}
