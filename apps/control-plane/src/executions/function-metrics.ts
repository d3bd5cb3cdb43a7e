import type { FinalExecutionState } from '@drover/contracts';
import { Histogram } from './histogram.js';

/** What is counted of one incarnation of a function. Whoever answers late for an older one counts into the older one's. */
export class FunctionMetrics {
  enqueued = 0;
  dispatched = 0;
  succeeded = 0;
  failed = 0;
  retried = 0;
  timedOut = 0;
  cancelled = 0;
  rejected = 0;
  coldStarts = 0;
  warmStarts = 0;
  /** One attempt, from dispatch to its end. */
  readonly latency = new Histogram();
  /** From acceptance, or from the end of the attempt before, to dispatch. */
  readonly queueWait = new Histogram();
  /** From acceptance to the end, retries included; those that never ran, too. */
  readonly endToEnd = new Histogram();
  readonly initDuration = new Histogram();
  /** Of attempts that found nothing warm, from dispatch to their end. */
  readonly coldStart = new Histogram();

  /** Running out of time is an error, too, and counted as both. */
  countEnd(status: FinalExecutionState): void {
    if (status === 'success') this.succeeded += 1;
    else if (status === 'cancelled') this.cancelled += 1;
    else this.failed += 1;
    if (status === 'timeout') this.timedOut += 1;
  }
}

/** What is counted of synchronous calls of all functions. */
export class SyncCallMetrics {
  admitted = 0;
  rejected = 0;
  timedOut = 0;
  readonly wait = new Histogram();
}
