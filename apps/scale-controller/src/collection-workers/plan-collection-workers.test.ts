import { describe, expect, it } from 'vitest';
import type {
  CollectionFleetAction,
  CollectionFleetFacts,
  CollectionFleetPolicy,
  CollectionFleetState,
  RegisteredWorker,
  WorkerInstance,
} from './collection-fleet-types.js';
import { planCollectionWorkers, startedWorkerPrefix } from './plan-collection-workers.js';

const policy: CollectionFleetPolicy = {
  maxWorkers: 6,
  permanentWorkers: 2,
  capacity: 2,
  targetCpu: 700,
  busyMs: 10_000,
  idleMs: 60_000,
};
const own = (name: string): string => `${startedWorkerPrefix}${name}`;
const worker = (workerId: string, given: Partial<RegisteredWorker> = {}): RegisteredWorker => ({
  workerId,
  pool: 'default',
  status: 'READY',
  capacity: 2,
  assigned: 2,
  cpu: 0,
  ...given,
});
const instance = (workerId: string, given: Partial<WorkerInstance> = {}): WorkerInstance => ({
  workerId,
  pool: 'default',
  state: 'running',
  hasFailed: false,
  ...given,
});
const permanent = [worker('collection-worker-1'), worker('collection-worker-2')];
const began: CollectionFleetState = { beganMs: 0, since: new Map() };

/** Plans again and again with the same facts, a second apart, until there is something to do; returns when and what. */
function firstActions(
  given: Partial<CollectionFleetFacts>,
  settings = policy,
  seconds = 120,
): { readonly atMs: number; readonly actions: readonly CollectionFleetAction[] } | undefined {
  const facts = { workers: permanent, pools: [], instances: [], mayStart: true, ...given };
  let state = began;
  for (let nowMs = 0; nowMs <= seconds * 1_000; nowMs += 1_000) {
    const plan = planCollectionWorkers(state, { ...facts, nowMs }, settings);
    ({ state } = plan);
    if (plan.actions.length > 0) return { atMs: nowMs, actions: plan.actions };
  }
  return undefined;
}
const lacking = (missing: number, collections = 4) => [{ pool: 'default', missing, collections }];

describe('for replicas that no worker has room for', () => {
  it('starts as many workers as they fill', () => {
    expect(firstActions({ pools: lacking(3) })).toEqual({
      atMs: 0,
      actions: [{ kind: 'start', pool: 'default', count: 2, cause: 'room' }],
    });
  });

  it('counts workers that are coming, starting or still empty', () => {
    const [coming, starting, empty] = [own('a'), own('b'), own('c')];
    const workers = [
      ...permanent,
      worker(starting, { status: 'STARTING', assigned: 0 }),
      worker(empty, { assigned: 0 }),
    ];
    const instances = [instance(coming, { state: 'starting' }), instance(starting), instance(empty)];
    expect(firstActions({ workers, instances, pools: lacking(6) }, policy, 10)).toBeUndefined();
    expect(firstActions({ workers, instances, pools: lacking(7) }, policy, 10)?.actions).toEqual([
      { kind: 'start', pool: 'default', count: 1, cause: 'room' },
    ]);
  });

  it('does not count room that the control plane could not use', () => {
    // Each of the missing replicas has its other one on this worker.
    const workers = [worker('collection-worker-1', { capacity: 9, assigned: 3 }), worker('collection-worker-2')];
    expect(firstActions({ workers, pools: lacking(1, 3) })?.actions).toMatchObject([{ kind: 'start', count: 1 }]);
  });

  it('starts no more than the bound of all pools together; workers that others run count, registered or not', () => {
    const pools = [...lacking(100), { pool: 'acme', missing: 3, collections: 0 }];
    expect(firstActions({ pools })?.actions).toEqual([
      { kind: 'start', pool: 'acme', count: 2, cause: 'room' },
      { kind: 'start', pool: 'default', count: 2, cause: 'room' },
    ]);
    expect(firstActions({ pools: lacking(100), workers: [] })).toMatchObject({ actions: [{ count: 4 }] });
    expect(firstActions({ pools: lacking(100) }, { ...policy, maxWorkers: 2 })).toBeUndefined();
    expect(firstActions({ pools: lacking(100) }, { ...policy, maxWorkers: 0 })).toBeUndefined();
  });

  it('waits after a start for the workers that others run', () => {
    expect(firstActions({ workers: [], pools: lacking(1) })?.atMs).toBe(10_000);
    expect(firstActions({ workers: permanent, pools: lacking(1) })?.atMs).toBe(0);
  });

  it('starts none while starts are delayed after failures', () => {
    expect(firstActions({ pools: lacking(1), mayStart: false })).toBeUndefined();
  });

  it('starts another one although a worker that drains still runs at the bound: its collections need a place', () => {
    const workers = [...permanent, worker(own('a'), { status: 'DRAINING' })];
    const settings = { ...policy, maxWorkers: 3 };
    expect(firstActions({ workers, instances: [instance(own('a'))], pools: lacking(2) }, settings)?.actions).toEqual([
      { kind: 'start', pool: 'default', count: 1, cause: 'room' },
    ]);
  });
});

