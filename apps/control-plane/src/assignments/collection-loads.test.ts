import { describe, expect, it } from 'vitest';
import type { AssignmentStep } from './assignment-facts.js';
import { collectionLoads, inheritedLoads } from './collection-loads.js';

type LoadRow = Parameters<typeof collectionLoads>[0][number];

const row = (workerId: string, load: number, facts: Partial<LoadRow> = {}) => ({
  collection_id: 'orders',
  worker_id: workerId,
  status: 'READY' as const,
  replaces: null,
  load,
  assigned_at: new Date(0),
  ...facts,
});
const step = (workerId: string, replaces?: string): AssignmentStep & { readonly replaces?: string } => ({
  collectionId: 'orders',
  workerId,
  ...(replaces !== undefined && { replaces }),
});

describe('the load of a collection', () => {
  it('is that of its replicas, and does not change while one of them moves', () => {
    const loadOf = (rows: Parameters<typeof collectionLoads>[0]) => collectionLoads(rows).get('orders');
    expect(loadOf([row('a', 40), row('b', 20)])).toBe(60);
    expect(loadOf([row('a', 40), row('b', 20), row('c', 40, { status: 'PENDING', replaces: 'a' })])).toBe(60);
    expect(loadOf([row('a', 40, { status: 'DRAINING' }), row('b', 20), row('c', 40, { replaces: 'a' })])).toBe(60);
    // The move from a to c has ended before the collection came back to a.
    expect(loadOf([row('a', 40, { assigned_at: new Date(1) }), row('c', 20, { replaces: 'a' })])).toBe(60);
  });

  it('is inherited by assignments that replace another one, or one of a lost worker', () => {
    const rows = [row('a', 40), row('b', 20)];
    const plan = { assign: [step('c', 'a'), step('d')], drain: [], remove: [step('b')], failed: [], unassigned: [] };
    expect(plan.assign.map(inheritedLoads(plan, rows))).toEqual([40, 20]);
    const more = { ...plan, assign: [step('d')], remove: [] };
    expect(more.assign.map(inheritedLoads(more, rows))).toEqual([0]);
  });
});
