import { describe, expect, it } from 'vitest';
import type { BlobVersion } from './blob-container.js';
import { ScanSchedule } from './scan-schedule.js';

const version: BlobVersion = { name: 'a', etag: '"1"', modifiedAt: 0, type: 'BlockBlob' };
const schedule = () => new ScanSchedule(10_000, { fraction: () => 0.5 });
const idle = { found: 0, listingMs: 1 };

describe('the schedule of scans', () => {
  it('begins at once, and waits longer while nothing is new', () => {
    const scans = schedule();
    expect(scans.isSweepDue(0)).toBe(true);
    const waits = Array.from({ length: 10 }, () => {
      scans.beginSweep();
      scans.endSweep(idle, 0);
      return scans.waitMs(0);
    });
    expect(waits[0]).toBe(100);
    expect(waits.at(-1)).toBe(10_000);
    expect(waits).toEqual(waits.toSorted((one, other) => one - other));
    scans.endSweep({ found: 1, listingMs: 1 }, 0);
    expect(scans.waitMs(0)).toBe(100);
  });

  it('scans at once when it is woken, also if that was during a scan', () => {
    const scans = schedule();
    scans.endSweep(idle, 0);
    scans.wake();
    expect(scans.isSweepDue(0)).toBe(true);
    scans.beginSweep();
    scans.wake();
    scans.endSweep(idle, 50);
    expect(scans.isSweepDue(50)).toBe(true);
    scans.beginSweep();
    scans.endSweep(idle, 50);
    expect(scans.isSweepDue(50)).toBe(false);
  });

  it('rests after long listings, also when it is woken', () => {
    const scans = schedule();
    scans.endSweep({ found: 1, listingMs: 2_000 }, 1_000);
    scans.wake();
    expect([scans.isSweepDue(8_999), scans.isSweepDue(9_000)]).toEqual([false, true]);
    scans.endSweep({ found: 1, listingMs: 1e9 }, 0);
    expect(scans.waitMs(0)).toBe(60_000);
  });

  it('hands over what was written once, and lists when that is too much to remember', () => {
    const scans = schedule();
    scans.endSweep(idle, 0);
    scans.write(version);
    expect(scans.isSweepDue(0)).toBe(false);
    expect([scans.takeWritten(), scans.takeWritten()]).toEqual([[version], []]);
    for (let n = 0; n < 1_001; n += 1) scans.write(version);
    expect(scans.isSweepDue(0)).toBe(true);
    expect(scans.takeWritten()).toHaveLength(1_000);
  });

  it('scans after a failure', () => {
    const scans = schedule();
    scans.endSweep(idle, 0);
    scans.startOver();
    expect(scans.isSweepDue(0)).toBe(true);
  });
});
