import type { FinalExecutionState } from '@drover/contracts';
import type { FunctionDefinition } from '@drover/dispatchers';
import { Histogram, renderLabels } from '@drover/service-kit';

/** Upper bounds in milliseconds. Few, since each is a line for every function at every scrape. */
const boundsMs: readonly number[] = [1, 5, 25, 100, 500, 2_500, 10_000, 60_000];
const noBounds: readonly number[] = [];

/** Metrics of one generation of a function. A late answer of an older generation counts there. */
export class FunctionMetrics {
  readonly generation: number;
  /** As they are written. */
  readonly labels: string;
  readonly hasBuckets: boolean;
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
  readonly latency: Histogram;
  /** From acceptance, or from the end of the previous attempt, to dispatch. */
  readonly queueWait: Histogram;
  /** From acceptance to the end, with retries; includes executions that never ran. */
  readonly endToEnd: Histogram;
  readonly initDuration: Histogram;
  /** Attempts with a cold start, from dispatch to their end. */
  readonly coldStart: Histogram;

  constructor({ tenantId, name, generation }: FunctionDefinition, hasBuckets: boolean) {
    const bounds = hasBuckets ? boundsMs : noBounds;
    this.generation = generation;
    this.labels = renderLabels({ tenant: tenantId, function: name });
    this.hasBuckets = hasBuckets;
    this.latency = new Histogram(bounds);
    this.queueWait = new Histogram(bounds);
    this.endToEnd = new Histogram(bounds);
    this.initDuration = new Histogram(bounds);
    this.coldStart = new Histogram(bounds);
  }

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
