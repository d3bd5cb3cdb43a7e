import { describe, expect, it } from 'vitest';
import { dueRuns } from './due-runs.js';

const at = (time: string): number => Date.parse(`2030-05-01T${time}Z`);
const shown = (times: readonly number[]): string[] => times.map((time) => new Date(time).toISOString().slice(11, 19));
const hourly = { cron: '0 * * * *' };

describe('the runs of a schedule', () => {
  it('are none before the first is due', () => {
    expect(dueRuns(hourly, at('10:00:00'), at('10:59:59'))).toEqual({ runs: [], nextAt: at('11:00:00') });
  });

  it('start once when they are due', () => {
    expect(dueRuns(hourly, at('10:00:00'), at('11:00:00'))).toEqual({
      runs: [at('11:00:00')],
      nextAt: at('12:00:00'),
    });
    expect(dueRuns(hourly, at('11:00:00'), at('11:00:00')).runs).toEqual([]);
  });

  it.each([
    ['once', ['14:00:00']],
    ['skip', []],
    ['all', ['11:00:00', '12:00:00', '13:00:00', '14:00:00']],
  ] as const)('that were missed: %s', (missed, expected) => {
    const { runs, nextAt } = dueRuns({ ...hourly, missed }, at('10:30:00'), at('14:30:00'));
    expect([shown(runs), nextAt]).toEqual([expected, at('15:00:00')]);
  });

  it('that are a moment late were not missed', () => {
    expect(shown(dueRuns({ ...hourly, missed: 'skip' }, at('10:30:00'), at('11:00:59')).runs)).toEqual(['11:00:00']);
  });

  it('are bounded after a long time, and found at once', () => {
    const year = 365 * 86_400_000;
    const all = dueRuns({ cron: '* * * * *', missed: 'all' }, at('10:00:00') - year, at('10:00:00'));
    expect([all.runs.length, all.runs.at(-1)]).toEqual([100, at('10:00:00')]);
    expect(dueRuns({ cron: '0 0 1 1 *' }, at('10:00:00') - 3 * year, at('10:00:00')).runs).toEqual([
      Date.parse('2030-01-01T00:00:00Z'),
    ]);
  });

  it('are none while the schedule is disabled', () => {
    expect(dueRuns({ ...hourly, enabled: false }, at('10:00:00'), at('14:00:00'))).toEqual({ runs: [] });
  });
});
