import { FairRing } from './queues/fair-ring.js';
import type { FunctionLane } from './function-lane.js';
import type { LiveExecution } from './live-execution.js';

export interface SchedulerOptions {
  /** Attempts of all functions together that may run at a time. */
  readonly maxInFlight: number;
  /**
   * Whether attempts of this lane may begin here. A process that was frozen wakes up with answers to read, whose slots it would
   * fill before its timers tell it that others have taken over.
   */
  readonly mayStart: (lane: FunctionLane) => boolean;
  /** Begins an attempt in the slot that was just taken for it. Must not throw. */
  readonly start: (execution: LiveExecution) => void;
}

/**
 * Decides who runs next: round robin over tenants, and within each over its functions with work and a free slot. Nothing ticks:
 * it acts when work comes in and when a slot is given back.
 */
export class Scheduler {
  readonly #options: SchedulerOptions;
  readonly #ring = new FairRing<FunctionLane>();
  #inFlight = 0;
  #isPumping = false;

  constructor(options: SchedulerOptions) {
    this.#options = options;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  /** The lane has got work, or a higher limit. */
  offer(lane: FunctionLane): void {
    if (!lane.isReady) return;
    this.#ring.add(lane);
    this.#pump();
  }

  /** An attempt of this lane gives its slot back. */
  giveBack(lane: FunctionLane): void {
    lane.inFlight -= 1;
    this.#inFlight -= 1;
    if (lane.isReady) this.#ring.add(lane);
    this.#pump();
  }

  #pump(): void {
    if (this.#isPumping) return; // whoever pumps sees what was added meanwhile
    this.#isPumping = true;
    while (this.#inFlight < this.#options.maxInFlight) {
      const lane = this.#ring.take();
      if (!lane) break;
      if (lane.inFlight >= lane.definition.concurrency) continue; // its limit was lowered while it was in the ring
      if (lane.queue.size > 0 && !this.#options.mayStart(lane)) continue; // all that waits in it is about to be dropped
      const execution = lane.take();
      if (!execution) continue;
      lane.inFlight += 1;
      this.#inFlight += 1;
      if (lane.isReady) this.#ring.add(lane);
      this.#options.start(execution);
    }
    this.#isPumping = false;
  }
}
