import { FakeClock, seededRandomness } from '@drover/testkit';
import { MemoryQueue } from '../testing/memory-queue.js';
import type { QueueOperation } from '../testing/memory-queue-account.js';
import type { Deliver, Delivery, Settlement } from '../trigger-source.js';
import type { QueueObservation } from './observations.js';
import type { QueueListener } from './queue-listener.js';
import type { QueueOptions } from './queue-options.js';

export interface Held {
  readonly delivery: Delivery;
  readonly lost: AbortSignal;
  readonly settle: (settlement: Settlement) => Promise<void>;
}

/** A listener at a queue in memory, on a clock that moves when told. */
export class QueueBench {
  readonly clock = new FakeClock();
  readonly observed: QueueObservation[] = [];
  readonly queue: MemoryQueue;
  /** Every operation at the service, with the time of it. */
  readonly operations: { readonly operation: QueueOperation; readonly queue: string; readonly atMs: number }[] = [];
  readonly held: Held[] = [];
  /** What the service does before it does what it is asked for. */
  trouble: (operation: QueueOperation, queue: string) => void | Promise<void> = () => undefined;

  constructor(options: Partial<QueueOptions> = {}) {
    this.queue = new MemoryQueue({
      clock: this.clock,
      randomness: seededRandomness(1),
      observe: (observation) => void this.observed.push(observation),
      options,
    });
    this.queue.account.intercept = (operation, queue) => {
      this.operations.push({ operation, queue, atMs: this.clock.monotonicMs() });
      return this.trouble(operation, queue);
    };
  }

  async start(deliver: Deliver = this.hold): Promise<QueueListener> {
    const listener = this.queue.listener(deliver);
    await listener.start(new AbortController().signal);
    await this.settled();
    return listener;
  }

  /** Holds what comes until it is told what becomes of it. */
  readonly hold: Deliver = (delivery, lost) =>
    new Promise((resolve) => {
      const settle = (settlement: Settlement): Promise<void> => {
        resolve(settlement);
        return this.settled();
      };
      this.held.push({ delivery, lost, settle });
    });

  /** Lets everything happen that waits for no timer. */
  settled(): Promise<void> {
    return this.clock.advance(0);
  }

  times(operation: QueueOperation): number[] {
    return this.operations.filter((entry) => entry.operation === operation).map(({ atMs }) => Math.round(atMs));
  }

  kinds(...kinds: readonly QueueObservation['kind'][]): QueueObservation[] {
    return this.observed.filter(({ kind }) => kinds.includes(kind));
  }
}
