import type { Clock } from '@drover/service-kit';
import { Histogram } from './histogram.js';
import type { InvocationEngine } from './engine.js';
import type { FunctionQueue } from './function-queue.js';

export interface SweeperOptions {
  readonly engine: Pick<InvocationEngine, 'keys' | 'recent' | 'queues' | 'runner'>;
  /** How long an execution may take from acceptance, or from its time, to its end. */
  readonly lifetimeMs: number;
  readonly clock: Clock;
}

const everyMs = 1_000;

/** Looks now and then at everything whose time may be over, and that nothing else would notice. */
export class Sweeper {
  /** How long each look took. */
  readonly metrics = new Histogram();
  readonly #options: SweeperOptions;
  #cancel: () => void = () => undefined;

  constructor(options: SweeperOptions) {
    this.#options = options;
  }

  start(): void {
    this.#cancel = this.#options.clock.after(everyMs, () => {
      this.#sweep();
      this.start();
    });
  }

  stop(): void {
    this.#cancel();
  }

  #sweep(): void {
    const { engine, clock } = this.#options;
    const startedMs = clock.monotonicMs();
    const now = clock.now();
    engine.keys.sweep(now);
    engine.recent.sweep(now);
    for (const queue of engine.queues.values()) this.#expire(queue, now);
    this.metrics.observe(clock.monotonicMs() - startedMs);
  }

  /** Those at the head have waited longest. */
  #expire(queue: FunctionQueue, now: number): void {
    const { engine, lifetimeMs } = this.#options;
    for (let head = queue.entries.peek(); head; head = queue.entries.peek()) {
      const { acceptedAt, runAt = acceptedAt } = head.accepted;
      if (head.state === 'queued' && !head.outcome && !head.isDropped) {
        if (runAt + lifetimeMs > now) return;
        const message = `it had not ended ${lifetimeMs} ms after it was accepted`;
        engine.runner.end(head, 'error', { code: 'EXECUTION_EXPIRED', message }, 'timeout');
      }
      queue.entries.shift();
    }
  }
}
