import { Cron } from 'croner';
import { parseTimeSpan } from '../options/time-span.js';
import { parseNcrontab, type NcrontabFields } from './ncrontab.js';
import { nextTransition, type TimeZone } from './time-zone.js';

/** When a timer is due. */
export interface Schedule {
  /** Changes if any occurrence changes. */
  readonly id: string;
  /** False for an interval, which knows no wall clock. */
  readonly adjustsForDst: boolean;
  /**
   * Returns the first occurrence after an instant; undefined if there is none. `previous` is an earlier occurrence, from which an
   * interval counts: without one it starts at `after`.
   */
  next(after: number, previous?: number): number | undefined;
}

/** Reads `schedule` of a timer trigger: an NCRONTAB expression in a time zone, or a time span. */
export function parseSchedule(
  text: string,
  zone: TimeZone,
): { readonly schedule: Schedule } | { readonly problem: string } {
  const trimmed = text.trim();
  const intervalMs = parseTimeSpan(trimmed);
  if (intervalMs !== undefined)
    return intervalMs >= 1
      ? { schedule: new IntervalSchedule(intervalMs) }
      : { problem: `is the time span "${trimmed}"; it must be longer than 0` };
  const parsed = parseNcrontab(trimmed);
  if ('problem' in parsed) return parsed;
  const schedule = new CronSchedule(trimmed, parsed.value, zone);
  if (schedule.next(Date.UTC(2000)) === undefined) return { problem: 'names a day that no month has' };
  return { schedule };
}

/** Whether a schedule has more than one occurrence within a minute, among the next ones. */
export function isMoreOftenThanMinutely(schedule: Schedule, now: number): boolean {
  let previous = schedule.next(now);
  for (let seen = 1; seen < 5 && previous !== undefined; seen += 1) {
    const following = schedule.next(previous, previous);
    if (following !== undefined && following - previous < 60_000) return true;
    previous = following;
  }
  return false;
}

class IntervalSchedule implements Schedule {
  readonly id: string;
  readonly adjustsForDst = false;
  readonly #everyMs: number;

  constructor(everyMs: number) {
    this.#everyMs = everyMs;
    this.id = `every ${everyMs} ms`;
  }

  next(after: number, previous = after): number {
    const passed = Math.floor(Math.max(0, after - previous) / this.#everyMs);
    return previous + (passed + 1) * this.#everyMs;
  }
}

const dayMs = 24 * 3_600_000;

/**
 * An expression in local time. Where clocks are put forward, times that do not exist are due when they would have been without the
 * change: 02:30 becomes 03:30. Where clocks are put back, an expression that runs at certain hours runs once for each local time,
 * at the second pass, as in the official host; one that runs every hour runs through both passes.
 */
class CronSchedule implements Schedule {
  readonly id: string;
  readonly adjustsForDst = true;
  readonly #zone: TimeZone;
  readonly #isHourly: boolean;
  /** Only for the calendar: local times are passed to it as if they were UTC. */
  readonly #calendar: Cron;

  constructor(text: string, fields: NcrontabFields, zone: TimeZone) {
    this.id = `${text} ${zone.name}`;
    this.#zone = zone;
    this.#isHourly = fields.hours.length === 24;
    // The lists of values are all of its syntax that is used: its dialect of cron is another one.
    const { seconds, minutes, hours, days, months, weekdays } = fields;
    const pattern = [seconds, minutes, hours, days, months, weekdays].map((values) => values.join(',')).join(' ');
    this.#calendar = new Cron(pattern, { utcOffset: 0, domAndDow: true });
  }

  next(after: number): number | undefined {
    const shifted = this.#isHourly ? undefined : this.#shiftedBefore(after);
    const regular = this.#regular(after);
    return shifted !== undefined && (regular === undefined || shifted < regular) ? shifted : regular;
  }

  /** Returns the next occurrence, without those that `#shiftedBefore` finds. Goes from one change of the offset to the next. */
  #regular(after: number): number | undefined {
    let [from, start, offset] = [after, after, this.#zone.offsetMs(after)];
    for (;;) {
      const found = this.#match(from, offset);
      // A change after it matters too: an occurrence of the first pass is left out.
      const change = found === undefined ? undefined : nextTransition(this.#zone, start, found + dayMs);
      if (found === undefined || change === undefined) return found;
      const changed = this.#zone.offsetMs(change);
      const forwardMs = changed - offset;
      // Without the first pass of the times that come twice.
      const until = forwardMs < 0 && !this.#isHourly ? change + forwardMs : change;
      if (found < until) return found;
      const isShifted = !this.#isHourly && found >= change && found < change + forwardMs;
      if (isShifted && found < (this.#match(change - 1, changed) ?? Number.POSITIVE_INFINITY)) return found;
      [from, start, offset] = [change - 1, change, changed];
    }
  }

  /** Returns the next occurrence that was shifted by a change of less than a day ago. */
  #shiftedBefore(after: number): number | undefined {
    const before = this.#zone.offsetMs(after - dayMs);
    const forwardMs = this.#zone.offsetMs(after) - before;
    if (forwardMs <= 0) return undefined;
    const change = nextTransition(this.#zone, after - dayMs, after);
    if (change === undefined || after >= change + forwardMs) return undefined;
    const found = this.#match(after, before);
    return found !== undefined && found < change + forwardMs ? found : undefined;
  }

  /** Returns the first instant after `after` whose local time, at this offset, matches. */
  #match(after: number, offset: number): number | undefined {
    const local = this.#calendar.nextRun(new Date(after + offset));
    return local === null ? undefined : local.getTime() - offset;
  }
}
