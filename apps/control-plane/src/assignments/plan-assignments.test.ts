import { seededRandomness } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import {
  defaultAssignmentPolicy,
  tenantPools,
  type AssignmentFacts,
  type CollectionFacts,
  type WorkerFacts,
} from './assignment-facts.js';
import { worker, zipfLoads, PlannedPool } from './planned-pool.test.fixture.js';
import { planAssignments } from './plan-assignments.js';

const collection = (id: string, facts: Partial<CollectionFacts> = {}): CollectionFacts => ({
  id,
  tenantId: 'acme',
  pool: 'default',
  replicas: 1,
  load: 10,
  ...facts,
});

const assignment = (collectionId: string, workerId: string, facts: Partial<AssignmentFacts> = {}): AssignmentFacts => ({
  collectionId,
  workerId,
  status: 'READY',
  assignedAtMs: 0,
  ...facts,
});

const plan = (
  workers: readonly WorkerFacts[],
  collections: readonly CollectionFacts[],
  assignments: readonly AssignmentFacts[] = [],
) => planAssignments({ workers, collections, assignments, nowMs: 1e9 }, defaultAssignmentPolicy);

describe('assignments of a pool', () => {
  it('are even at first, stay when a worker fails, and move a little when one joins', () => {
    const pool = new PlannedPool(12, zipfLoads(600));
    expect(pool.settle()).toBe(600);
    expect(pool.peak()).toBeLessThan(1.1);

    const forced = pool.assignments.filter(({ workerId }) => workerId === 'w3').length;
    pool.change('w3', { status: 'OFFLINE' });
    expect(pool.settle()).toBeLessThanOrEqual(forced * 1.05);
    expect(pool.peak()).toBeLessThan(1.1);

    pool.workers.push(worker('joined'));
    expect(pool.settle()).toBeLessThanOrEqual(600 / 12);
    expect(pool.peak()).toBeLessThan(1.1);
    expect(pool.low()).toBeGreaterThan(0.9);
  });

  it.each([
    { workers: 4, collections: 80, replicas: 1, spread: 0 },
    { workers: 9, collections: 200, replicas: 2, spread: 0 },
    { workers: 6, collections: 150, replicas: 2, spread: 4 },
    { workers: 12, collections: 400, replicas: 1, spread: 4 },
  ])('move within 5 % of the least that losses, joins, leaves and growing load need: %o', (pools) => {
    const { workers, collections, replicas, spread } = pools;
    for (const seed of [1, 2]) {
      const random = seededRandomness(seed);
      const loads = Array.from({ length: collections }, () => 10 * (1 + spread * random.fraction()));
      const pool = new PlannedPool(workers, loads, replicas);
      pool.settle();
      const settleWithin = (forced: number): void => {
        // Whole moves: each worker that is out of balance may cost one more.
        const { moves, out } = pool.leastMoves();
        const most = Math.max(forced, moves) * 1.05 + (forced > 0 ? 0 : out);
        expect(pool.settle()).toBeLessThanOrEqual(most);
        expect(pool.leastMoves().out).toBe(0);
      };
      const heldBy = (id: string): number => pool.assignments.filter(({ workerId }) => workerId === id).length;
      const lost = heldBy('w1');
      pool.change('w1', { status: 'OFFLINE' });
      settleWithin(lost);
      pool.workers.push(worker('joined'));
      settleWithin(0);
      const left = heldBy('w2');
      pool.change('w2', { status: 'DRAINING' });
      settleWithin(left);
      pool.collections = pool.collections.map((one) =>
        random.fraction() < 0.2 ? { ...one, load: one.load * (1 + 3 * random.fraction()) } : one,
      );
      settleWithin(0);
    }
  });

  it('all move about once when every worker is replaced, one after the other', () => {
    const pool = new PlannedPool(12, zipfLoads(600));
    pool.settle();
    let moves = 0;
    for (const { id } of pool.workers.slice()) {
      pool.workers.push(worker(`new-${id}`));
      pool.change(id, { status: 'DRAINING' });
      moves += pool.settle();
      pool.workers = pool.workers.filter((other) => other.id !== id);
    }
    expect(moves).toBeLessThanOrEqual(600 * 1.06);
    expect(pool.peak()).toBeLessThan(1.1);
  });

  it('change with the loads only as far as the balance needs it, and then stop', () => {
    const random = seededRandomness(3);
    const pool = new PlannedPool(12, zipfLoads(600), 2);
    pool.settle();
    pool.collections = pool.collections.map((one) =>
      random.fraction() < 0.2 ? { ...one, load: one.load * (0.3 + 2 * random.fraction()) } : one,
    );
    expect(pool.settle()).toBeLessThan(60);
    expect(pool.peak()).toBeLessThan(1.1);
    expect(pool.settle()).toBe(0);
  });

  it('are the same whatever the order of the facts is', () => {
    const { workers, collections } = new PlannedPool(9, zipfLoads(100), 2);
    const sorted = (steps: readonly { collectionId: string; workerId: string }[]) =>
      steps.map(({ collectionId, workerId }) => `${collectionId} ${workerId}`).toSorted();
    const one = plan(workers, collections);
    const other = plan(workers.toReversed(), collections.toReversed());
    expect(sorted(other.assign)).toEqual(sorted(one.assign));
  });
});

