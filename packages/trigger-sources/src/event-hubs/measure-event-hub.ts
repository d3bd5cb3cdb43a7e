import type { Backlog } from '../trigger-source.js';
import type { HubCheckpoint } from './checkpoint-store.js';
import type { PartitionEnds } from './hub-client.js';
import type { InitialOffset } from './option-kinds.js';

/** What a partition has, what is finished, and what runs. */
export interface PartitionState {
  readonly partitionId: string;
  readonly ends: PartitionEnds;
  readonly checkpoint: HubCheckpoint | undefined;
  /** Progress of the reader in this process, if it has one. */
  readonly finished: number | undefined;
  readonly delivered: number | undefined;
  /** Enqueue time of the oldest event that waits here. */
  readonly oldestAtMs: number | undefined;
}

export interface ArrivalSample {
  readonly atMs: number;
  /** Last sequence number by partition. */
  readonly last: ReadonlyMap<string, number>;
}

/**
 * Computes the backlog from the ends of the partitions and the positions of the consumer group. A checkpoint ahead of the end
 * counts as no backlog, since the properties of a partition may be older. Events before the first stored one do not count.
 */
export function hubBacklog(
  partitions: readonly PartitionState[],
  initial: InitialOffset,
  times: { readonly nowMs: number; readonly before: ArrivalSample | undefined; readonly sample: ArrivalSample },
): Backlog {
  const lagByPartition: Record<string, number> = {};
  let waiting = 0;
  for (const { partitionId, ends, checkpoint, finished, delivered } of partitions) {
    const done = Math.max(finished ?? -1, checkpoint?.sequenceNumber ?? -1);
    const hasPosition = finished !== undefined || checkpoint?.sequenceNumber !== undefined;
    const from = hasPosition || initial.kind !== 'end' ? Math.max(done, ends.first - 1) : ends.last;
    lagByPartition[partitionId] = Math.max(0, ends.last - from);
    waiting += Math.max(0, ends.last - Math.max(from, delivered ?? -1));
  }
  const arrivals = arrivalsPerSecond(times.before, times.sample);
  return {
    waiting,
    oldestAgeMs: waiting === 0 ? undefined : oldestAgeMs(partitions, lagByPartition, times.nowMs),
    lagByPartition,
    // A partition is read by one runtime at a time, in order.
    maxUsefulWorkers: partitions.length,
    ...(arrivals !== undefined && { arrivalsPerSecond: arrivals }),
  };
}

/** The age of the oldest event that waits here; for a partition that is read elsewhere it is known only if one event waits. */
function oldestAgeMs(
  partitions: readonly PartitionState[],
  lag: Readonly<Record<string, number>>,
  nowMs: number,
): number | undefined {
  const times = partitions.flatMap(({ partitionId, ends, oldestAtMs }) =>
    oldestAtMs === undefined ? (lag[partitionId] === 1 ? [ends.lastEnqueuedAtMs] : []) : [oldestAtMs],
  );
  return times.length === 0 ? undefined : Math.max(0, nowMs - Math.min(...times));
}

function arrivalsPerSecond(before: ArrivalSample | undefined, { atMs, last }: ArrivalSample): number | undefined {
  if (!before || atMs <= before.atMs) return undefined;
  let events = 0;
  for (const [partitionId, number] of last) events += Math.max(0, number - (before.last.get(partitionId) ?? number));
  return (events * 1_000) / (atMs - before.atMs);
}
