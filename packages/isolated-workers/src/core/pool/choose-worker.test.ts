import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { leastLoaded, packWorker, type PoolGrowth, type WorkerLoad } from './choose-worker.js';

const nowMs = 1_000;
function worker(changes: Partial<WorkerLoad> = {}): WorkerLoad {
  const load = changes.load ?? 0;
  return { isAvailable: true, load, wanted: load, lastUsedMs: 0, heardMs: nowMs, ...changes };
}

describe('the least loaded worker', () => {
  it('is the one that runs the fewest requests', () => {
    const [three, one, two] = [worker({ load: 3 }), worker({ load: 1 }), worker({ load: 2 })];
    expect(leastLoaded([three, one, two], 8)).toBe(one);
  });

  it('is none when all are full or unavailable', () => {
    expect(leastLoaded([worker({ load: 2 }), worker({ isAvailable: false })], 2)).toBeUndefined();
    expect(leastLoaded([], 2)).toBeUndefined();
  });

  it('has room when its callers gave up, and comes after one that really runs less', () => {
    const [abandoned, free] = [worker({ load: 2, wanted: 1 }), worker({ load: 1 })];
    expect(leastLoaded([abandoned], 2)).toBe(abandoned);
    expect(leastLoaded([abandoned, free], 2)).toBe(free);
  });

  it('is among equals the one used last, so that the others can be ended', () => {
    const workers = [5, 9, 7].map((lastUsedMs) => worker({ lastUsedMs }));
    expect(leastLoaded(workers, 1)).toBe(workers[1]);
  });
});

describe('the worker of a pool that packs', () => {
  const pack = (workers: readonly WorkerLoad[], growth: PoolGrowth, ahead = 0) =>
    packWorker(workers, { limit: 4, nowMs, ahead, growth: () => growth });

  it('is the first that keeps answering, up to its limit', () => {
    const [busy, full, idle] = [worker({ load: 3 }), worker({ load: 4 }), worker({ heardMs: 0 })];
    expect(pack([busy, idle], 'possible')).toBe(busy);
    expect(pack([full, idle], 'possible')).toBe(idle);
  });

  it('is none while another worker can be started for the request', () => {
    const silent = worker({ load: 1, heardMs: nowMs - 3 });
    expect(pack([silent], 'possible')).toBeUndefined();
    expect(pack([], 'possible')).toBeUndefined();
  });

  it('is the least loaded silent one where no other can be started', () => {
    const [more, less] = [worker({ load: 3, heardMs: 0 }), worker({ load: 2, heardMs: 0 })];
    expect(pack([more, less], 'none')).toBe(less);
  });

  it('is a silent one while another starts, once the queue is as long as its load', () => {
    const silent = worker({ load: 2, heardMs: 0 });
    expect(pack([silent], 'starting', 1)).toBeUndefined();
    expect(pack([silent], 'starting', 2)).toBe(silent);
  });

  it('is never unavailable or full, and never missing where all that is left is to use one with room', () => {
    const loads = fc
      .record({
        load: fc.nat(8),
        abandoned: fc.nat(8),
        heardMs: fc.integer({ min: 990, max: 1_000 }),
        isAvailable: fc.boolean(),
      })
      .map(({ load, abandoned, ...rest }) => worker({ ...rest, load, wanted: Math.max(0, load - abandoned) }));
    const growths = fc.constantFrom<PoolGrowth>('possible', 'starting', 'none');
    const isRight = fc.property(fc.array(loads, { maxLength: 6 }), growths, fc.nat(9), (workers, growth, ahead) => {
      const usable = workers.filter(({ isAvailable, wanted }) => isAvailable && wanted < 4);
      const chosen = pack(workers, growth, ahead);
      return chosen ? usable.includes(chosen) : growth !== 'none' || usable.length === 0;
    });
    expect(fc.check(isRight).counterexample).toBeNull();
  });
});