describe('a plan', () => {
  it('puts replicas on different workers, and in different zones where it can', () => {
    const workers = [worker('a', { zone: 'x' }), worker('b', { zone: 'x' }), worker('c', { zone: 'y' })];
    const { assign } = plan(workers, [collection('orders', { replicas: 2 })]);
    expect(assign).toHaveLength(2);
    expect(assign.map(({ workerId }) => workerId)).toContain('c');
  });

  it('keeps to pool, capacity and tenant, and says what it could not place', () => {
    const workers = [
      worker('small', { capacity: 1 }),
      worker('other-pool', { pool: 'acme' }),
      worker('other-tenant', { tenantAffinity: 'globex' }),
      worker('starting', { status: 'STARTING' }),
    ];
    const { assign, unassigned } = plan(workers, [collection('orders', { load: 20 }), collection('items')]);
    expect(assign).toEqual([{ collectionId: 'orders', workerId: 'small' }]);
    expect(unassigned).toEqual([{ collectionId: 'items', pool: 'default', missing: 1 }]);
  });

  it('lets a draining worker serve until its replacement is READY', () => {
    const workers = [worker('old', { status: 'DRAINING' }), worker('new')];
    const old = assignment('orders', 'old');
    expect(plan(workers, [collection('orders')], [old])).toMatchObject({
      assign: [{ collectionId: 'orders', workerId: 'new', replaces: 'old' }],
      drain: [],
    });
    const pending = assignment('orders', 'new', { status: 'INITIALIZING', replaces: 'old' });
    expect(plan(workers, [collection('orders')], [old, pending])).toMatchObject({ assign: [], drain: [] });
    const ready = assignment('orders', 'new', { replaces: 'old' });
    expect(plan(workers, [collection('orders')], [old, ready])).toMatchObject({
      assign: [],
      drain: [{ collectionId: 'orders', workerId: 'old' }],
    });
  });

  it('keeps the source of a move when the target is lost before it was READY', () => {
    const facts = [assignment('orders', 'a'), assignment('orders', 'b', { status: 'PENDING', replaces: 'a' })];
    const { assign, drain, remove } = plan(
      [worker('a'), worker('b', { status: 'OFFLINE' })],
      [collection('orders')],
      facts,
    );
    expect({ assign, drain, remove }).toEqual({
      assign: [],
      drain: [],
      remove: [{ collectionId: 'orders', workerId: 'b' }],
    });
  });

  it('drains assignments of a deleted collection and replicas that are too many', () => {
    const workers = [worker('a'), worker('b')];
    const facts = [assignment('gone', 'a'), assignment('orders', 'a'), assignment('orders', 'b')];
    const { drain } = plan(workers, [collection('orders')], facts);
    expect(drain).toHaveLength(2);
    expect(drain).toContainEqual({ collectionId: 'gone', workerId: 'a' });
  });

  it('moves a collection whose tenant got another pool, and drains the old assignment afterwards', () => {
    const workers = [worker('shared'), worker('own', { pool: 'acme' })];
    const moved = collection('orders', { pool: 'acme' });
    const old = assignment('orders', 'shared');
    expect(plan(workers, [moved], [old])).toMatchObject({ assign: [{ workerId: 'own' }], drain: [] });
    expect(plan(workers, [moved], [old, assignment('orders', 'own')])).toMatchObject({
      assign: [],
      drain: [{ workerId: 'shared' }],
    });
  });

  it('gives a collection with more load than one replica should have another one', () => {
    const hot = collection('hot', { load: 1_200 });
    const { assign } = plan(
      ['a', 'b', 'c', 'd'].map((id) => worker(id)),
      [hot, collection('x'), collection('y')],
    );
    expect(assign.filter(({ collectionId }) => collectionId === 'hot')).toHaveLength(3);
  });

  it('prefers a worker that serves this tenant only, however much load it has', () => {
    const workers = [worker('shared'), worker('own', { tenantAffinity: 'acme' })];
    const busy = assignment('items', 'own');
    const { assign } = plan(workers, [collection('items', { load: 90 }), collection('orders')], [busy]);
    expect(assign).toEqual([{ collectionId: 'orders', workerId: 'own' }]);
  });

  it('does not wait for replicas on workers of other tenants, or on those that a collection was taken from', () => {
    const workers = [worker('a'), worker('b'), worker('other', { tenantAffinity: 'globex' })];
    const taken = assignment('orders', 'b', { status: 'REMOVED', isExcluded: true });
    const { assign, unassigned } = plan(workers, [collection('orders', { replicas: 3 })], [taken]);
    expect(assign).toEqual([{ collectionId: 'orders', workerId: 'a' }]);
    expect(unassigned).toEqual([]);
  });

  it('spreads the collections of a tenant, or keeps them together, where the load allows both', () => {
    const workers = [worker('a'), worker('b')];
    const others = [100, 101.5].map((load, index) => collection('xy'.charAt(index), { tenantId: 'globex', load }));
    const facts = [assignment('x', 'a'), assignment('y', 'b'), assignment('orders', 'a')];
    const collections = [...others, ...['orders', 'items'].map((id) => collection(id, { load: 1 }))];
    const placed = (locality: 'spread' | 'together') =>
      planAssignments({ workers, collections, assignments: facts, nowMs: 0 }, { ...defaultAssignmentPolicy, locality })
        .assign;
    expect(placed('spread')).toEqual([{ collectionId: 'items', workerId: 'b' }]);
    expect(placed('together')).toEqual([{ collectionId: 'items', workerId: 'a' }]);
  });

  it('leaves what OFFLINE workers have to them while no worker of the pool is READY', () => {
    const facts = [assignment('orders', 'a')];
    const lost = worker('a', { status: 'OFFLINE' });
    expect(plan([lost, worker('b', { status: 'STARTING' })], [collection('orders')], facts).remove).toEqual([]);
    expect(plan([lost, worker('b')], [collection('orders')], facts)).toMatchObject({
      assign: [{ collectionId: 'orders', workerId: 'b' }],
      remove: [{ collectionId: 'orders', workerId: 'a' }],
    });
    expect(plan([worker('a', { status: 'FAILED' })], [collection('orders')], facts).remove).toHaveLength(1);
  });

  it('leaves an assignment made by hand where it is, and drains another replica for it', () => {
    const workers = [worker('a'), worker('b')];
    const facts = [assignment('orders', 'a', { isManual: true }), assignment('orders', 'b')];
    const busy = collection('orders', { load: 50 });
    expect(plan(workers, [busy], facts).drain).toEqual([{ collectionId: 'orders', workerId: 'b' }]);
    const pool = [collection('orders', { load: 100 }), collection('items', { load: 90 })];
    const crowded = ['orders', 'items'].map((id) => assignment(id, 'a', { isManual: true }));
    expect(plan(workers, pool, crowded)).toMatchObject({ assign: [], drain: [] });
  });

  it('takes a collection from a worker by hand only once another one serves it', () => {
    const facts = [assignment('orders', 'a', { isExcluded: true })];
    expect(plan([worker('a')], [collection('orders')], facts)).toMatchObject({
      drain: [],
      unassigned: [{ collectionId: 'orders', missing: 1 }],
    });
    const workers = [worker('a'), worker('b')];
    expect(plan(workers, [collection('orders')], facts)).toMatchObject({
      assign: [{ workerId: 'b', replaces: 'a' }],
      drain: [],
    });
    const taken = [...facts, assignment('orders', 'b', { replaces: 'a' })];
    expect(plan(workers, [collection('orders')], taken).drain).toEqual([{ collectionId: 'orders', workerId: 'a' }]);
  });
});

