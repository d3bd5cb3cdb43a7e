/** Statements of one kind under way at a time: one waits for its commit while the other writes or its answers are on their way. */
const maxConcurrent = 2;
const maxRecords = 100;
/** Of the records that a statement under way writes: with fewer, a second one waits for more. */
const leastShare = 0.75;

/** Records of requests that one statement could save. */
export interface SharedLoad {
  readonly waiting: number;
  /** Statements under way, and how many records they write together. */
  readonly running: number;
  readonly records: number;
  /** Whether the records have waited for others for long enough. */
  readonly isOverdue: boolean;
}

/**
 * Decides how many of the waiting records the next statement takes; 0 if it is too early for one.
 *
 * - Without a statement under way it starts at once.
 * - A second one starts with nearly as many records as the first has, or when it is overdue. So the second of two requests does not wait,
 *   and the first of many clients that come back with their next request does not get a statement and a commit of its own.
 * - Two statements share the records evenly, so that one writes while the other waits for its commit.
 *
 * `bench:collections`, patch with 32 in flight: 1.06 → 1.25 of the endpoint written by hand; 498 → 431 µs of CPU, all processes together.
 */
export function batchSize({ waiting, running, records, isOverdue }: SharedLoad): number {
  if (waiting === 0 || running >= maxConcurrent) return 0;
  const isEnough = running === 0 || isOverdue || waiting >= (records / running) * leastShare;
  return isEnough ? Math.min(maxRecords, Math.ceil((waiting + records) / maxConcurrent)) : 0;
}
