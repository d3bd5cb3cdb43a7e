import { describe, expect, it } from 'vitest';
import { recycleReason, workersToEnd, workersToStart } from './pool-decisions.js';

const limits = { size: 4, minIdle: 1, concurrency: 2, distribution: 'spread' as const };

describe('the number of workers to start', () => {
  it('is the number of missing warm spares while nothing waits', () => {
    expect(workersToStart({ total: 0, busy: 0, queued: 0 }, limits)).toBe(1);
    expect(workersToStart({ total: 1, busy: 0, queued: 0 }, limits)).toBe(0);
    expect(workersToStart({ total: 1, busy: 1, queued: 0 }, limits)).toBe(1);
  });

  it('is enough for what waits, as many requests for each as it may have', () => {
    expect(workersToStart({ total: 1, busy: 1, queued: 4 }, limits)).toBe(2);
    expect(workersToStart({ total: 1, busy: 1, queued: 3 }, limits)).toBe(2);
  });

  it('counts those that start already, and never goes above the size', () => {
    expect(workersToStart({ total: 3, busy: 1, queued: 4 }, limits)).toBe(0);
    expect(workersToStart({ total: 2, busy: 2, queued: 1_000 }, limits)).toBe(2);
    expect(workersToStart({ total: 4, busy: 4, queued: 1_000 }, limits)).toBe(0);
  });

  it('is one at a time where requests are packed, whatever waits', () => {
    const packed = { ...limits, minIdle: 0, distribution: 'pack' as const };
    expect(workersToStart({ total: 0, busy: 0, queued: 1_000 }, packed)).toBe(1);
    expect(workersToStart({ total: 1, busy: 0, queued: 1_000 }, packed)).toBe(0);
    expect(workersToStart({ total: 1, busy: 1, queued: 1_000 }, packed)).toBe(1);
    expect(workersToStart({ total: 1, busy: 1, queued: 0 }, packed)).toBe(0);
  });
});

describe('the workers to end', () => {
  const idle = [10, 30, 20].map((lastUsedMs) => ({ lastUsedMs }));
  const keep = { total: 3, minIdle: 0, minSize: 0, idleTimeoutMs: 50 };

  it('are those idle for too long, the oldest first, down to the warm spares', () => {
    const ended = workersToEnd(idle, { ...keep, minIdle: 1 }, 100);
    expect(ended.map(({ lastUsedMs }) => lastUsedMs)).toEqual([10, 20]);
  });

  it('leave as many workers as the pool keeps, busy ones counted', () => {
    expect(workersToEnd(idle, { ...keep, minSize: 2 }, 100)).toEqual([{ lastUsedMs: 10 }]);
    expect(workersToEnd(idle, { ...keep, minSize: 2, total: 5 }, 100)).toHaveLength(3);
  });

  it('are not those that were used just now', () => {
    expect(workersToEnd(idle, { ...keep, idleTimeoutMs: 85 }, 100)).toEqual([{ lastUsedMs: 10 }]);
  });

  it('are none when there is no limit, or not enough to spare', () => {
    expect(workersToEnd(idle, { ...keep, idleTimeoutMs: 0 }, 1_000_000)).toEqual([]);
    expect(workersToEnd(idle, { ...keep, minIdle: 3 }, 1_000_000)).toEqual([]);
  });
});

describe('the reason to replace a worker', () => {
  const mib = 1024 * 1024;
  const maximum = { maxRequests: 100, maxMemoryMb: 64 };

  it.each([
    ['none below the limits', { served: 99, rssBytes: 64 * mib }, maximum, undefined],
    ['its number of requests', { served: 100, rssBytes: undefined }, maximum, 'requests'],
    ['its memory', { served: 1, rssBytes: 64 * mib + 1 }, maximum, 'memory'],
    [
      'none for memory without a limit',
      { served: 1, rssBytes: 900 * mib },
      { ...maximum, maxMemoryMb: undefined },
      undefined,
    ],
    ['none for memory that was not measured', { served: 1, rssBytes: undefined }, maximum, undefined],
  ])('is %s', (_, worker, most, reason) => {
    expect(recycleReason(worker, most)).toBe(reason);
  });
});
