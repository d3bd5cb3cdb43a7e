import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isMoreOftenThanMinutely, parseSchedule, type Schedule } from './schedule.js';
import { findTimeZone, type TimeZone } from './time-zone.js';

const utc = zone('UTC');

function zone(name: string): TimeZone {
  const found = findTimeZone(name);
  if (!found) throw new Error(`no zone ${name}`);
  return found;
}

function schedule(text: string, at: TimeZone = utc): Schedule {
  const parsed = parseSchedule(text, at);
  if ('problem' in parsed) throw new Error(parsed.problem);
  return parsed.schedule;
}

function problem(text: string): string {
  const parsed = parseSchedule(text, utc);
  return 'problem' in parsed ? parsed.problem : 'it was accepted';
}

/** Returns the next occurrences as ISO texts in UTC. */
function following(text: string, from: string, count: number, at: TimeZone = utc): string[] {
  const one = schedule(text, at);
  const found: string[] = [];
  let after = Date.parse(from);
  while (found.length < count) {
    const next = one.next(after, after);
    if (next === undefined) break;
    found.push(new Date(next).toISOString().replace('.000Z', 'Z'));
    after = next;
  }
  return found;
}

describe('an NCRONTAB schedule', () => {
  it.each([
    ['0 */5 * * * *', '2026-01-01T00:00:00Z', ['2026-01-01T00:05:00Z', '2026-01-01T00:10:00Z']],
    ['*/15 * * * * *', '2026-01-01T00:00:31.500Z', ['2026-01-01T00:00:45Z', '2026-01-01T00:01:00Z']],
    // five fields: the seconds are 0
    ['*/5 * * * *', '2026-01-01T00:04:59Z', ['2026-01-01T00:05:00Z', '2026-01-01T00:10:00Z']],
    ['0 30 9 * * 1-5', '2026-01-02T10:00:00Z', ['2026-01-05T09:30:00Z', '2026-01-06T09:30:00Z']],
    ['0 0 0 * * Sun', '2026-01-01T00:00:00Z', ['2026-01-04T00:00:00Z', '2026-01-11T00:00:00Z']],
    ['0 0 0 * * 0', '2026-01-01T00:00:00Z', ['2026-01-04T00:00:00Z', '2026-01-11T00:00:00Z']],
    ['0 0 0 * January,feb Mon-wednesday', '2026-02-24T12:00:00Z', ['2026-02-25T00:00:00Z', '2027-01-04T00:00:00Z']],
    // a name may be any beginning; the first that fits counts: J is January
    ['0 0 0 1 J *', '2026-01-01T00:00:00Z', ['2027-01-01T00:00:00Z']],
    // day of the month AND day of the week
    [
      '0 0 0 13 * Fri',
      '2026-01-01T00:00:00Z',
      ['2026-02-13T00:00:00Z', '2026-03-13T00:00:00Z', '2026-11-13T00:00:00Z'],
    ],
    // a value with a step runs to the end
    [
      '0 5/20 * * * *',
      '2026-01-01T00:00:00Z',
      ['2026-01-01T00:05:00Z', '2026-01-01T00:25:00Z', '2026-01-01T00:45:00Z', '2026-01-01T01:05:00Z'],
    ],
    [
      '0 10-40/15 * * * *',
      '2026-01-01T00:00:00Z',
      ['2026-01-01T00:10:00Z', '2026-01-01T00:25:00Z', '2026-01-01T00:40:00Z', '2026-01-01T01:10:00Z'],
    ],
    // a step of more than the field: only its first value
    ['0 */90 * * * *', '2026-01-01T00:00:00Z', ['2026-01-01T01:00:00Z', '2026-01-01T02:00:00Z']],
    // a range that runs backwards is read forwards
    ['0 0 12 * * Fri-Mon', '2026-01-02T13:00:00Z', ['2026-01-05T12:00:00Z', '2026-01-06T12:00:00Z']],
    ['0 0 0 31 * *', '2026-01-31T00:00:00Z', ['2026-03-31T00:00:00Z', '2026-05-31T00:00:00Z']],
    ['0 0 0 29 2 *', '2026-01-01T00:00:00Z', ['2028-02-29T00:00:00Z', '2032-02-29T00:00:00Z']],
    ['59 59 23 31 12 *', '2026-12-31T23:59:59Z', ['2027-12-31T23:59:59Z']],
    ['  0   0 0   1 1 *  ', '2026-01-01T00:00:00Z', ['2027-01-01T00:00:00Z']],
  ])('%s after %s', (text, from, expected) => {
    expect(following(text, from, expected.length)).toEqual(expected);
  });

  it.each([
    ['* * * *', 'has 4 fields; it needs six'],
    ['* * * * * * *', 'has 7 fields'],
    ['60 * * * * *', '60 is no second: it must be from 0 to 59'],
    ['* 60 * * * *', '60 is no minute'],
    ['* * 24 * * *', '24 is no hour'],
    ['* * * 0 * *', '0 is no day of the month: it must be from 1 to 31'],
    ['* * * 32 * *', '32 is no day of the month'],
    ['* * * * 13 *', '13 is no month'],
    ['* * * * * 7', '7 is no day of the week: it must be from 0 to 6; Sunday is 0'],
    ['0 0 0 L * *', '"L" is no day of the month'],
    ['0 0 0 15W * *', '"15W" is no day of the month'],
    ['0 0 0 * * 5#2', '"5#2" is no day of the week'],
    ['0 0 0 * * 5L', '"5L" is no day of the week'],
    ['0 0 0 ? * *', '"?" is no day of the month'],
    ['0 0 0 * Foo *', '"Foo" is no month: it must be from 1 to 12, or a name'],
    ['0 Jan * * * *', '"Jan" is no minute'],
    ['0 */0 * * * *', 'has the step 0'],
    ['0 */x * * * *', '"*/x" is no minute'],
    ['0 *-5 * * * *', '"*-5" is no minute'],
    ['0 1,,2 * * * *', '"" is no minute'],
    ['0 1-2-3 * * * *', '"1-2-3" is no minute'],
    ['0 -1 * * * *', '"-1" is no minute'],
    ['0 1.5 * * * *', '"1.5" is no minute'],
    ['0 99999999999 * * * *', '"99999999999" is no minute'],
    ['@hourly', 'has 1 fields'],
    ['0 0 0 30 2 *', 'names a day that no month has'],
    ['00:00:00', 'must be longer than 0'],
    ['-00:05:00', 'must be longer than 0'],
  ])('refuses %s', (text, expected) => {
    expect(problem(text)).toContain(expected);
  });

  it('is the same schedule as long as neither its text nor its zone changes', () => {
    expect(schedule('0 0 3 * * *').id).toBe(schedule(' 0 0 3 * * * ').id);
    expect(schedule('0 0 3 * * *').id).not.toBe(schedule('0 0 4 * * *').id);
    expect(schedule('0 0 3 * * *').id).not.toBe(schedule('0 0 3 * * *', zone('Europe/Berlin')).id);
    expect(schedule('00:05:00').id).not.toBe(schedule('00:06:00').id);
  });
});

