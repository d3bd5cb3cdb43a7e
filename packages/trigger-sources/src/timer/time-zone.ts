import { ianaZoneOf } from './windows-zones.js';

/** A time zone: how far its local time is ahead of UTC. */
export interface TimeZone {
  /** The IANA name. */
  readonly name: string;
  offsetMs(instant: number): number;
}

/** Returns the time zone of an IANA or Windows name; undefined if there is none. */
export function findTimeZone(given: string): TimeZone | undefined {
  const name = ianaZoneOf(given) ?? given.replace(/^:/, '');
  try {
    return new IntlTimeZone(new Intl.DateTimeFormat('en-US', { ...parts, timeZone: name }), name);
  } catch {
    return undefined; // a RangeError: there is no such zone
  }
}

const parts = {
  hourCycle: 'h23',
  year: 'numeric',
  month: 'numeric',
  day: 'numeric',
  hour: 'numeric',
  minute: 'numeric',
  second: 'numeric',
} as const;

class IntlTimeZone implements TimeZone {
  readonly name: string;
  readonly #format: Intl.DateTimeFormat;

  constructor(format: Intl.DateTimeFormat, name: string) {
    this.#format = format;
    this.name = name;
  }

  offsetMs(instant: number): number {
    const whole = Math.floor(instant / 1_000) * 1_000;
    const found: Partial<Record<string, number>> = {};
    for (const { type, value } of this.#format.formatToParts(whole)) found[type] = Number(value);
    const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = found;
    return Date.UTC(year, month - 1, day, hour, minute, second) - whole;
  }
}

/** Two changes of one zone are further apart than this. */
const stepMs = 7 * 24 * 3_600_000;

/** Returns the first instant after `from` and up to `to` at which the offset changes; undefined if it does not. */
export function nextTransition(zone: TimeZone, from: number, to: number): number | undefined {
  const before = zone.offsetMs(from);
  for (let low = from; low < to; low += stepMs) {
    const high = Math.min(low + stepMs, to);
    if (zone.offsetMs(high) !== before) return bisect(zone, low, high, before);
  }
  return undefined;
}

/** The offset is `before` at `low` and another one at `high`. */
function bisect(zone: TimeZone, low: number, high: number, before: number): number {
  let [from, to] = [low, high];
  while (to - from > 1) {
    const middle = Math.floor((from + to) / 2);
    if (zone.offsetMs(middle) === before) from = middle;
    else to = middle;
  }
  return to;
}

/** Formats an instant as the local time of a zone with its offset, such as `2026-03-29T03:30:00+02:00`. */
export function toLocalIso(instant: number, zone: TimeZone): string {
  const offsetMs = zone.offsetMs(instant);
  const [clock = ''] = new Date(instant + offsetMs).toISOString().replace('.000', '').split('Z');
  const minutes = Math.round(Math.abs(offsetMs) / 60_000);
  const two = (value: number): string => String(value).padStart(2, '0');
  return `${clock}${offsetMs < 0 ? '-' : '+'}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`;
}
