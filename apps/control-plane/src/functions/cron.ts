/** The fields of a cron expression as sets of the numbers that match. */
export interface CronFields {
  readonly seconds: ReadonlySet<number>;
  readonly minutes: ReadonlySet<number>;
  readonly hours: ReadonlySet<number>;
  readonly days: ReadonlySet<number>;
  readonly months: ReadonlySet<number>;
  readonly weekdays: ReadonlySet<number>;
  /** Whether both fields of days restrict: then a day that matches one of them matches, as in every cron. */
  readonly isEitherDay: boolean;
}

interface FieldRange {
  readonly name: string;
  readonly first: number;
  readonly last: number;
  /** Names of the numbers, from the first. */
  readonly names?: readonly string[];
}

const fieldRanges: readonly FieldRange[] = [
  { name: 'second', first: 0, last: 59 },
  { name: 'minute', first: 0, last: 59 },
  { name: 'hour', first: 0, last: 23 },
  { name: 'day of the month', first: 1, last: 31 },
  {
    name: 'month',
    first: 1,
    last: 12,
    names: ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'],
  },
  // Both 0 and 7 are Sunday.
  { name: 'day of the week', first: 0, last: 7, names: ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] },
];

const aliases: Readonly<Record<string, string>> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
};

const dayMs = 86_400_000;
/** Longer than the eight years between some leap days. */
const searchYears = 9;

/** Parses a cron expression of five fields, or of six with seconds in front. Returns what is wrong with it as `problem`. */
export function parseCron(expression: string): CronFields | { readonly problem: string } {
  const text = expression.trim().toLowerCase();
  const words = (aliases[text] ?? text).split(/\s+/);
  if (words.length !== 5 && words.length !== 6)
    return { problem: `has ${words.length} fields; a cron expression has five, or six with seconds in front` };
  const six = words.length === 6 ? words : ['0', ...words];
  const sets: ReadonlySet<number>[] = [];
  for (const [index, range] of fieldRanges.entries()) {
    const set = parseField(six[index] ?? '', range);
    if (!set) return { problem: `has an invalid ${range.name}: ${(six[index] ?? '').slice(0, 50)}` };
    sets.push(set);
  }
  const [seconds, minutes, hours, days, months, weekdays] = sets as [
    Numbers,
    Numbers,
    Numbers,
    Numbers,
    Numbers,
    Numbers,
  ]; // six ranges
  const fields = { seconds, minutes, hours, days, months, weekdays, isEitherDay: days.size < 31 && weekdays.size < 7 };
  return nextWall(fields, 0) === undefined ? { problem: 'names a day that never comes' } : fields;
}

type Numbers = ReadonlySet<number>;

function parseField(field: string, range: FieldRange): Numbers | undefined {
  const found = new Set<number>();
  for (const part of field.split(',')) {
    const [, body = '', step = '1'] = /^([^/]+)(?:\/([1-9]\d{0,3}))?$/.exec(part) ?? [];
    const [from, to] = bounds(body, range, part.includes('/'));
    if (from === undefined || to === undefined || from > to) return undefined;
    for (let number = from; number <= to; number += Number(step))
      found.add(number === 7 && range.last === 7 ? 0 : number);
  }
  return found;
}

/** `*`, a number, or two numbers with a hyphen. A single number with a step means from there to the end. */
function bounds(body: string, range: FieldRange, hasStep: boolean): readonly [number | undefined, number | undefined] {
  if (body === '*' || body === '?') return [range.first, range.last === 7 ? 6 : range.last];
  const [low = '', high] = body.split('-', 2);
  const from = numberOf(low, range);
  if (high === undefined) return [from, hasStep ? range.last : from];
  return [from, numberOf(high, range)];
}

function numberOf(text: string, { first, last, names }: FieldRange): number | undefined {
  const named = names?.indexOf(text) ?? -1;
  if (named >= 0) return named + first;
  const number = /^\d{1,2}$/.test(text) ? Number(text) : NaN;
  return number >= first && number <= last ? number : undefined;
}

/** Returns the first time after `afterMs` that matches, both in epoch milliseconds, in a time zone. */
export function nextRun(fields: CronFields, timeZone: string, afterMs: number): number | undefined {
  const offsetMs = offsetAt(afterMs, timeZone);
  const wallMs = nextWall(fields, afterMs + offsetMs);
  if (wallMs === undefined) return undefined;
  // Within one offset. Also runs through the hour that is repeated when clocks go back, if the schedule matches it.
  const direct = wallMs - offsetMs;
  if (matches(fields, direct + offsetAt(direct, timeZone))) return direct;
  const offsets = [offsetAt(wallMs - dayMs, timeZone), offsetAt(wallMs + dayMs, timeZone)];
  const real = offsets.map((offset) => wallMs - offset).filter((time) => time + offsetAt(time, timeZone) === wallMs);
  // A time that clocks skip when they go forward comes later by what they skip.
  const time = real.length > 0 ? Math.min(...real) : wallMs - (offsets[0] ?? 0);
  return time > afterMs ? time : nextRun(fields, timeZone, afterMs + 1_000);
}

/** Returns the first wall-clock time after `afterMs` that matches, as if it were UTC. */
function nextWall(fields: CronFields, afterMs: number): number | undefined {
  const time = new Date(Math.floor(afterMs / 1_000) * 1_000 + 1_000);
  const last = time.getUTCFullYear() + searchYears;
  while (time.getUTCFullYear() <= last) {
    if (!fields.months.has(time.getUTCMonth() + 1)) {
      time.setUTCMonth(time.getUTCMonth() + 1, 1);
      time.setUTCHours(0, 0, 0);
    } else if (!matchesDay(fields, time)) {
      time.setUTCDate(time.getUTCDate() + 1);
      time.setUTCHours(0, 0, 0);
    } else if (!fields.hours.has(time.getUTCHours())) time.setUTCHours(time.getUTCHours() + 1, 0, 0);
    else if (!fields.minutes.has(time.getUTCMinutes())) time.setUTCMinutes(time.getUTCMinutes() + 1, 0);
    else if (!fields.seconds.has(time.getUTCSeconds())) time.setUTCSeconds(time.getUTCSeconds() + 1);
    else return time.getTime();
  }
  return undefined;
}

function matches(fields: CronFields, wallMs: number): boolean {
  return nextWall(fields, wallMs - 1_000) === wallMs;
}

function matchesDay({ days, weekdays, isEitherDay }: CronFields, time: Date): boolean {
  const [byDay, byWeekday] = [days.has(time.getUTCDate()), weekdays.has(time.getUTCDay())];
  return isEitherDay ? byDay || byWeekday : byDay && byWeekday;
}

const formats = new Map<string, Intl.DateTimeFormat>();

/** Returns how far the clocks of a time zone are ahead of UTC, in milliseconds. */
function offsetAt(timeMs: number, timeZone: string): number {
  if (timeZone === 'UTC') return 0;
  let format = formats.get(timeZone);
  if (!format) formats.set(timeZone, (format = formatOf(timeZone)));
  const parts: Record<string, number> = {};
  for (const { type, value } of format.formatToParts(timeMs)) parts[type] = Number(value);
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts;
  return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(timeMs / 1_000) * 1_000;
}

function formatOf(timeZone: string): Intl.DateTimeFormat {
  return new Intl.DateTimeFormat('en-US', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  });
}

export function isTimeZone(timeZone: string): boolean {
  try {
    formatOf(timeZone);
    return true;
  } catch {
    return false;
  }
}
