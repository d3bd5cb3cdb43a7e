import { describe, expect, it } from 'vitest';
import { workersToEnd, workersToStart } from './pool-size.js';

const limits = { size: 4, minIdle: 1, concurrency: 2 };

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
});

describe('the workers to end', () => {
  const idle = [10, 30, 20].map((lastUsedMs) => ({ load: 0, lastUsedMs }));

  it('are those idle for too long, the oldest first, down to the warm spares', () => {
    const ended = workersToEnd(idle, { minIdle: 1, idleTimeoutMs: 50 }, 100);
    expect(ended.map(({ lastUsedMs }) => lastUsedMs)).toEqual([10, 20]);
  });

  it('are not those that were used just now', () => {
    expect(workersToEnd(idle, { minIdle: 0, idleTimeoutMs: 85 }, 100)).toEqual([{ load: 0, lastUsedMs: 10 }]);
  });

  it('are none when there is no limit, or not enough to spare', () => {
    expect(workersToEnd(idle, { minIdle: 0, idleTimeoutMs: 0 }, 1_000_000)).toEqual([]);
    expect(workersToEnd(idle, { minIdle: 3, idleTimeoutMs: 1 }, 1_000_000)).toEqual([]);
  });
});
