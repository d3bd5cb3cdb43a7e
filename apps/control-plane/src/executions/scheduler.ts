import { FairRing } from './queues/fair-ring.js';
import type { FunctionQueue } from './function-queue.js';
import type { LiveExecution } from './live-execution.js';

export interface SchedulerOptions {
  /** Attempts of all functions together that may run at a time. */
  readonly maxInFlight: number;
  /**
   * Whether attempts of this queue may begin here. A process that was frozen wakes up with answers to read, whose slots it would
   * fill before its timers tell it that others have taken over.
   */
  readonly mayStart: (queue: FunctionQueue) => boolean;
  /** Begins an attempt in the slot that was just taken for it. Must not throw. */
  readonly start: (execution: LiveExecution) => void;
}

/**
 * Decides who runs next: round robin over tenants, and within each over its functions with work and a free slot. Nothing ticks:
 * it acts when work comes in and when a slot is given back.
 */
export class Scheduler {
  readonly #options: SchedulerOptions;
  readonly #ring = new FairRing<FunctionQueue>();
  #inFlight = 0;
  #isPumping = false;

  constructor(options: SchedulerOptions) {
    this.#options = options;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  /** The queue has got work, or a higher limit. */
  offer(queue: FunctionQueue): void {
    if (!queue.isReady) return;
    this.#ring.add(queue);
    this.#pump();
  }

  /** An attempt of this queue gives its slot back. */
  releaseSlot(queue: FunctionQueue): void {
    queue.inFlight -= 1;
    this.#inFlight -= 1;
    if (queue.isReady) this.#ring.add(queue);
    this.#pump();
  }

  #pump(): void {
    if (this.#isPumping) return; // whoever pumps sees what was added meanwhile
    this.#isPumping = true;
    while (this.#inFlight < this.#options.maxInFlight) {
      const queue = this.#ring.take();
      if (!queue) break;
      if (queue.inFlight >= queue.definition.concurrency) continue; // its limit was lowered while it was in the ring
      if (queue.entries.size > 0 && !this.#options.mayStart(queue)) continue; // all that waits in it is about to be dropped
      const execution = queue.take();
      if (!execution) continue;
      queue.inFlight += 1;
      this.#inFlight += 1;
      if (queue.isReady) this.#ring.add(queue);
      this.#options.start(execution);
    }
    this.#isPumping = false;
  }
}
