/** What one worker is expected to take of a source, as in the target-based scaling of Azure Functions. */
export interface SourceTarget {
  /** Events per worker, where the sample of the runtime does not carry the value of `host.json`. */
  readonly perWorker: number;
  /** The settings of `host.json` that it comes from, for docs/scaling.md. */
  readonly from: string;
  /** Whether the number of workers is rounded up to one that splits the partitions evenly. */
  readonly splitsPartitions: boolean;
}

/** By trigger type in Azure's spelling. Sources without a backlog (HTTP, Event Grid) are sized by what waits in the runtime. */
export const sourceTargets: ReadonlyMap<string, SourceTarget> = new Map([
  ['queueTrigger', { perWorker: 24, from: 'queues: batchSize + newBatchThreshold', splitsPartitions: false }],
  [
    'serviceBusTrigger',
    {
      perWorker: 16,
      from: 'serviceBus: maxConcurrentCalls; with sessions maxConcurrentSessions; in batches maxMessageBatchSize',
      splitsPartitions: false,
    },
  ],
  [
    'eventHubTrigger',
    { perWorker: 100, from: 'eventHubs: targetUnprocessedEventThreshold or maxEventBatchSize', splitsPartitions: true },
  ],
  ['blobTrigger', { perWorker: 8, from: 'blobs: maxDegreeOfParallelism', splitsPartitions: false }],
  [
    'collectionTrigger',
    { perWorker: 16, from: 'maxConcurrentRecords; in batches maxBatchSize', splitsPartitions: false },
  ],
  ['timerTrigger', { perWorker: 1, from: 'one run at a time', splitsPartitions: false }],
]);

/** For a trigger type that the table does not know. */
export const otherSourceTarget: SourceTarget = { perWorker: 16, from: 'any other source', splitsPartitions: false };

/** Workers that a backlog amounts to, as a fraction: several triggers of an application are summed before they are rounded. */
export function targetLoadOf(trigger: {
  readonly type: string;
  readonly waiting?: number;
  readonly maxUsefulWorkers?: number;
  readonly targetPerWorker?: number;
}): number {
  const { waiting = 0, maxUsefulWorkers } = trigger;
  if (waiting <= 0) return 0;
  const target = sourceTargets.get(trigger.type) ?? otherSourceTarget;
  const load = waiting / Math.max(1, trigger.targetPerWorker ?? target.perWorker);
  if (maxUsefulWorkers === undefined) return load;
  const bounded = Math.min(load, maxUsefulWorkers);
  return target.splitsPartitions ? evenSplit(bounded, maxUsefulWorkers) : bounded;
}

/**
 * Rounds up to the next number of workers at which the busiest one has fewer partitions: of 32 partitions the busiest of 9 or 10 workers
 * has 4, as with 8 workers, so 9 becomes 11.
 */
function evenSplit(workers: number, partitions: number): number {
  const whole = Math.ceil(workers);
  if (whole <= 1) return workers;
  const perWorker = Math.ceil(partitions / (whole - 1)) - 1;
  return Math.ceil(partitions / Math.max(1, perWorker));
}
