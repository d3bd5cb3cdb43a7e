import { bytesOf } from '@drover/contracts';
import type { ExecutionStore } from '@drover/execution-store';
import type { Clock } from '@drover/service-kit';
import { notKeptYet } from './errors.js';
import type { LiveExecution } from './live-execution.js';

export interface DurableWriterOptions {
  readonly store: Pick<ExecutionStore, 'accept'>;
  readonly clock: Clock;
  /** The store has the executions. Called before the callers that wait for them are notified. */
  readonly onStored: (executions: readonly LiveExecution[]) => void;
  /** The store refused the executions. Returns the error for the callers. */
  readonly onFailed: (executions: readonly LiveExecution[], error: unknown) => Error;
}

interface Group {
  readonly executions: LiveExecution[];
  bytes: number;
  /** Settles with the answer of the store, however long that takes. */
  readonly stored: Promise<void>;
  readonly storedInTime: Promise<void>;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

/** A group that has grown to this size is handed over at once: the store limits the size of one statement. */
const maxGroupBytes = 262_144;
/** Longer than a commit takes in a healthy database. */
const answerWithinMs = 1_500;

/**
 * Hands accepted executions to the store once per turn of the event loop. Under load a turn accepts many, each in a callback of its
 * own. Those of one partition form a group, which is one item of the journal's group commit, with one promise and one timer for all
 * of them. A group has one partition because this replica may lose one partition without the others.
 *
 * This class neither queues nor retries: batches of several groups, limits and failures are the store's (`GroupCommit`).
 */
export class DurableWriter {
  readonly #options: DurableWriterOptions;
  readonly #groups = new Map<number, Group>();

  constructor(options: DurableWriterOptions) {
    this.#options = options;
  }

  /**
   * Makes executions of one partition durable, all or none. Resolves when the store has them. Rejects with the error for the callers
   * of the whole group. That includes the time limit: after it the executions may still become durable.
   */
  write(partition: number, executions: readonly LiveExecution[]): Promise<void> {
    let group = this.#groups.get(partition);
    if (!group) {
      if (this.#groups.size === 0) setImmediate(this.#handOverAll);
      this.#groups.set(partition, (group = newGroup(this.#options.clock)));
    }
    for (const execution of executions) {
      group.executions.push(execution);
      group.bytes += bytesOf(execution.accepted);
      execution.pendingWrite = group.stored;
    }
    if (group.bytes > maxGroupBytes) this.#handOver(partition, group);
    return group.storedInTime;
  }

  readonly #handOverAll = (): void => {
    for (const [partition, group] of this.#groups) this.#handOver(partition, group);
  };

  #handOver(partition: number, { executions, resolve, reject }: Group): void {
    this.#groups.delete(partition);
    const { store, onStored, onFailed } = this.#options;
    store.accept(executions.map(({ accepted }) => accepted)).then(
      () => {
        onStored(executions);
        resolve();
      },
      (error: unknown) => reject(onFailed(executions, error)),
    );
  }
}

function newGroup(clock: Clock): Group {
  let resolve: () => void = () => undefined;
  let reject: (error: Error) => void = () => undefined;
  const stored = new Promise<void>((succeed, fail) => {
    resolve = succeed;
    reject = fail;
  });
  const storedInTime = answeredInTime(clock, stored);
  // A caller that has left does not handle the rejection.
  storedInTime.catch(() => undefined);
  return { executions: [], bytes: 0, stored, storedInTime, resolve, reject };
}

/**
 * Follows `work` of the store, but rejects with `EXECUTION_NOT_KEPT_YET` when it takes too long, so that a database that does not
 * answer delays no caller. The work goes on: a later call with the same idempotency key finds its execution.
 */
export function answeredInTime(clock: Clock, work: Promise<unknown>): Promise<void> {
  return new Promise((resolve, reject) => {
    const cancel = clock.after(answerWithinMs, () => reject(notKeptYet({})));
    work.then(
      () => {
        cancel();
        resolve();
      },
      (error: unknown) => {
        cancel();
        reject(error);
      },
    );
  });
}
