import { describe, expect, it } from 'vitest';
import { findTimeZone, nextTransition, toLocalIso } from './time-zone.js';
import { ianaZoneOf } from './windows-zones.js';

const hours = (offsetMs: number | undefined): number => (offsetMs ?? Number.NaN) / 3_600_000;
const winter = Date.parse('2026-01-15T12:00:00Z');
const summer = Date.parse('2026-07-15T12:00:00Z');

describe('a time zone', () => {
  it.each([
    ['UTC', 0, 0],
    ['Europe/Berlin', 1, 2],
    ['America/New_York', -5, -4],
    ['Asia/Kolkata', 5.5, 5.5],
    ['Australia/Lord_Howe', 11, 10.5],
    [':America/New_York', -5, -4],
    ['W. Europe Standard Time', 1, 2],
    ['eastern standard time', -5, -4],
    ['UTC-11', -11, -11],
    ['Dateline Standard Time', -12, -12],
  ])('%s', (name, inWinter, inSummer) => {
    const zone = findTimeZone(name);
    expect([hours(zone?.offsetMs(winter)), hours(zone?.offsetMs(summer))]).toEqual([inWinter, inSummer]);
  });

  it('is unknown under a name that no zone has', () => {
    expect(findTimeZone('Mars/Olympus_Mons')).toBeUndefined();
    expect(findTimeZone('Middle-earth Standard Time')).toBeUndefined();
  });

  it('has names of Windows too', () => {
    for (const name of ['Romance Standard Time', 'Yukon Standard Time', 'Qyzylorda Standard Time'])
      expect(findTimeZone(ianaZoneOf(name) ?? 'none')).toBeDefined();
  });

  it('finds where its offset changes', () => {
    const berlin = findTimeZone('Europe/Berlin');
    if (!berlin) return expect.unreachable();
    const from = Date.parse('2026-01-01T00:00:00Z');
    expect(nextTransition(berlin, from, from + 366 * 86_400_000)).toBe(Date.parse('2026-03-29T01:00:00Z'));
    expect(nextTransition(berlin, from, from + 86_400_000)).toBeUndefined();
  });

  it('shows local times with their offset', () => {
    const [berlin, newYork, kathmandu, utc] = ['Europe/Berlin', 'America/New_York', 'Asia/Kathmandu', 'UTC'].map(
      findTimeZone,
    );
    if (!berlin || !newYork || !kathmandu || !utc) return expect.unreachable();
    expect(toLocalIso(Date.parse('2026-03-29T01:30:00Z'), berlin)).toBe('2026-03-29T03:30:00+02:00');
    expect(toLocalIso(Date.parse('2026-01-01T03:00:00.25Z'), newYork)).toBe('2025-12-31T22:00:00.250-05:00');
    expect(toLocalIso(winter, kathmandu)).toBe('2026-01-15T17:45:00+05:45');
    expect(toLocalIso(winter, utc)).toBe('2026-01-15T12:00:00+00:00');
  });
});