describe('a schedule where clocks are put forward', () => {
  const berlin = zone('Europe/Berlin'); // 2026-03-29 02:00 becomes 03:00

  it('is due an hour later by the new clock if its time does not exist', () => {
    expect(following('0 30 2 * * *', '2026-03-28T00:00:00Z', 3, berlin)).toEqual([
      '2026-03-28T01:30:00Z',
      '2026-03-29T01:30:00Z', // 03:30
      '2026-03-30T00:30:00Z',
    ]);
  });

  it('is due once where a shifted time meets one that exists', () => {
    expect(following('0 30 2,3 * * *', '2026-03-28T12:00:00Z', 3, berlin)).toEqual([
      '2026-03-29T01:30:00Z',
      '2026-03-30T00:30:00Z',
      '2026-03-30T01:30:00Z',
    ]);
  });

  it('finds the shifted time also from within the hour after the change', () => {
    const daily = schedule('0 30 2 * * *', berlin);
    expect(daily.next(Date.parse('2026-03-29T01:10:00Z'))).toBe(Date.parse('2026-03-29T01:30:00Z'));
    expect(daily.next(Date.parse('2026-03-29T01:30:00Z'))).toBe(Date.parse('2026-03-30T00:30:00Z'));
    expect(daily.next(Date.parse('2026-03-29T00:59:59.999Z'))).toBe(Date.parse('2026-03-29T01:30:00Z'));
  });

  it('goes on without a gap if it runs every hour', () => {
    expect(following('0 */30 * * * *', '2026-03-29T00:15:00Z', 4, berlin)).toEqual([
      '2026-03-29T00:30:00Z',
      '2026-03-29T01:00:00Z',
      '2026-03-29T01:30:00Z',
      '2026-03-29T02:00:00Z',
    ]);
  });

  it('is due when the day begins if it does not begin at midnight', () => {
    // Santiago: 2026-09-06 00:00 becomes 01:00
    expect(following('0 0 0 * * *', '2026-09-05T12:00:00Z', 2, zone('America/Santiago'))).toEqual([
      '2026-09-06T04:00:00Z',
      '2026-09-07T03:00:00Z',
    ]);
  });
});