describe('under load', () => {
  const busy = permanent.map((one) => ({ ...one, cpu: 950 }));

  it('starts workers when the mean of a pool stays above the target', () => {
    expect(firstActions({ workers: busy })).toEqual({
      atMs: 10_000,
      actions: [{ kind: 'start', pool: 'default', count: 1, cause: 'load' }],
    });
  });

  it('starts no more while the new ones take over their part', () => {
    const instances = [instance(own('a'))];
    expect(firstActions({ workers: busy, instances }, policy, 50)).toBeUndefined();
    expect(
      firstActions({ workers: [...busy, worker(own('a'), { assigned: 0 })], instances }, policy, 200),
    ).toBeUndefined();
  });

  it('ignores a short peak', () => {
    let state = began;
    for (let nowMs = 0; nowMs < 60_000; nowMs += 1_000) {
      const workers = nowMs % 9_000 < 8_000 ? busy : permanent;
      const plan = planCollectionWorkers(state, { nowMs, workers, pools: [], instances: [], mayStart: true }, policy);
      expect(plan.actions).toEqual([]);
      ({ state } = plan);
    }
  });
});

describe('a worker that its pool can do without', () => {
  const idle = worker(own('a'), { assigned: 0 });
  const instances = [instance(own('a'))];
  const spare = { workers: [...permanent, idle], instances };

  it('is drained after the idle time', () => {
    expect(firstActions({ ...spare, pools: lacking(0) })).toEqual({
      atMs: 60_000,
      actions: [{ kind: 'drain', workerId: own('a'), cause: 'idle' }],
    });
  });

  it.each<[string, Partial<CollectionFleetFacts>]>([
    ['replicas are missing', { pools: lacking(1) }],
    ['the others have no room for what it has', { workers: [...permanent, worker(own('a'), { assigned: 1 })] }],
    [
      'the others have no room for two replicas of each collection on different workers',
      {
        workers: [
          worker('collection-worker-1', { capacity: 9, assigned: 3 }),
          worker('collection-worker-2', { capacity: 2, assigned: 2 }),
          worker(own('a'), { assigned: 1 }),
        ],
        pools: lacking(0, 3),
      },
    ],
    ['the others would have much load', { workers: [...permanent.map((one) => ({ ...one, cpu: 400 })), idle] }],
    [
      'another one of the pool drains',
      {
        workers: [...permanent, idle, worker(own('b'), { status: 'DRAINING' })],
        instances: [...instances, instance(own('b'))],
      },
    ],
    ['another one of the pool starts', { workers: [...permanent, idle, worker('b', { status: 'STARTING' })] }],
    ['no other one serves', { workers: [idle] }],
  ])('stays while %s', (_, given) => {
    const pools = lacking(0);
    expect(firstActions({ ...spare, pools, ...given }, { ...policy, maxWorkers: 3 })).toBeUndefined();
  });

  it('does not wait for the heartbeats of another one whose process has ended', () => {
    const workers = [...permanent, idle, worker(own('b'), { status: 'DRAINING', assigned: 2 })];
    expect(firstActions({ workers, instances, pools: lacking(0) })?.atMs).toBe(60_000);
  });

  it('may be the last one of a pool without collections', () => {
    const settings = { ...policy, permanentWorkers: 0 };
    expect(firstActions({ workers: [idle], instances, pools: lacking(0, 0) }, settings)?.atMs).toBe(60_000);
  });

  it('may have replicas that only exist because it does', () => {
    const workers = [worker('one', { capacity: 50, assigned: 5 }), worker(own('a'), { capacity: 50, assigned: 5 })];
    expect(firstActions({ workers, instances, pools: lacking(0, 5) })?.actions).toMatchObject([{ kind: 'drain' }]);
  });

  it('is the one with the fewest collections, and never one that others run', () => {
    const workers = [
      worker('empty', { assigned: 0, capacity: 50 }),
      worker(own('a'), { assigned: 2 }),
      worker(own('b'), { assigned: 1 }),
    ];
    const both = [instance(own('a')), instance(own('b'))];
    expect(firstActions({ workers, instances: both, pools: lacking(0) })?.actions).toEqual([
      { kind: 'drain', workerId: own('b'), cause: 'idle' },
    ]);
    expect(firstActions({ workers: [worker('x', { assigned: 0 }), worker('y', { assigned: 0 })] })).toBeUndefined();
  });
});

