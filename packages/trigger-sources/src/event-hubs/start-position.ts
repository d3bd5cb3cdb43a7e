import type { HubCheckpoint } from './checkpoint-store.js';
import type { ReadPosition, PartitionEnds } from './hub-client.js';
import type { InitialOffset } from './option-kinds.js';
import type { FinishedUpTo } from './watermark.js';

interface StartRequest {
  readonly checkpoint: HubCheckpoint | undefined;
  readonly ends: PartitionEnds;
  readonly hubCreatedAtMs: number;
  readonly initial: InitialOffset;
}

interface StartPosition {
  readonly position: ReadPosition;
  /** The checkpoint belongs to a hub that was deleted. */
  readonly isRecreated: boolean;
  /** Events after the checkpoint that are no longer stored. */
  readonly expired: number;
  /**
   * A first checkpoint to write before the first event. Without it, a runtime that starts at the end and dies before its first
   * checkpoint would start at a later end, and events in between would never run.
   */
  readonly firstCheckpoint: FinishedUpTo | undefined;
}

/** Decides where a partition is read from. */
export function startPosition({ checkpoint, ends, hubCreatedAtMs, initial }: StartRequest): StartPosition {
  const isRecreated = checkpoint !== undefined && isOfFormerHub(checkpoint, ends, hubCreatedAtMs);
  const { sequenceNumber, offset } = (isRecreated ? undefined : checkpoint) ?? {};
  const found = { isRecreated, expired: 0, firstCheckpoint: undefined };
  if (sequenceNumber !== undefined) {
    const expired = Math.max(0, ends.first - sequenceNumber - 1);
    return { ...found, expired, position: { kind: 'after', sequenceNumber } };
  }
  if (offset !== undefined) return { ...found, position: { kind: 'after-offset', offset } };
  if (initial.kind !== 'end') return { ...found, position: initial };
  const firstCheckpoint = { sequenceNumber: ends.last, offset: ends.lastOffset };
  return { ...found, firstCheckpoint, position: { kind: 'after', sequenceNumber: ends.last } };
}

/** Without a creation time, a checkpoint behind the end of the log can only be of a former hub. */
function isOfFormerHub(
  { sequenceNumber = -1, hubCreatedAtMs: before }: HubCheckpoint,
  { last }: PartitionEnds,
  createdAtMs: number,
): boolean {
  if (before !== undefined && Number.isFinite(createdAtMs)) return before !== createdAtMs;
  return sequenceNumber > last;
}

/** For the log. */
export function describePosition(position: ReadPosition): string {
  switch (position.kind) {
    case 'start':
      return 'from its start';
    case 'end':
      return 'from its end';
    case 'time':
      return `from ${new Date(position.enqueuedAtMs).toISOString()}`;
    case 'after':
      return `after number ${position.sequenceNumber}`;
    case 'after-offset':
      return `after offset ${position.offset}`;
  }
}
