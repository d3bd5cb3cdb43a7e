import { describe, expect, it } from 'vitest';
import { isTimeZone, nextRun, parseCron, type CronFields } from './cron.js';

function fieldsOf(expression: string): CronFields {
  const fields = parseCron(expression);
  if ('problem' in fields) throw new Error(fields.problem);
  return fields;
}

/** The next runs after an instant, as instants. */
function runs(expression: string, after: string, count: number, timeZone = 'UTC'): string[] {
  const fields = fieldsOf(expression);
  const found: string[] = [];
  for (let time = Date.parse(after); found.length < count; ) {
    time = nextRun(fields, timeZone, time) ?? NaN;
    found.push(new Date(time).toISOString().replace('.000Z', 'Z'));
  }
  return found;
}

describe('a cron expression', () => {
  it.each<[string, string, string[]]>([
    ['* * * * *', '2030-01-01T00:00:30Z', ['2030-01-01T00:01:00Z', '2030-01-01T00:02:00Z']],
    ['*/20 * * * *', '2030-01-01T00:20:00Z', ['2030-01-01T00:40:00Z', '2030-01-01T01:00:00Z']],
    ['5-7,50/5 9 * * *', '2030-01-01T09:06:00Z', ['2030-01-01T09:07:00Z', '2030-01-01T09:50:00Z']],
    ['0 0 31 * *', '2030-01-31T00:00:00Z', ['2030-03-31T00:00:00Z', '2030-05-31T00:00:00Z']],
    ['0 12 29 feb *', '2030-01-01T00:00:00Z', ['2032-02-29T12:00:00Z', '2036-02-29T12:00:00Z']],
    ['30 8 * * MON-FRI', '2030-01-04T09:00:00Z', ['2030-01-07T08:30:00Z', '2030-01-08T08:30:00Z']],
    ['0 0 13 * 5', '2030-09-01T00:00:00Z', ['2030-09-06T00:00:00Z', '2030-09-13T00:00:00Z']],
    ['0 0 * * 7', '2030-01-01T00:00:00Z', ['2030-01-06T00:00:00Z', '2030-01-13T00:00:00Z']],
    ['*/10 * * * * *', '2030-01-01T00:00:05Z', ['2030-01-01T00:00:10Z', '2030-01-01T00:00:20Z']],
    ['@daily', '2030-01-01T00:00:00Z', ['2030-01-02T00:00:00Z', '2030-01-03T00:00:00Z']],
  ])('%s after %s', (expression, after, expected) => {
    expect(runs(expression, after, expected.length)).toEqual(expected);
  });

  it.each([
    ['* * * *', /has 4 fields/],
    ['60 * * * *', /invalid minute: 60/],
    ['* 24 * * *', /invalid hour/],
    ['* * 0 * *', /invalid day of the month/],
    ['* * * 13 *', /invalid month/],
    ['* * * * 8', /invalid day of the week/],
    ['5-1 * * * *', /invalid minute/],
    ['*/0 * * * *', /invalid minute/],
    ['a * * * *', /invalid minute/],
    ['1,,2 * * * *', /invalid minute/],
    ['0 0 30 2 *', /a day that never comes/],
    ['', /fields/],
  ])('%s is refused', (expression, problem) => {
    expect(parseCron(expression)).toEqual({ problem: expect.stringMatching(problem) as unknown });
  });
});

describe('a schedule in a time zone', () => {
  it('follows the clocks of the zone', () => {
    expect(runs('0 9 * * *', '2030-01-01T00:00:00Z', 1, 'Asia/Kolkata')).toEqual(['2030-01-01T03:30:00Z']);
    expect(runs('0 9 * * *', '2030-03-29T12:00:00Z', 3, 'Europe/Berlin')).toEqual([
      '2030-03-30T08:00:00Z',
      '2030-03-31T07:00:00Z',
      '2030-04-01T07:00:00Z',
    ]);
  });

  it('runs a time that the clocks skip once, later on that day', () => {
    expect(runs('30 2 * * *', '2030-03-30T12:00:00Z', 2, 'Europe/Berlin')).toEqual([
      '2030-03-31T01:30:00Z',
      '2030-04-01T00:30:00Z',
    ]);
  });

  it('runs a fixed time that comes twice once, and a repeated one all through the hour', () => {
    expect(runs('30 2 * * *', '2030-10-26T12:00:00Z', 2, 'Europe/Berlin')).toEqual([
      '2030-10-27T00:30:00Z',
      '2030-10-28T01:30:00Z',
    ]);
    expect(runs('*/30 * * * *', '2030-10-27T00:00:00Z', 4, 'Europe/Berlin')).toEqual([
      '2030-10-27T00:30:00Z',
      '2030-10-27T01:00:00Z',
      '2030-10-27T01:30:00Z',
      '2030-10-27T02:00:00Z',
    ]);
  });

  it('needs a zone that exists', () => {
    expect([isTimeZone('America/New_York'), isTimeZone('UTC'), isTimeZone('Mars/Olympus')]).toEqual([
      true,
      true,
      false,
    ]);
  });
});
