import type { FinalExecutionState } from '@drover/contracts';
import { Histogram } from '@drover/service-kit';

/** Metrics of one generation of a function. A late answer of an older generation counts there. */
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
  /** From acceptance, or from the end of the previous attempt, to dispatch. */
  readonly queueWait = new Histogram();
  /** From acceptance to the end, with retries; includes executions that never ran. */
  readonly endToEnd = new Histogram();
  readonly initDuration = new Histogram();
  /** Attempts with a cold start, from dispatch to their end. */
  readonly coldStart = new Histogram();

  /** A timeout counts as an error, too. */
  countEnd(status: FinalExecutionState): void {
    if (status === 'success') this.succeeded += 1;
    else if (status === 'cancelled') this.cancelled += 1;
    else this.failed += 1;
    if (status === 'timeout') this.timedOut += 1;
  }

  countStart(
    result: { readonly coldStart?: boolean | undefined; readonly initDurationMs?: number | undefined },
    durationMs: number,
  ): void {
    if (!result.coldStart) {
      this.warmStarts += 1;
      return;
    }
    this.coldStarts += 1;
    this.coldStart.record(durationMs);
    if (result.initDurationMs !== undefined) this.initDuration.record(result.initDurationMs);
  }
}

/** Metrics of synchronous calls of all functions. */
export class SyncCallMetrics {
  admitted = 0;
  rejected = 0;
  timedOut = 0;
  readonly wait = new Histogram();
}
