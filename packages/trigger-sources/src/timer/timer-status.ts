import type { Schedule } from './schedule.js';
import { toLocalIso, type TimeZone } from './time-zone.js';

/** What is known about a timer: stored if it is monitored. Times are instants in milliseconds. */
export interface TimerStatus {
  /** Of the schedule that `next` was computed with. */
  readonly scheduleId: string;
  /** When it ran last; undefined if it never did. */
  readonly last: number | undefined;
  /** When it is due; undefined if never again. */
  readonly next: number | undefined;
  readonly lastUpdated: number;
}

/** A wall clock that was set back by more than this was wrong before; by less, the timer waits until it has caught up. */
const longestSetBackMs = 3_600_000;
/** A run that begins later than this after it was due is past due, as after a suspension of the machine. */
const lateMs = 60_000;

/** Returns the status of a timer that starts now without a past. */
export function newStatus(schedule: Schedule, now: number): TimerStatus {
  return { scheduleId: schedule.id, last: undefined, next: schedule.next(now), lastUpdated: now };
}

/**
 * Returns the status with which a timer starts: the known one, whose `next` may have been missed. A changed schedule starts
 * without a past, and so does a timer whose status is from a future that only a wrong clock can have seen.
 */
export function resumeStatus(known: TimerStatus | undefined, schedule: Schedule, now: number): TimerStatus {
  if (!known || known.scheduleId !== schedule.id || isFromTheFuture(known, now)) return newStatus(schedule, now);
  return known;
}

/**
 * Returns the status that a timer without a monitor resumes: the next occurrence of the listener before, as long as it is to come.
 * So an interval goes on when the application was at rest meanwhile; what was missed does not run.
 */
export function upcomingStatus(known: TimerStatus | undefined, now: number): TimerStatus | undefined {
  return known?.next !== undefined && known.next > now ? known : undefined;
}

/**
 * Returns the status after a run that began at `startedAt`. An occurrence that passed meanwhile is left out: runs of a timer never
 * overlap, and the next one is computed after the end. One that is still to come stays, as after a run at the start.
 */
export function statusAfterRun(status: TimerStatus, schedule: Schedule, startedAt: number, now: number): TimerStatus {
  // Not before the start: the clock may have been set back meanwhile.
  const after = Math.max(now, startedAt);
  const { next: due } = status;
  const next = due !== undefined && due > after ? due : schedule.next(after, due);
  return { scheduleId: schedule.id, last: startedAt, next, lastUpdated: now };
}

export function isFromTheFuture({ lastUpdated }: TimerStatus, now: number): boolean {
  return lastUpdated > now + longestSetBackMs;
}

export function isPastDue({ next }: TimerStatus, now: number): boolean {
  return next !== undefined && now - next > lateMs;
}

/** Of two statuses, returns the newer one: after an outage of the store, that of this process may be it. */
export function newerStatus(one: TimerStatus | undefined, other: TimerStatus | undefined): TimerStatus | undefined {
  if (!one || !other) return one ?? other;
  return one.lastUpdated >= other.lastUpdated ? one : other;
}

/** For the store. Times are readable, since people look there too. */
export function encodeStatus({ scheduleId, last, next, lastUpdated }: TimerStatus): string {
  const iso = (instant: number | undefined): string | null =>
    instant === undefined ? null : new Date(instant).toISOString();
  return JSON.stringify({ schedule: scheduleId, last: iso(last), next: iso(next), lastUpdated: iso(lastUpdated) });
}

/** Returns undefined for a text that is no status. */
export function parseStatus(text: string | undefined): TimerStatus | undefined {
  try {
    const parsed = JSON.parse(text ?? 'null') as Partial<Record<string, unknown>> | null; // checked below
    const { schedule, last, next, lastUpdated } = parsed ?? {};
    const updated = parseInstant(lastUpdated);
    if (typeof schedule !== 'string' || updated === undefined) return undefined;
    return { scheduleId: schedule, last: parseInstant(last), next: parseInstant(next), lastUpdated: updated };
  } catch {
    return undefined;
  }
}

function parseInstant(value: unknown): number | undefined {
  const instant = typeof value === 'string' ? Date.parse(value) : Number.NaN;
  return Number.isNaN(instant) ? undefined : instant;
}

/** How the official host writes a time that never was. */
const never = '0001-01-01T00:00:00+00:00';

/** The payload of a timer trigger. `status` is undefined for a timer that is not monitored. */
export function timerPayload(
  { adjustsForDst }: Schedule,
  status: TimerStatus | undefined,
  isPast: boolean,
  zone: TimeZone,
): string {
  const iso = (instant: number | undefined): string => (instant === undefined ? never : toLocalIso(instant, zone));
  return JSON.stringify({
    Schedule: { AdjustForDST: adjustsForDst },
    ScheduleStatus: status
      ? { Last: iso(status.last), Next: iso(status.next), LastUpdated: iso(status.lastUpdated) }
      : null,
    IsPastDue: isPast,
  });
}
