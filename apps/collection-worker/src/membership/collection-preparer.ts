import { setMaxListeners } from 'node:events';
import type { WorkerAssignment } from '@drover/contracts';
import { BackOff, messageOf, sleep, type Clock, type Randomness } from '@drover/service-kit';
import type { AssignedCollections } from './assigned-collections.js';

export interface CollectionPreparerOptions {
  /** Reads and compiles the definition and checks the storage. Rejects with the problem. */
  readonly prepare: (assignment: WorkerAssignment) => Promise<void>;
  readonly assigned: Pick<AssignedCollections, 'prepared' | 'failed'>;
  /** Called after each attempt: the control plane has to learn its result. */
  readonly onChange: () => void;
  readonly clock: Clock;
  readonly randomness: Randomness;
}

/** A worker with thousands of collections leaves connections of its pool to the requests that it serves already. */
const maxParallel = 4;
const retryBackOff = { firstMs: 200, maxMs: 10_000, factor: 2 };

/** Prepares collections, a few at a time, and each until it succeeds or is not assigned any more. */
export class CollectionPreparer {
  readonly #options: CollectionPreparerOptions;
  readonly #waiting: WorkerAssignment[] = [];
  readonly #ending = new AbortController();
  #running = 0;

  constructor(options: CollectionPreparerOptions) {
    this.#options = options;
    setMaxListeners(0, this.#ending.signal); // one for each collection that is tried again
  }

  add(assignments: readonly WorkerAssignment[]): void {
    for (const assignment of assignments) this.#waiting.push(assignment);
    while (this.#running < maxParallel && this.#waiting.length > 0) void this.#run();
  }

  stop(): void {
    this.#ending.abort();
    this.#waiting.length = 0;
  }

  async #run(): Promise<void> {
    this.#running += 1;
    for (let next = this.#waiting.shift(); next; next = this.#waiting.shift()) await this.#prepare(next);
    this.#running -= 1;
  }

  async #prepare(assignment: WorkerAssignment, backOff = new BackOff(retryBackOff, this.#options)): Promise<void> {
    const { prepare, assigned, onChange, clock } = this.#options;
    try {
      await prepare(assignment);
      assigned.prepared(assignment);
    } catch (error) {
      const again = assigned.failed(assignment, messageOf(error).slice(0, 1_000));
      // Others do not wait for it.
      if (again)
        void sleep(clock, backOff.nextMs(), this.#ending.signal).then(
          () => this.#prepare(again, backOff),
          () => undefined,
        );
    }
    onChange();
  }
}
