import type { WorkerAssignment } from '@drover/contracts';
import { describe, expect, it } from 'vitest';
import { AssignedCollections } from './assigned-collections.js';

const order = (generation: number, status: WorkerAssignment['status'] = 'PENDING'): WorkerAssignment => ({
  collectionId: 'orders',
  tenantId: 'acme',
  collection: 'orders',
  status,
  generation,
});
const interval = { cpu: 100, sinceMs: 1_000 };
const statusOf = (assigned: AssignedCollections, nowMs = 0) => assigned.report(nowMs, interval)[0]?.status;

describe('AssignedCollections', () => {
  it('prepares what is new, once, and serves it when it is prepared', () => {
    const assigned = new AssignedCollections();
    expect(assigned.apply([order(1)], 0)).toHaveLength(1);
    expect(assigned.apply([order(1)], 0)).toHaveLength(0);
    expect(assigned.serves('orders')).toBe(false);
    assigned.failed(order(1), 'PostgreSQL is away');
    expect(assigned.report(0, interval)).toMatchObject([{ status: 'INITIALIZING', problem: 'PostgreSQL is away' }]);
    assigned.prepared(order(1));
    expect(assigned.serves('orders')).toBe(true);
    expect(assigned.report(0, interval)[0]).not.toHaveProperty('problem');
  });

  it('serves while it drains, and gives up when no request has come for a while', () => {
    const assigned = new AssignedCollections();
    assigned.apply([order(1)], 0);
    assigned.prepared(order(1));
    assigned.begin('orders', 1_000);
    assigned.apply([order(1, 'DRAINING')], 1_000);
    expect([assigned.serves('orders'), statusOf(assigned, 60_000)]).toEqual([true, 'DRAINING']);
    assigned.end('orders', { nowMs: 60_000, tookMs: 59_000, isError: false });
    expect(statusOf(assigned, 61_000)).toBe('DRAINING');
    expect(statusOf(assigned, 65_000)).toBe('REMOVED');
    expect([assigned.serves('orders'), assigned.isEmpty]).toEqual([false, true]);
  });

  it('ignores what belongs to an earlier assignment', () => {
    const assigned = new AssignedCollections();
    assigned.apply([order(1)], 0);
    expect(assigned.apply([order(2)], 0)).toEqual([order(2)]);
    assigned.prepared(order(1));
    expect(assigned.serves('orders')).toBe(false);
  });

  it('drops what the orders do not have any more, and reports at once that it has nothing of what it is to give up', () => {
    const assigned = new AssignedCollections();
    assigned.apply([order(1)], 0);
    assigned.prepared(order(1));
    assigned.apply([], 0);
    expect(assigned.serves('orders')).toBe(false);
    assigned.apply([order(3, 'DRAINING')], 0);
    expect(statusOf(assigned)).toBe('REMOVED');
  });

  it('distributes CPU by the time of requests, and counts anew after each report', () => {
    const assigned = new AssignedCollections();
    assigned.apply([order(1), { ...order(2), collectionId: 'items' }], 0);
    assigned.end('orders', { nowMs: 1, tookMs: 30, isError: false });
    assigned.end('items', { nowMs: 1, tookMs: 10, isError: true });
    expect(assigned.report(1, interval)).toMatchObject([
      { cpu: 75, requestRate: 1, errorRate: 0 },
      { cpu: 25, requestRate: 1, errorRate: 1 },
    ]);
    expect(assigned.report(1, interval)).toMatchObject([{ cpu: 0, requestRate: 0 }, { cpu: 0 }]);
  });
});