describe('a schedule where clocks are put back', () => {
  const newYork = zone('America/New_York'); // 2026-11-01 02:00 becomes 01:00

  it('is due once at a time that comes twice: at the second pass', () => {
    expect(following('0 30 1 * * *', '2026-10-31T00:00:00Z', 3, newYork)).toEqual([
      '2026-10-31T05:30:00Z',
      '2026-11-01T06:30:00Z',
      '2026-11-02T06:30:00Z',
    ]);
  });

  it('is found from within the first pass', () => {
    const daily = schedule('0 30 1 * * *', newYork);
    for (const from of ['2026-11-01T05:10:00Z', '2026-11-01T05:30:00Z', '2026-11-01T05:40:00Z', '2026-11-01T06:29:59Z'])
      expect(daily.next(Date.parse(from))).toBe(Date.parse('2026-11-01T06:30:00Z'));
  });

  it('runs through both passes if it runs every hour', () => {
    expect(following('0 */30 * * * *', '2026-11-01T04:45:00Z', 6, newYork)).toEqual([
      '2026-11-01T05:00:00Z',
      '2026-11-01T05:30:00Z',
      '2026-11-01T06:00:00Z',
      '2026-11-01T06:30:00Z',
      '2026-11-01T07:00:00Z',
      '2026-11-01T07:30:00Z',
    ]);
  });
});

describe('an interval', () => {
  it('counts from the start, or from the occurrence before', () => {
    const every = schedule('00:05:00');
    expect(every.next(1_000)).toBe(301_000);
    expect(every.next(301_000, 301_000)).toBe(601_000);
    // A run that took longer leaves out what it missed.
    expect(every.next(1_000_000, 301_000)).toBe(1_201_000);
    expect(every.adjustsForDst).toBe(false);
  });

  it('may be shorter than a second, and many days long', () => {
    expect(schedule('00:00:00.5').next(0)).toBe(500);
    expect(schedule('60.00:00:00').next(0)).toBe(60 * 86_400_000);
  });
});

describe('more than one occurrence per minute', () => {
  it.each([
    ['* * * * * *', true],
    ['*/30 * * * * *', true],
    ['0,10 0 3 1 1 *', true],
    ['00:00:59', true],
    ['0 * * * * *', false],
    ['00:01:00', false],
    ['0 0 0 1 1 *', false],
  ])('%s: %s', (text, expected) => {
    expect(isMoreOftenThanMinutely(schedule(text), Date.parse('2026-05-05T12:34:56Z'))).toBe(expected);
  });
});

/** A field as text, with the values that it allows by the definition of NCRONTAB. */
interface OracleField {
  readonly text: string;
  readonly allows: ReadonlySet<number>;
}

function anyField(least: number, most: number): fc.Arbitrary<OracleField> {
  const value = fc.integer({ min: least, max: most });
  const step = fc.integer({ min: 1, max: most + 5 });
  const range = (from: number, to: number, every = 1): number[] => {
    const values: number[] = [];
    for (let one = Math.min(from, to); one <= Math.max(from, to); one += every) values.push(one);
    return values;
  };
  const item = fc.oneof(
    fc.constant({ text: '*', values: range(least, most) }),
    step.map((every) => ({ text: `*/${every}`, values: range(least, most, every) })),
    value.map((one) => ({ text: String(one), values: [one] })),
    fc.tuple(value, value).map(([a, b]) => ({ text: `${a}-${b}`, values: range(a, b) })),
    fc.tuple(value, value, step).map(([a, b, every]) => ({ text: `${a}-${b}/${every}`, values: range(a, b, every) })),
    fc.tuple(value, step).map(([a, every]) => ({ text: `${a}/${every}`, values: range(a, most, every) })),
  );
  return fc.array(item, { minLength: 1, maxLength: 3 }).map((items) => ({
    text: items.map(({ text }) => text).join(','),
    allows: new Set(items.flatMap(({ values }) => values)),
  }));
}

