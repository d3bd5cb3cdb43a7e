import { bytesOf } from '@drover/contracts';
import type { ExecutionStore } from '@drover/execution-store';
import type { Clock } from '@drover/service-kit';
import type { LiveExecution } from './live-execution.js';

export interface DurableWriterOptions {
  readonly store: Pick<ExecutionStore, 'accept'>;
  readonly clock: Clock;
  /** The store has the executions. Called before the callers that wait for them are notified. */
  readonly onStored: (executions: readonly LiveExecution[]) => void;
  /** The store refused the executions. Returns the error for their callers. */
  readonly onFailed: (executions: readonly LiveExecution[], error: unknown) => Error;
}

interface Group {
  readonly executions: LiveExecution[];
  bytes: number;
  /** Settles with the answer of the store, however long that takes. */
  readonly stored: Promise<void>;
  /** False when the store had not answered in time. */
  readonly storedInTime: Promise<boolean>;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

/** A group that has grown to this size is handed over at once: the store limits the size of one statement. */
const maxGroupBytes = 262_144;
/** Longer than a commit takes in a database that is well, also during a checkpoint on a slow disk. */
export const confirmWithinMs = 5_000;

/**
 * Hands accepted executions to the store once per turn of the event loop. Under load a turn accepts many, each in a callback of its
 * own. Those of one partition form a group, which is one item of the journal's group commit, with one promise and one timer for all
 * of them. A group has one partition because this replica may lose one partition without the others.
 *
 * A caller hears within a time limit that its execution is durable, or that it is not known to be. Nothing is written a second time: a
 * caller that got no promise sends its call again.
 */
export class DurableWriter {
  readonly #options: DurableWriterOptions;
  readonly #groups = new Map<number, Group>();

  constructor(options: DurableWriterOptions) {
    this.#options = options;
  }

  /**
   * Makes executions of one partition durable, all or none. Resolves with true when the store has them, and with false after the time
   * limit. Rejects with the error for the callers of the whole group when the store has refused them in time.
   */
  write(partition: number, executions: readonly LiveExecution[]): Promise<boolean> {
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

  #handOver(partition: number, group: Group): void {
    this.#groups.delete(partition);
    this.#store(group);
  }

  #store(group: Group): void {
    const { store, onStored, onFailed } = this.#options;
    const { executions, resolve, reject } = group;
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
  const storedInTime = doneInTime(clock, stored);
  storedInTime.catch(() => undefined); // a caller that has left does not handle the rejection
  return { executions: [], bytes: 0, stored, storedInTime, resolve, reject };
}

/**
 * Follows `work` of the store: resolves with true, or rejects, as it does. Resolves with false when it takes too long, so that a
 * database that does not answer delays no caller. The work goes on.
 */
export function doneInTime(clock: Clock, work: Promise<unknown>): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const cancel = clock.after(confirmWithinMs, () => resolve(false));
    work.then(
      () => {
        cancel();
        resolve(true);
      },
      (error: unknown) => {
        cancel();
        reject(error);
      },
    );
  });
}
