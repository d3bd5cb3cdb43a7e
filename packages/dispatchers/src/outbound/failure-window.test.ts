import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FailureWindow, type FailureShare } from './failure-window.js';

const share: FailureShare = { atLeast: 0.5, minCalls: 4, windowMs: 1_000 };

/** `F` failed, `.` did not; a number waits for so many milliseconds. */
function windowAfter(steps: readonly (string | number)[], startMs = 0): FailureWindow {
  const window = new FailureWindow(share);
  let now = startMs;
  for (const step of steps) {
    if (typeof step === 'number') now += step;
    else for (const outcome of step) window.add(now, outcome === 'F');
  }
  return window;
}

describe('a failure window', () => {
  it.each<[string, (string | number)[], boolean]>([
    ['nothing', [], false],
    ['too few calls', ['FFF'], false],
    ['only failures', ['FFFF'], true],
    ['just so many', ['FF..'], true],
    ['in any order', ['..FF'], true],
    ['one less', ['F...'], false],
    ['failures among many calls', ['FFF...........'], false],
    ['failures over the window', ['F', 300, 'F', 300, 'F', 300, 'F'], true],
    ['failures that came one by one, too slowly', ['F', 400, 'F', 400, 'F', 400, 'F'], false],
    ['failures whose time is over', ['FFFF', 1_000, '.'], false],
    ['failures whose time is nearly over', ['FFFF', 999, '.'], true],
    ['failures after many good calls whose time is over', ['..........', 1_000, 'FFFF'], true],
    ['failures after many good calls that still count', ['..........', 900, 'FFFF'], false],
    ['failures a long time ago', ['FFFF', 1_000_000, '...F'], false],
    ['a long rest in the middle', ['FFFF', 3_600_000, 'FFFF'], true],
    ['time that goes back', ['FF', -500, 'FF'], true],
  ])('of %s', (_, steps, isExceeded) => {
    for (const startMs of [0, 12_345_600]) expect(windowAfter(steps, startMs).isExceeded).toBe(isExceeded);
  });

  it('begins anew when told', () => {
    const window = windowAfter(['FFFF']);
    window.clear();
    expect(window.isExceeded).toBe(false);
    for (const hasFailed of [true, true, true]) window.add(0, hasFailed);
    expect(window.isExceeded).toBe(false);
    window.add(0, true);
    expect(window.isExceeded).toBe(true);
  });

  it('agrees with one that remembers every call', () => {
    const call = fc.record({ waitMs: fc.oneof(fc.nat(150), fc.nat(2_500)), hasFailed: fc.boolean() });
    fc.assert(
      fc.property(
        fc.array(call, { maxLength: 100 }),
        fc.double({ min: 0, max: 1e9, noNaN: true }),
        (calls, startMs) => {
          const window = new FailureWindow(share);
          const seen: { readonly piece: number; readonly hasFailed: boolean }[] = [];
          let now = startMs;
          for (const { waitMs, hasFailed } of calls) {
            now += waitMs;
            const piece = Math.floor(now / 100);
            seen.push({ piece, hasFailed });
            window.add(now, hasFailed);
            const counted = seen.filter((one) => one.piece > piece - 10);
            const failures = counted.filter((one) => one.hasFailed).length;
            expect(window.isExceeded).toBe(counted.length >= 4 && failures >= counted.length / 2);
          }
        },
      ),
    );
  });
});