const expression = fc.tuple(
  anyField(0, 59),
  anyField(0, 59),
  anyField(0, 23),
  anyField(1, 31),
  anyField(1, 12),
  anyField(0, 6),
);

function allows(fields: readonly OracleField[], local: number): boolean {
  const at = new Date(local);
  const values = [
    at.getUTCSeconds(),
    at.getUTCMinutes(),
    at.getUTCHours(),
    at.getUTCDate(),
    at.getUTCMonth() + 1,
    at.getUTCDay(),
  ];
  return values.every((value, index) => fields[index]?.allows.has(value));
}

describe('any NCRONTAB schedule, compared with a search through all seconds', () => {
  it('in UTC: has the same next occurrence within the next hour', () => {
    const from = fc.integer({ min: Date.UTC(2024, 1, 27) / 1_000, max: Date.UTC(2028, 2, 2) / 1_000 });
    fc.assert(
      fc.property(expression, from, fc.nat(999), (fields, second, ms) => {
        const text = fields.map((field) => field.text).join(' ');
        const parsed = parseSchedule(text, utc);
        if ('problem' in parsed) return; // a day that no month has
        const after = second * 1_000 + ms;
        const next = parsed.schedule.next(after) ?? Number.POSITIVE_INFINITY;
        const until = (second + 3_600) * 1_000;
        let expected = (second + 1) * 1_000;
        while (expected <= until && !allows(fields, expected)) expected += 1_000;
        if (expected <= until) expect(next).toBe(expected);
        else expect(next).toBeGreaterThan(until);
      }),
      { numRuns: 200 },
    );
  });

  // Half an hour, an hour, forward and back, north and south.
  it.each([
    ['Europe/Berlin', '2026-03-29T01:00:00Z'],
    ['Europe/Berlin', '2026-10-25T01:00:00Z'],
    ['America/New_York', '2026-03-08T07:00:00Z'],
    ['America/New_York', '2026-11-01T06:00:00Z'],
    ['Australia/Lord_Howe', '2026-04-04T15:00:00Z'],
    ['Australia/Lord_Howe', '2026-10-03T15:30:00Z'],
    ['America/Santiago', '2026-09-06T04:00:00Z'],
  ])('in %s around %s', (name, change) => {
    const at = zone(name);
    const changeAt = Date.parse(change);
    const [before, after] = [at.offsetMs(changeAt - 1), at.offsetMs(changeAt)];
    expect(before).not.toBe(after);
    const minuteMs = 60_000;
    fc.assert(
      fc.property(
        fc.tuple(anyField(0, 59), anyField(0, 23), anyField(0, 6)),
        fc.integer({ min: -300, max: 300 }),
        ([minutes, hours, weekdays], fromMinute) => {
          const every = (least: number, most: number): OracleField => ({
            text: '*',
            allows: new Set(Array.from({ length: most - least + 1 }, (_, n) => n + least)),
          });
          const fields = [{ text: '0', allows: new Set([0]) }, minutes, hours, every(1, 31), every(1, 12), weekdays];
          const text = fields.map((field) => field.text).join(' ');
          const isHourly = hours.allows.size === 24;
          const due = new Set<number>();
          for (let minute = -8 * 60; minute <= 8 * 60; minute += 1) {
            const instant = changeAt + minute * minuteMs;
            const isFirstPass = after < before && instant >= changeAt - (before - after) && instant < changeAt;
            const local = instant + (instant < changeAt ? before : after);
            if (allows(fields, local) && (isHourly || !isFirstPass)) due.add(instant);
            const isShifted = instant >= changeAt && instant < changeAt + (after - before);
            if (!isHourly && isShifted && allows(fields, instant + before)) due.add(instant);
          }
          const from = changeAt + fromMinute * minuteMs;
          const expected = [...due].toSorted((a, b) => a - b).find((instant) => instant > from);
          const next = schedule(text, at).next(from) ?? Number.POSITIVE_INFINITY;
          if (expected === undefined) expect(next).toBeGreaterThan(changeAt + 8 * 60 * minuteMs);
          else expect(new Date(next).toISOString()).toBe(new Date(expected).toISOString());
        },
      ),
      { numRuns: 60 },
    );
  });
});
