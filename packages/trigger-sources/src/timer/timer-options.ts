import { triggerOptionsInvalid } from '../errors.js';
import { commonBindingKeys, readByRules, type OptionRule } from '../options/option-rules.js';
import { isMoreOftenThanMinutely, parseSchedule, type Schedule } from './schedule.js';
import { findTimeZone, type TimeZone } from './time-zone.js';

export interface TimerOptions {
  readonly schedule: Schedule;
  readonly zone: TimeZone;
  readonly runOnStartup: boolean;
  /** Whether the status is stored, so that a missed occurrence runs late. */
  readonly isMonitored: boolean;
  readonly unknownKeys: readonly string[];
}

interface TimerOptionsRequest {
  readonly functionName: string;
  readonly binding: unknown;
  readonly settings: Readonly<Record<string, string | undefined>>;
  readonly now: number;
}

const flag: OptionRule<boolean> = {
  allowed: 'true or false',
  read(value) {
    const folded = typeof value === 'string' ? value.trim().toLowerCase() : value;
    if (folded === true || folded === 'true') return true;
    return folded === false || folded === 'false' ? false : undefined;
  },
};
const scheduleText: OptionRule<string> = {
  allowed: 'an NCRONTAB expression or a time span',
  read: (value) => (typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined),
};
const rules = { schedule: scheduleText, runOnStartup: flag, useMonitor: flag };

/** Settings that name the time zone, the first takes precedence. Names of settings are case-insensitive. */
const zoneSettings = ['WEBSITE_TIME_ZONE', 'TZ'];

/** Returns the options of a timerTrigger. Throws TRIGGER_OPTIONS_INVALID with all problems. */
export function timerOptions({ functionName, binding, settings, now }: TimerOptionsRequest): TimerOptions {
  const { values, problems, unknownKeys } = readByRules(rules, binding);
  const found = problems.map(({ key, problem }) => `its timerTrigger${key === '' ? '' : `: ${key}`} ${problem}`);
  if (values.schedule === undefined && found.length === 0)
    found.push('its timerTrigger needs a schedule: an NCRONTAB expression like "0 */5 * * * *" or a time span');
  const zone = zoneOf(settings);
  if ('problem' in zone) found.push(zone.problem);
  const parsed =
    'zone' in zone && values.schedule !== undefined ? parseSchedule(values.schedule, zone.zone) : undefined;
  if (parsed && 'problem' in parsed) found.push(`its schedule "${values.schedule}" ${parsed.problem}`);
  if (found.length > 0 || !parsed || !('schedule' in parsed) || !('zone' in zone))
    throw triggerOptionsInvalid({ functionName, problems: found });
  const { schedule } = parsed;
  return {
    schedule,
    zone: zone.zone,
    runOnStartup: values.runOnStartup ?? false,
    // As in the official host: a status per second would be more work than the function.
    isMonitored: (values.useMonitor ?? true) && !isMoreOftenThanMinutely(schedule, now),
    unknownKeys: unknownKeys.filter((key) => !commonBindingKeys.has(key.toLowerCase())),
  };
}

/** Returns the settings that name a time zone, which are all that a schedule needs of them. */
export function zoneSettingsOf(settings: TimerOptionsRequest['settings']): TimerOptionsRequest['settings'] {
  return Object.fromEntries(Object.entries(settings).filter(([name]) => zoneSettings.includes(name.toUpperCase())));
}

function zoneOf(settings: TimerOptionsRequest['settings']): { readonly zone: TimeZone } | { readonly problem: string } {
  const folded = new Map(Object.entries(settings).map(([name, value]) => [name.toUpperCase(), value?.trim()]));
  for (const setting of zoneSettings) {
    const name = folded.get(setting);
    if (!name) continue;
    const zone = findTimeZone(name);
    return zone
      ? { zone }
      : { problem: `the setting ${setting} names no time zone: "${name}". Set it to a name like "Europe/Berlin"` };
  }
  const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
  return { zone: findTimeZone(own) ?? utc };
}

/** Where the machine has no time zone that Node knows. */
const utc: TimeZone = { name: 'UTC', offsetMs: () => 0 };
