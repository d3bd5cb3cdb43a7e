import type { Queryable } from '@drover/database';
import { sleep, type Clock } from '@drover/service-kit';
import type { RecordDatabase } from '../request/record-operation.js';

/** How long a transaction waits for its turn at least, and twice as long as its own statement took: the batch before is as large. */
const minHoldMs = 500;
/** Batches that are written in their turn after one ahead of it was in the way: files that repeat a value often do so again. */
const cautiousBatches = 20;

/** Databases with a transaction ahead of its turn: an import takes a second connection only if no other one has. */
const inUse = new WeakSet<RecordDatabase>();

const notInTime = new Error('The turn of the transaction has not come in time.');

/**
 * Writes a batch of an import while the batch before it is being written, in a transaction that commits after that one, so that two
 * cores of PostgreSQL work on an import (`bench:collections`, import: 15,100 → 19,400 rows/s on two cores). What is committed is the same
 * as if batches were written one after the other:
 *
 * - A row with a unique value that the batch before has waits for its commit, and is refused then.
 * - The other way round the batch before waits for a value that this transaction holds. PostgreSQL sees no deadlock, because this
 *   transaction waits in this process: it is rolled back after some time, and written again in its turn.
 */
export class WriteAhead {
  readonly #database: RecordDatabase;
  readonly #clock: Clock;
  #cautious = 0;

  constructor(database: RecordDatabase, clock: Clock) {
    this.#database = database;
    this.#clock = clock;
  }

  /**
   * Runs `work` in a transaction that commits when `turn` has come. Resolves with undefined if nothing was written and `work` has to run
   * in its turn. Rejects if `turn` or `work` does; nothing is written then, unless the connection is lost during the commit.
   */
  async run<T>(turn: Promise<unknown>, work: (target: Queryable) => Promise<T>): Promise<T | undefined> {
    const shared = this.#database.shared ?? this.#database;
    if (this.#cautious > 0) {
      this.#cautious -= 1;
      return undefined;
    }
    if (inUse.has(shared)) return undefined;
    inUse.add(shared);
    // From then on this is no longer ahead, and the next batch may be.
    const free = (): void => void inUse.delete(shared);
    turn.then(free, free);
    try {
      return await this.#database.transaction(async (tx) => {
        const startMs = this.#clock.monotonicMs();
        const written = await work(tx);
        const holdMs = Math.max(minHoldMs, 2 * (this.#clock.monotonicMs() - startMs));
        if (!(await this.#comes(turn, holdMs))) throw notInTime;
        return written;
      });
    } catch (error) {
      if (error !== notInTime) throw error;
      this.#cautious = cautiousBatches;
      return undefined;
    }
  }

  /** Resolves with whether the turn comes in time; rejects if it never will. */
  async #comes(turn: Promise<unknown>, withinMs: number): Promise<boolean> {
    const hold = new AbortController();
    const isLate = sleep(this.#clock, withinMs, hold.signal).then(() => false);
    return Promise.race([turn.then(() => true), isLate]).finally(() => hold.abort());
  }
}
