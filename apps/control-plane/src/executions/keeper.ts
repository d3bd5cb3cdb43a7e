import type { Clock } from '@drover/service-kit';
import { bytesOf } from '@drover/contracts';
import type { ExecutionStore } from '@drover/execution-store';
import type { FunctionLane } from './function-lane.js';
import { keptInTime } from './kept-in-time.js';
import type { LiveExecution } from './live-execution.js';

export interface KeeperOptions {
  readonly store: Pick<ExecutionStore, 'accept'>;
  readonly clock: Clock;
  /** The store has them, or could not take them. */
  readonly onKept: (executions: readonly LiveExecution[]) => void;
  readonly onFailed: (executions: readonly LiveExecution[], error: unknown) => Error;
}

interface Group {
  readonly executions: LiveExecution[];
  bytes: number;
  /** However long it takes. */
  readonly kept: Promise<void>;
  readonly inTime: Promise<void>;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

/** A group goes at once when it has grown to this: the store has bounds for what it writes together. */
const groupBytes = 262_144;

/**
 * Makes executions durable. Under load many are accepted in one turn of the loop, each in a callback of its own: those of one
 * partition are kept together, with one promise and one timer among them. Of one partition, since it may be lost without the others.
 */
export class Keeper {
  readonly #options: KeeperOptions;
  /** By partition. */
  readonly #groups = new Map<number, Group>();

  constructor(options: KeeperOptions) {
    this.#options = options;
  }

  /**
   * Makes executions of one lane durable, all or none. Resolves when the store has them. Rejects with what the callers of all that
   * were kept together are told: also when it takes too long, though they may be kept in the end.
   */
  keep({ partition }: FunctionLane, executions: readonly LiveExecution[]): Promise<void> {
    let group = this.#groups.get(partition);
    if (!group) {
      if (this.#groups.size === 0) setImmediate(this.#keepAll);
      this.#groups.set(partition, (group = newGroup(this.#options.clock)));
    }
    for (const execution of executions) {
      group.executions.push(execution);
      group.bytes += bytesOf(execution.accepted);
      execution.keeping = group.kept;
    }
    if (group.bytes > groupBytes) this.#keepGroup(partition, group);
    return group.inTime;
  }

  readonly #keepAll = (): void => {
    for (const [partition, group] of this.#groups) this.#keepGroup(partition, group);
  };

  #keepGroup(partition: number, { executions, resolve, reject }: Group): void {
    this.#groups.delete(partition);
    const { store, onKept, onFailed } = this.#options;
    store.accept(executions.map(({ accepted }) => accepted)).then(
      () => {
        onKept(executions);
        resolve();
      },
      (error: unknown) => reject(onFailed(executions, error)),
    );
  }
}

function newGroup(clock: Clock): Group {
  let resolve: () => void = () => undefined;
  let reject: (error: Error) => void = () => undefined;
  const kept = new Promise<void>((succeed, fail) => {
    resolve = succeed;
    reject = fail;
  });
  const inTime = keptInTime(clock, kept);
  // Whoever wants to know asks; that nobody does is no mistake.
  inTime.catch(() => undefined);
  return { executions: [], bytes: 0, kept, inTime, resolve, reject };
}
