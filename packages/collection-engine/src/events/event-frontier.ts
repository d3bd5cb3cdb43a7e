/**
 * How far the record events have been read. Ids are allotted in order, but their transactions commit in any order: an id that is
 * missing between two visible ones may still appear, or belongs to a transaction that was rolled back.
 */
export interface EventFrontier {
  /** All events up to this id have been read, or will never exist. */
  readonly position: number;
  /** Undefined if no id was missing at the last read. */
  readonly gap: EventGap | undefined;
}

interface EventGap {
  /** The last id of the read that found the gap: every missing id below it was allotted before that read. */
  readonly upTo: number;
  /**
   * A transaction id that was allotted after the gap was seen. A transaction has its id before it takes the id of an event, because
   * it writes the record first: when all transactions below the horizon have ended, the ids that are still missing are dead. The
   * `xmax` of the snapshot that saw the gap would not do: it is one more than the last transaction that has ended, and a younger one
   * in progress may hold the missing id.
   */
  readonly horizon: number | undefined;
}

export interface EventRead {
  /** Ids that are visible after the position, ascending. */
  readonly ids: readonly number[];
  /** The oldest transaction in progress, by the snapshot of the same statement. */
  readonly oldestTransaction: number;
}

/** Advances over all ids without a gap, and over gaps whose transactions have ended. */
export function advanceFrontier(
  { position: from, gap }: EventFrontier,
  { ids, oldestTransaction }: EventRead,
): EventFrontier {
  const isSettled = gap?.horizon !== undefined && oldestTransaction >= gap.horizon;
  const deadUpTo = isSettled ? gap.upTo : from;
  let position = from;
  for (const id of ids) {
    if (id !== position + 1 && id - 1 > deadUpTo) break;
    position = id;
  }
  const last = ids.at(-1) ?? position;
  if (position >= last) return { position, gap: undefined };
  const isSameGap = gap !== undefined && !isSettled && position < gap.upTo;
  return { position, gap: isSameGap ? gap : { upTo: last, horizon: undefined } };
}

/**
 * Whether a horizon has to be taken for the gap after this read. Most gaps are filled within milliseconds, so only one that is seen
 * twice gets a horizon, which costs a transaction id.
 */
export function needsHorizon(before: EventFrontier, after: EventFrontier): boolean {
  return after.gap !== undefined && after.gap.horizon === undefined && before.gap?.upTo === after.gap.upTo;
}
