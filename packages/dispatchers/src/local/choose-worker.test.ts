import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { chooseWorker, type WorkerSituation } from './choose-worker.js';

const nowMs = 1_000;
function worker(changes: Partial<WorkerSituation> = {}): WorkerSituation {
  return { load: 0, heardMs: nowMs, isReady: true, isRetired: false, isSuspect: false, ...changes };
}
const choose = (workers: readonly WorkerSituation[], size = 2, share = 4) =>
  chooseWorker(workers, { size, share, nowMs });

describe('the worker for a call', () => {
  it('is another one when there is none', () => {
    expect(choose([])).toBeUndefined();
    expect(choose([worker({ isRetired: true }), worker({ isSuspect: true })])).toBeUndefined();
  });

  it('is the first while it keeps answering, up to its share', () => {
    const [busy, idle] = [worker({ load: 3 }), worker()];
    expect(choose([busy, idle])).toBe(busy);
    expect(choose([worker({ load: 4 }), idle])).toBe(idle);
  });

  it('is one that is free where the first is silent', () => {
    const [silent, idle] = [worker({ load: 1, heardMs: nowMs - 3 }), worker({ heardMs: 0 })];
    expect(choose([silent, idle])).toBe(idle);
    expect(choose([silent])).toBeUndefined();
  });

  it('is the least loaded where no more may be started', () => {
    const [more, less] = [worker({ load: 9, heardMs: 0 }), worker({ load: 8, heardMs: 0 })];
    expect(choose([more, less])).toBe(less);
  });

  it('is not yet another one while one is being started', () => {
    const [silent, starting] = [worker({ load: 2, heardMs: 0 }), worker({ load: 1, isReady: false })];
    expect(choose([silent, starting], 8)).toBe(starting);
    expect(choose([worker({ load: 1, heardMs: 0 }), starting], 8)).not.toBe(starting);
  });

  it('never is one that must not be used, and another one only while there are too few', () => {
    const situations = fc.record({
      load: fc.nat(20),
      heardMs: fc.integer({ min: nowMs - 10, max: nowMs }),
      isReady: fc.boolean(),
      isRetired: fc.boolean(),
      isSuspect: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(situations, { maxLength: 6 }), fc.integer({ min: 1, max: 4 }), (workers, size) => {
        const usable = workers.filter(({ isRetired, isSuspect }) => !isRetired && !isSuspect);
        const chosen = choose(workers, size);
        if (chosen) expect(usable).toContain(chosen);
        else expect(usable.length).toBeLessThan(size);
      }),
    );
  });
});
