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
    expect(assigned.failed(order(1), 'late')).toBeUndefined();
    expect([assigned.serves('orders'), statusOf(assigned)]).toEqual([false, 'INITIALIZING']);
  });

  it('serves every collection before the first orders: the control plane may be away', () => {
    const assigned = new AssignedCollections();
    expect(assigned.serves('orders')).toBe(true);
    assigned.apply([], 0);
    expect(assigned.serves('orders')).toBe(false);
  });

  it('serves on while it prepares for a newer assignment what it had served', () => {
    const assigned = new AssignedCollections();
    assigned.apply([order(1)], 0);
    assigned.prepared(order(1));
    expect(assigned.apply([order(2)], 0)).toHaveLength(1);
    expect([assigned.serves('orders'), statusOf(assigned), assigned.generation]).toEqual([true, 'INITIALIZING', 2]);
  });

  it('prepares again what it is to serve on after all', () => {
    const assigned = new AssignedCollections();
    assigned.apply([order(1)], 0);
    assigned.prepared(order(1));
    assigned.apply([order(1, 'DRAINING')], 0);
    const ending = assigned.endingOf('orders');
    expect([ending?.aborted, statusOf(assigned, 9_000)]).toEqual([false, 'REMOVED']);
    expect(assigned.apply([order(1, 'READY')], 9_000)).toHaveLength(1);
    assigned.prepared(order(1));
    expect(assigned.serves('orders', true)).toBe(true);
  });

  it('takes no new streams of a collection that drains, ends the others, and gives up at once what was never ready', () => {
    const assigned = new AssignedCollections();
    const items = { ...order(2), collectionId: 'items' };
    assigned.apply([order(1), items], 0);
    assigned.prepared(order(1));
    const ending = assigned.endingOf('orders');
    assigned.apply(
      [
        { ...order(1), status: 'DRAINING' },
        { ...items, status: 'DRAINING' },
      ],
      0,
    );
    expect([assigned.serves('orders'), assigned.serves('orders', true), ending?.aborted]).toEqual([true, false, true]);
    expect(assigned.report(0, interval).map(({ status }) => status)).toEqual(['DRAINING', 'REMOVED']);
  });

  it('reports again what the control plane did not get or does not know, and a collection with its new name', () => {
    const assigned = new AssignedCollections();
    assigned.apply([order(1)], 0);
    assigned.prepared(order(1));
    const reports = assigned.report(0, interval);
    expect(assigned.hasNews).toBe(false);
    assigned.unreported(reports);
    expect(assigned.hasNews).toBe(true);
    assigned.report(0, interval);
    assigned.apply([order(1, 'READY')], 0);
    expect(assigned.hasNews).toBe(false);
    assigned.apply([order(1, 'PENDING')], 0);
    expect(assigned.hasNews).toBe(true);
    const renamed = new AssignedCollections();
    renamed.apply([order(1)], 0);
    renamed.apply([{ ...order(1), collection: 'sales' }], 0);
    expect(renamed.failed(order(1), 'unknown')).toMatchObject({ collection: 'sales' });
  });

  it('reports thousands of collections in several heartbeats, what changed first', () => {
    const assigned = new AssignedCollections();
    const orders = Array.from({ length: 2_500 }, (_, index) => ({ ...order(index + 1), collectionId: `c${index}` }));
    assigned.apply(orders, 0);
    const seen = [assigned.report(0, interval), assigned.report(0, interval), assigned.report(0, interval)];
    expect(seen.map(({ length }) => length)).toEqual([1_000, 1_000, 1_000]);
    expect(new Set(seen.flat().map(({ collectionId }) => collectionId)).size).toBe(2_500);
    expect(assigned.hasNews).toBe(false);
    const [, , late] = orders;
    if (late) assigned.prepared(late);
    expect(assigned.report(0, interval)[0]).toMatchObject({ collectionId: 'c2', status: 'READY' });
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
