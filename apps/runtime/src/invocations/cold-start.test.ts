import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { describeColdStart, explainWait, isColdStart } from './cold-start.js';

const none = { queued: 0, decided: 0, process: 0, connect: 0, reload: 0, load: 0, run: 0 };

describe('the time of a call that waited', () => {
  it('for a placeholder is that of the decision, the reload and the load', () => {
    const placeholder = { announcedMs: 5, connectedMs: 40, initializedMs: 60, assignedMs: 1_004, reloadedMs: 1_010 };
    const steps = explainWait(
      { arrivedMs: 1_000, chosenMs: 1_020.5, endedMs: 1_022 },
      { ...placeholder, readyMs: 1_020 },
    );
    expect(steps).toEqual({ ...none, decided: 4, reload: 6, load: 10, queued: 0.5, run: 1.5 });
    expect(isColdStart(steps)).toBe(true);
    expect(describeColdStart(steps)).toBe('queued 0.5, decided 4, process 0, connect 0, reload 6, load 10, run 1.5');
  });

  it('without a placeholder is that of the process, its connection and the load', () => {
    const started = { announcedMs: 103, connectedMs: 150, initializedMs: 155, readyMs: 170 };
    expect(explainWait({ arrivedMs: 100, chosenMs: 170, endedMs: 175 }, started)).toEqual({
      ...none,
      decided: 3,
      process: 47,
      connect: 5,
      load: 15,
      run: 5,
    });
  });

  it('counts only what was left of a start that had begun before the call', () => {
    const started = { announcedMs: 0, connectedMs: 50, initializedMs: 60, readyMs: 90 };
    expect(explainWait({ arrivedMs: 70, chosenMs: 90, endedMs: 91 }, started)).toEqual({ ...none, load: 20, run: 1 });
  });

  it('for a free slot only is that of the queue: no cold start', () => {
    const ready = { announcedMs: 0, connectedMs: 50, initializedMs: 60, readyMs: 90 };
    const steps = explainWait({ arrivedMs: 500, chosenMs: 530, endedMs: 540 }, ready);
    expect(steps).toEqual({ ...none, queued: 30, run: 10 });
    expect(isColdStart(steps)).toBe(false);
  });

  it('adds up to the whole, whenever the call came and however the worker was started', () => {
    const gap = fc.integer({ min: 0, max: 100 });
    fc.assert(
      fc.property(fc.array(gap, { minLength: 8, maxLength: 8 }), fc.boolean(), (gaps, isPlaceholder) => {
        let nowMs = 0;
        const [announcedMs = 0, connectedMs = 0, initializedMs = 0, assignedMs = 0, reloadedMs = 0, readyMs = 0] =
          gaps.map((ms) => (nowMs += ms));
        const start = isPlaceholder
          ? { announcedMs, connectedMs, initializedMs, assignedMs, reloadedMs, readyMs }
          : { announcedMs, connectedMs, initializedMs, readyMs };
        for (let arrivedMs = 0; arrivedMs <= readyMs; arrivedMs += 17) {
          const steps = explainWait({ arrivedMs, chosenMs: readyMs + 1, endedMs: readyMs + 8 }, start);
          const sum = Object.values(steps).reduce((total, ms) => total + ms, 0);
          expect(sum).toBeCloseTo(readyMs + 8 - arrivedMs, 5);
          for (const ms of Object.values(steps)) expect(ms).toBeGreaterThanOrEqual(0);
        }
      }),
    );
  });
});
