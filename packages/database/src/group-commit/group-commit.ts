import type { Lifecycle } from '@drover/service-kit';
import type { DatabaseIo } from '../connection/database-io.js';
import { isRefusedByServer } from '../connection/translate-error.js';
import { ingestFull } from '../errors.js';

export interface GroupCommitOptions<Row, Result> extends Pick<DatabaseIo, 'clock' | 'observe'> {
  readonly name: string;
  /** Writes all rows in one statement, all or none, and answers for each in the same order. */
  readonly commit: (rows: readonly Row[]) => Promise<readonly Result[]>;
  /** Rows in one statement at the most. */
  readonly maxRows?: number;
  /** Rows that may wait; a further one is refused with `DATABASE_INGEST_FULL`. */
  readonly maxWaiting?: number;
  /** Statements under way at once. One keeps the order of rows; two hide the round trip. */
  readonly maxConcurrent?: number;
}

interface Waiting<Row, Result> {
  readonly row: Row;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Many callers, one statement: rows that arrive while a commit is under way go together into the next. A lone row is
 * written at once; under load one fsync serves hundreds. When the server refuses a batch for one row's sake, the batch is
 * halved until that row stands alone, so that only its own caller hears of it.
 */
export class GroupCommit<Row, Result> implements Lifecycle {
  readonly name: string;
  readonly #options: Required<GroupCommitOptions<Row, Result>>;
  #waiting: Waiting<Row, Result>[] = [];
  #running = 0;
  #idle: (() => void)[] = [];

  constructor(options: GroupCommitOptions<Row, Result>) {
    this.name = options.name;
    this.#options = { maxRows: 1_000, maxWaiting: 20_000, maxConcurrent: 2, ...options };
  }

  /** Resolves with the row's result once it is durable. */
  add(row: Row): Promise<Result> {
    const { maxWaiting } = this.#options;
    if (this.#waiting.length >= maxWaiting)
      return Promise.reject(ingestFull({ name: this.name, capacity: maxWaiting }));
    return new Promise((resolve, reject) => {
      this.#waiting.push({ row, resolve, reject });
      // Callers of the same tick belong together.
      if (this.#waiting.length === 1) queueMicrotask(() => this.#pump());
    });
  }

  start(): Promise<void> {
    return Promise.resolve();
  }

  drain(deadline: AbortSignal): Promise<void> {
    if (this.#isIdle()) return Promise.resolve();
    return new Promise((resolve) => {
      this.#idle.push(resolve);
      deadline.addEventListener('abort', () => resolve(), { once: true });
    });
  }

  stop(): Promise<void> {
    return this.drain(new AbortController().signal);
  }

  #isIdle(): boolean {
    return this.#running === 0 && this.#waiting.length === 0;
  }

  #pump(): void {
    while (this.#running < this.#options.maxConcurrent && this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, this.#options.maxRows);
      this.#running += 1;
      void this.#commit(batch).finally(() => {
        this.#running -= 1;
        this.#pump();
        if (this.#isIdle()) for (const resolve of this.#idle.splice(0)) resolve();
      });
    }
  }

  async #commit(batch: readonly Waiting<Row, Result>[]): Promise<void> {
    const { commit, clock, observe } = this.#options;
    const startedMs = clock.monotonicMs();
    try {
      const results = await commit(batch.map(({ row }) => row));
      if (results.length !== batch.length) {
        throw new Error(`${this.name}: ${batch.length} rows were written but ${results.length} results came back`);
      }
      observe({
        kind: 'database.rows-committed',
        name: this.name,
        rows: batch.length,
        durationMs: clock.monotonicMs() - startedMs,
        waiting: this.#waiting.length,
      });
      for (const [index, result] of results.entries()) batch[index]?.resolve(result);
    } catch (error) {
      if (batch.length > 1 && isRefusedByServer(error)) {
        const middle = Math.ceil(batch.length / 2);
        await this.#commit(batch.slice(0, middle));
        await this.#commit(batch.slice(middle));
      } else for (const { reject } of batch) reject(error);
    }
  }
}