describe('a process that the scale controller has started', () => {
  const alone = (row: Partial<RegisteredWorker> | undefined, given: Partial<WorkerInstance> = {}) =>
    firstActions({
      workers: [...permanent, ...(row ? [worker(own('a'), row)] : [])],
      instances: [instance(own('a'), given)],
    });

  it('is ended when it has drained, a moment later', () => {
    expect(alone({ status: 'DRAINING', assigned: 1 })).toBeUndefined();
    expect(alone({ status: 'DRAINING', assigned: 0 })).toEqual({
      atMs: 1_000,
      actions: [{ kind: 'end', workerId: own('a'), cause: 'drained' }],
    });
    expect(alone({ status: 'DRAINING', assigned: 0 }, { state: 'ending' })).toBeUndefined();
  });

  it('is ended when it does not register, or does not come back', () => {
    expect(alone(undefined)).toMatchObject({ atMs: 60_000, actions: [{ kind: 'end', cause: 'unregistered' }] });
    for (const status of ['OFFLINE', 'FAILED'] as const)
      expect(alone({ status })).toMatchObject({ atMs: 30_000, actions: [{ kind: 'end', cause: 'unfit' }] });
  });

  it('is drained at once when it has ended, and forgotten when the control plane knows', () => {
    expect(alone({ status: 'READY' }, { state: 'ended', hasFailed: true })).toMatchObject({
      atMs: 0,
      actions: [{ kind: 'drain', cause: 'gone' }],
    });
    for (const row of [{ status: 'DRAINING' }, { status: 'OFFLINE' }, undefined] as const)
      expect(alone(row, { state: 'ended', hasFailed: true })?.actions).toEqual([
        { kind: 'forget', workerId: own('a'), hasFailed: true },
      ]);
  });

  it('counts for nothing when it has ended', () => {
    const workers = [...permanent, worker(own('a'), { assigned: 0 })];
    const instances = [instance(own('a'), { state: 'ended', hasFailed: true })];
    expect(firstActions({ workers, instances, pools: lacking(2) }, { ...policy, maxWorkers: 3 })?.actions).toEqual([
      { kind: 'drain', workerId: own('a'), cause: 'gone' },
      { kind: 'start', pool: 'default', count: 1, cause: 'room' },
    ]);
  });

  it('is drained when a new leader finds its row without its process; those of others are not', () => {
    const workers = [...permanent, worker(own('gone')), worker('collection-worker-3')];
    expect(firstActions({ workers })?.actions).toEqual([{ kind: 'drain', workerId: own('gone'), cause: 'gone' }]);
  });
});