describe('the pool of a tenant', () => {
  it('is the configured one, else that of its own workers, else the default', () => {
    const workers = [worker('a', { pool: 'blue', tenantAffinity: 'acme' }), worker('b', { pool: 'red' })];
    const poolOf = tenantPools(workers, new Map([['globex', 'red']]));
    expect(['acme', 'globex', 'initech'].map(poolOf)).toEqual(['blue', 'red', 'default']);
  });
});

describe('a worker that does not answer its orders', () => {
  const workers = [worker('gone-1', { isSilent: true }), worker('gone-2', { isSilent: true }), worker('here')];
  const pending = (workerId: string) => assignment('orders', workerId, { status: 'PENDING', assignedAtMs: 9e8 });
  const orders = collection('orders', { replicas: 2 });

  it('is no replica of what it was to prepare, and gets nothing new', () => {
    const { assign, drain, remove, unassigned } = plan(workers, [orders], [pending('gone-1'), pending('gone-2')]);
    expect(assign).toEqual([{ collectionId: 'orders', workerId: 'here' }]);
    expect([...drain, ...remove, ...unassigned]).toEqual([]);
    expect(plan(workers, [collection('items'), collection('notes')]).assign).toEqual([
      { collectionId: 'items', workerId: 'here' },
      { collectionId: 'notes', workerId: 'here' },
    ]);
  });

  it('keeps what it serves, and is not waited for by what others serve', () => {
    const served = ['gone-1', 'gone-2'].map((workerId) => assignment('orders', workerId));
    expect(plan(workers, [orders], served)).toMatchObject({ assign: [], drain: [], remove: [] });
    const old = assignment('orders', 'old');
    const leaving = [worker('old', { status: 'DRAINING' }), ...workers];
    // The only other replica may be gone: the old one serves until a worker that answers does.
    expect(plan(leaving, [collection('orders')], [old, assignment('orders', 'gone-1')]).drain).toEqual([]);
  });

  it('has one replica too many when it answers after all, and then that one goes', () => {
    const back = workers.map(({ id }) => worker(id));
    const all = ['gone-1', 'gone-2', 'here'].map((workerId) => assignment('orders', workerId));
    expect(plan(back, [orders], all).drain).toHaveLength(1);
  });
});

