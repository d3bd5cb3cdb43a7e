import { describe, expect, it } from 'vitest';
import { timerOptions } from './timer-options.js';

const read = (binding: unknown, settings: Record<string, string> = { TZ: 'UTC' }) =>
  timerOptions({ functionName: 'Tick', binding, settings, now: Date.UTC(2030, 0, 1) });

describe('the options of a timerTrigger', () => {
  it('have defaults', () => {
    const { runOnStartup, isMonitored, unknownKeys, zone } = read({
      name: 't',
      type: 'timerTrigger',
      direction: 'in',
      schedule: '0 0 * * * *',
    });
    expect({ runOnStartup, isMonitored, unknownKeys }).toEqual({
      runOnStartup: false,
      isMonitored: true,
      unknownKeys: [],
    });
    expect(zone.name).toBe('UTC');
  });

  it('are read in any case, and from texts', () => {
    const options = read({ Schedule: '0 0 * * * *', RUNONSTARTUP: 'True', useMonitor: 'false', extra: 1 });
    expect(options).toMatchObject({ runOnStartup: true, isMonitored: false, unknownKeys: ['extra'] });
  });

  it('turn the monitor off for more than one occurrence per minute', () => {
    expect(read({ schedule: '*/10 * * * * *', useMonitor: true }).isMonitored).toBe(false);
    expect(read({ schedule: '00:00:30' }).isMonitored).toBe(false);
    expect(read({ schedule: '0 * * * * *' }).isMonitored).toBe(true);
  });

  it('take the time zone from WEBSITE_TIME_ZONE, else TZ, else the machine', () => {
    const schedule = '0 0 3 * * *';
    expect(read({ schedule }, { WEBSITE_TIME_ZONE: 'Pacific Standard Time', TZ: 'UTC' }).zone.name).toBe(
      'America/Los_Angeles',
    );
    expect(read({ schedule }, { tz: 'Asia/Tokyo' }).zone.name).toBe('Asia/Tokyo');
    expect(read({ schedule }, {}).zone.name).toBe(Intl.DateTimeFormat().resolvedOptions().timeZone);
    expect(read({ schedule }, { WEBSITE_TIME_ZONE: 'Europe/Berlin' }).schedule.next(Date.UTC(2030, 6, 1))).toBe(
      Date.UTC(2030, 6, 1, 1),
    );
  });

  it.each([
    [{}, 'its timerTrigger needs a schedule: an NCRONTAB expression like "0 */5 * * * *" or a time span'],
    [{ schedule: 5 }, 'schedule must be an NCRONTAB expression or a time span, not 5'],
    [{ schedule: 'often' }, 'its schedule "often" has 1 fields'],
    [{ schedule: '0 0 * * * *', runOnStartup: 'yes' }, 'runOnStartup must be true or false, not "yes"'],
  ])('are refused: %j', (binding, problem) => {
    expect(() => read(binding)).toThrow(problem);
  });

  it('are refused with a time zone that does not exist, by the name of the setting', () => {
    expect(() => read({ schedule: '0 0 * * * *' }, { WEBSITE_TIME_ZONE: 'Nowhere' })).toThrow(
      'the setting WEBSITE_TIME_ZONE names no time zone: "Nowhere"',
    );
  });
});
