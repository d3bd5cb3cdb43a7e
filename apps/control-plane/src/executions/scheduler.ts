import type { FunctionQueue } from './function-queue.js';
import type { LiveExecution } from './live-execution.js';
import { FairRing } from './queues/fair-ring.js';

export interface SchedulerOptions {
  /** Limit of attempts of all functions that run at a time. */
  readonly maxInFlight: number;
  /**
   * Whether attempts of this queue may start here. A process that was frozen reads its answers before its timers report that other
   * replicas have taken over; the freed slots must not start new attempts.
   */
  readonly mayStart: (queue: FunctionQueue) => boolean;
  /** Starts an attempt in the slot that was taken for it. Must not throw. */
  readonly start: (execution: LiveExecution) => void;
}

/**
 * Decides which execution runs next: round robin over tenants, and within a tenant over its functions that have work and a free slot.
 * It has no timer and acts when work arrives and when a slot is released.
 */
export class Scheduler {
  readonly #options: SchedulerOptions;
  readonly #ring = new FairRing<FunctionQueue>();
  #inFlight = 0;
  #isStarting = false;

  constructor(options: SchedulerOptions) {
    this.#options = options;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  /** Call it when the queue has got an entry or a higher limit. */
  offer(queue: FunctionQueue): void {
    if (!queue.isReady) return;
    this.#ring.add(queue);
    this.#startReady();
  }

  /** Releases the slot of an attempt of this queue. */
  releaseSlot(queue: FunctionQueue): void {
    queue.inFlight -= 1;
    this.#inFlight -= 1;
    if (queue.isReady) this.#ring.add(queue);
    this.#startReady();
  }

  #startReady(): void {
    if (this.#isStarting) return; // the loop below sees what was added meanwhile
    this.#isStarting = true;
    while (this.#inFlight < this.#options.maxInFlight) {
      const queue = this.#ring.next();
      if (!queue) break;
      if (!queue.isReady) continue; // its limit was lowered, or it was held or paused, while it was in the ring
      if (!this.#options.mayStart(queue)) continue; // its executions are dropped, or it is offered again, in a moment
      const execution = queue.dequeue();
      if (!execution) continue;
      queue.inFlight += 1;
      this.#inFlight += 1;
      if (queue.isReady) this.#ring.add(queue);
      this.#options.start(execution);
    }
    this.#isStarting = false;
  }
}
