import { Histogram, type Clock } from '@drover/service-kit';
import type { InvocationEngine } from './engine.js';
import type { FunctionQueue } from './function-queue.js';
import type { LiveExecution } from './live-execution.js';
import type { Deque } from './queues/deque.js';

export interface SweeperOptions {
  readonly engine: Pick<InvocationEngine, 'keyed' | 'recent' | 'queues' | 'runner'>;
  /** Time limit of an execution, from its acceptance or its `runAt` to its end. */
  readonly lifetimeMs: number;
  readonly clock: Clock;
}

const everyMs = 1_000;

/** Removes what has expired without an event: idempotency keys, recent calls, and executions that waited too long. */
export class Sweeper {
  readonly durations = new Histogram();
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
    engine.keyed.index.sweep(now);
    engine.recent.sweep(now);
    for (const queue of engine.queues.values()) {
      this.#expire(queue, queue.entries, now);
      for (const waiting of queue.heldKeys.values()) this.#expire(queue, waiting, now);
    }
    this.durations.record(clock.monotonicMs() - startedMs);
  }

  /** The entries at the head have waited longest. */
  #expire(queue: FunctionQueue, entries: Deque<LiveExecution>, now: number): void {
    const { engine, lifetimeMs } = this.#options;
    if (queue.isPaused) return;
    // Time in a paused queue does not count.
    const sinceMs = queue.definition.queueControl?.changedAt ?? 0;
    // While the function cannot be reached, waiting is all that a retry would be.
    const asyncMs = queue.endHold ? Math.min(lifetimeMs, queue.definition.retry.windowMs) : lifetimeMs;
    for (let head = entries.peek(); head; head = entries.peek()) {
      const { acceptedAt, runAt = acceptedAt, kind } = head.accepted;
      if (head.state === 'queued') {
        const limitMs = kind === 'async' ? asyncMs : lifetimeMs;
        if (Math.max(runAt, sinceMs) + limitMs > now) return;
        const message = `The execution had not ended ${limitMs} ms after it was accepted.`;
        engine.runner.end(head, 'error', { code: 'EXECUTION_EXPIRED', message }, 'timeout');
      }
      entries.shift();
    }
  }
}
