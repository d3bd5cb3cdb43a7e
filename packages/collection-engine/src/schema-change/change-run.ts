import { hasCode } from '@drover/contracts';
import type { Queryable } from '@drover/database';
import { BackOff, sleep, type Clock, type Randomness } from '@drover/service-kit';
import type { Sql } from '../sql/sql.js';

export interface ChangeRunOptions {
  /** One connection, which holds the lock of the collection: if it breaks, the lock is gone and every statement fails. */
  readonly session: Queryable;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly signal: AbortSignal;
  /** Records what is done at the moment, for people. */
  readonly report: (step: string, progress?: { readonly done: number; readonly total: number }) => Promise<void>;
}

/** How long a statement waits for a lock on a table: requests queue behind it meanwhile. */
const lockTimeoutMs = 100;
const lockBackOff = { firstMs: 20, maxMs: 1_000, factor: 2 };

/** Runs the statements of one change, of which none makes requests wait for long. */
export class ChangeRun {
  readonly #options: ChangeRunOptions;

  constructor(options: ChangeRunOptions) {
    this.#options = options;
  }

  get session(): Queryable {
    return this.#options.session;
  }

  get nowMs(): number {
    return this.#options.clock.monotonicMs();
  }

  report(step: string, progress?: { readonly done: number; readonly total: number }): Promise<void> {
    this.#options.signal.throwIfAborted();
    return this.#options.report(step, progress);
  }

  pause(ms: number): Promise<void> {
    return sleep(this.#options.clock, ms, this.#options.signal);
  }

  /** Runs a statement that needs a lock on the table for a moment. It gives up its place in the queue again and again. */
  async alter(statement: Sql): Promise<void> {
    const backOff = new BackOff(lockBackOff, this.#options);
    for (;;) {
      try {
        // One text is one transaction, so the limit ends with the statement.
        await this.session.query(`set local lock_timeout = ${lockTimeoutMs}; ${statement.render().text}`);
        return;
      } catch (error) {
        if (!isLockFailure(error)) throw error;
        await backOff.wait(this.#options.signal);
      }
    }
  }

  /** Runs a statement that waits for other transactions and blocks none, such as the build of an index. Ends a deadlock by a repetition. */
  async wait(statement: Sql): Promise<void> {
    const backOff = new BackOff(lockBackOff, this.#options);
    for (;;) {
      try {
        await this.session.query(statement.render().text);
        return;
      } catch (error) {
        if (!hasCode(error, deadlock)) throw error;
        await backOff.wait(this.#options.signal);
      }
    }
  }
}

const deadlock = '40P01';

function isLockFailure(error: unknown): boolean {
  return hasCode(error, 'DATABASE_TIMEOUT') || hasCode(error, deadlock);
}