describe('a collection that a worker cannot prepare', () => {
  const [nowMs, second] = [1e9, 1_000];
  const failing = (workerId: string, forMs: number, facts: Partial<AssignmentFacts> = {}) =>
    assignment('orders', workerId, { status: 'INITIALIZING', failedAtMs: nowMs - forMs, ...facts });
  const failed = (workerId: string) => failing(workerId, 600 * second, { status: 'REMOVED' });
  const workers = ['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((id) => worker(id));
  const steps = (rows: readonly AssignmentFacts[], replicas = 1, of = workers) => {
    const { assign, drain, failed: lost } = plan(of, [collection('orders', { replicas })], rows);
    expect(lost).toEqual(drain);
    return { to: assign.map(({ workerId }) => workerId), from: drain.map(({ workerId }) => workerId) };
  };

  it('is tried on another worker after two seconds, and later ones after twice the time each', () => {
    expect(steps([failing('a', 1.9 * second)])).toEqual({ to: [], from: [] });
    expect(steps([failing('a', 2 * second)])).toEqual({ to: [expect.not.stringMatching('a')], from: ['a'] });
    expect(steps([failed('a'), failing('b', 3.9 * second)])).toEqual({ to: [], from: [] });
    expect(steps([failed('a'), failing('b', 4 * second)])).toEqual({
      to: [expect.stringMatching(/[c-g]/)],
      from: ['b'],
    });
    const fourth = [failed('a'), failed('b'), failed('c')];
    expect(steps([...fourth, failing('d', 15.9 * second)])).toEqual({ to: [], from: [] });
    expect(steps([...fourth, failing('d', 16 * second)])).toEqual({
      to: [expect.stringMatching(/[e-g]/)],
      from: ['d'],
    });
  });

  it('is tried on five workers at most, and stays on the last one, which goes on trying', () => {
    const four = ['a', 'b', 'c', 'd'].map(failed);
    expect(steps([...four, failing('e', 3_600 * second)])).toEqual({ to: [], from: [] });
  });

  it('stays where it is if no other worker fits', () => {
    const two = workers.slice(0, 2);
    expect(steps([failing('a', 3_600 * second)], 1, two.slice(0, 1))).toEqual({ to: [], from: [] });
    expect(steps([failed('b'), failing('a', 3_600 * second)], 1, two)).toEqual({ to: [], from: [] });
    // A worker that has failed is better than none.
    expect(steps([failed('b'), assignment('orders', 'a')], 2, two)).toEqual({ to: ['b'], from: [] });
  });

  it('takes one of two replicas along, and leaves the other one in its place', () => {
    const { to, from } = steps([assignment('orders', 'a'), failing('b', 2 * second)], 2);
    expect([to, from]).toEqual([[expect.stringMatching(/[c-g]/)], ['b']]);
  });

  it('is not moved any more: it stays where it is served', () => {
    const move = failing('b', 2 * second, { replaces: 'a', assignedAtMs: 1 });
    expect(steps([assignment('orders', 'a'), move])).toEqual({ to: [], from: ['b'] });
    const given = { ...move, status: 'DRAINING' as const };
    expect(steps([assignment('orders', 'a'), given])).toEqual({ to: [], from: [] });
  });
});
