import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { CollectionFleetPolicy, CollectionFleetState, RegisteredWorker } from './collection-fleet-types.js';
import { planCollectionWorkers, startedWorkerPrefix } from './plan-collection-workers.js';

interface Simulated {
  readonly workerId: string;
  readonly isOwn: boolean;
  status: 'coming' | RegisteredWorker['status'];
  process: 'running' | 'ending' | 'ended';
  assigned: number;
}

/** A pool with one replica of each collection, and a control plane that gives workers what they have room for. */
class SimulatedPool {
  workers: Simulated[];
  collections = 0;
  /** Rules that an action broke. */
  readonly broken: string[] = [];
  #missing = 0;
  #state: CollectionFleetState = { beganMs: 0, since: new Map() };
  #nowMs = 0;
  #count = 0;
  readonly policy: CollectionFleetPolicy;

  constructor(policy: CollectionFleetPolicy) {
    this.policy = policy;
    this.workers = Array.from({ length: policy.permanentWorkers }, (_, index) => ({
      workerId: `collection-worker-${index + 1}`,
      isOwn: false,
      status: 'READY' as const,
      process: 'running' as const,
      assigned: 0,
    }));
  }

  get live(): readonly Simulated[] {
    const isLive = ({ status, process }: Simulated): boolean =>
      process === 'running' && ['coming', 'STARTING', 'READY'].includes(status);
    return this.workers.filter(isLive);
  }

  get served(): number {
    return this.workers.reduce((sum, { assigned }) => sum + assigned, 0);
  }

  get own(): number {
    return this.workers.filter(({ isOwn }) => isOwn).length;
  }

  /** Collections leave workers that drain or are gone when another one has room, and everything else is placed. */
  pass(): void {
    const { capacity } = this.policy;
    const ready = this.workers.filter(({ status }) => status === 'READY');
    for (const worker of this.workers) if (worker.status !== 'READY') this.#empty(worker, ready);
    for (const worker of this.workers.toReversed()) {
      const surplus = Math.min(worker.assigned, Math.max(0, this.served - this.collections));
      worker.assigned -= surplus;
    }
    let waiting = this.collections - this.served;
    for (const worker of ready) {
      const taken = Math.min(waiting, capacity - worker.assigned);
      worker.assigned += taken;
      waiting -= taken;
    }
    const leaving = this.workers
      .filter(({ status }) => status !== 'READY')
      .reduce((sum, { assigned }) => sum + assigned, 0);
    this.#missing = waiting + leaving;
  }

  #empty(worker: Simulated, ready: readonly Simulated[]): void {
    for (const target of ready) {
      const moved = Math.min(worker.assigned, this.policy.capacity - target.assigned);
      target.assigned += moved;
      worker.assigned -= moved;
    }
  }

  /** Plans, acts, and returns whether anything was done. */
  plan(elapsedMs: number, draws: readonly number[] = []): boolean {
    this.#nowMs += elapsedMs;
    const { policy, workers } = this;
    const facts = {
      nowMs: this.#nowMs,
      workers: workers.flatMap(({ workerId, status, assigned }) =>
        status === 'coming' ? [] : [{ workerId, pool: 'default', status, capacity: policy.capacity, assigned, cpu: 0 }],
      ),
      pools: [{ pool: 'default', missing: this.#missing, collections: this.collections }],
      instances: workers
        .filter(({ isOwn }) => isOwn)
        .map(({ workerId, process }) => ({ workerId, pool: 'default', state: process, hasFailed: false })),
      mayStart: true,
    };
    const { state, actions } = planCollectionWorkers(this.#state, facts, policy);
    this.#state = state;
    for (const action of actions) {
      if (action.kind === 'start') {
        for (let left = action.count; left > 0; left -= 1) this.#start();
        if (this.live.length > policy.maxWorkers) this.broken.push('more workers than the bound');
        continue;
      }
      const worker = this.#owned(action.workerId);
      if (action.kind === 'drain') {
        if (action.cause === 'idle' && this.#missing > 0) this.broken.push('drained while replicas were missing');
        worker.status = 'DRAINING';
      } else if (action.kind === 'end') {
        if (worker.assigned > 0) this.broken.push('ended with collections');
        worker.process = 'ended';
      } else {
        if (worker.process !== 'ended') this.broken.push('forgotten while it runs');
        this.workers = this.workers.filter((one) => one !== worker);
      }
    }
    for (const worker of this.workers) {
      if (worker.status === 'coming' && (draws[0] ?? 1) > 0.5) worker.status = 'STARTING';
      else if (worker.status === 'STARTING' && (draws[1] ?? 1) > 0.5) worker.status = 'READY';
    }
    return actions.length > 0;
  }

  crash(index: number): void {
    const running = this.workers.filter(({ isOwn, process }) => isOwn && process === 'running');
    const worker = running[index % Math.max(1, running.length)];
    if (worker) worker.process = 'ended';
  }

  #start(): void {
    const workerId = `${startedWorkerPrefix}${++this.#count}`;
    this.workers = [...this.workers, { workerId, isOwn: true, status: 'coming', process: 'running', assigned: 0 }];
  }

  #owned(workerId: string): Simulated {
    const worker = this.workers.find((one) => one.workerId === workerId);
    if (!worker?.isOwn) throw new Error(`${workerId} was not started by the scale controller`);
    return worker;
  }
}

const second = fc.record({
  collections: fc.option(fc.nat(30), { nil: undefined, freq: 3 }),
  draws: fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 2, maxLength: 2 }),
  crash: fc.option(fc.nat(5), { nil: undefined, freq: 9 }),
  isPassMissed: fc.boolean(),
  elapsedMs: fc.constantFrom(50, 1_000, 1_000, 5_000, 40_000),
});
const pool = fc
  .record({ permanentWorkers: fc.nat(3), capacity: fc.integer({ min: 1, max: 6 }), more: fc.nat(8) })
  .map(({ permanentWorkers, capacity, more }): CollectionFleetPolicy => {
    const loads = { targetCpu: 700, busyMs: 10_000, idleMs: 30_000 };
    return { permanentWorkers, capacity, maxWorkers: permanentWorkers + more, ...loads };
  });

/** Goes on without faults until nothing changes for longer than every time limit. Returns whether it came to rest. */
function settle(world: SimulatedPool): boolean {
  let quiet = 0;
  for (let step = 0; step < 2_000 && quiet < 20; step += 1) {
    world.pass();
    quiet = world.plan(5_000) ? 0 : quiet + 1;
  }
  return quiet === 20;
}

describe('a pool whose collections and processes come and go', () => {
  it('stays within its bound, ends in rest, serves what the bound allows, and keeps no worker that it can do without', () => {
    fc.assert(
      fc.property(pool, fc.array(second, { maxLength: 60 }), (policy, life) => {
        const world = new SimulatedPool(policy);
        for (const { collections, draws, crash, isPassMissed, elapsedMs } of life) {
          if (collections !== undefined) world.collections = collections;
          if (crash !== undefined) world.crash(crash);
          if (!isPassMissed) world.pass();
          world.plan(elapsedMs, draws);
        }
        expect(settle(world)).toBe(true);
        const { capacity, maxWorkers, permanentWorkers } = policy;
        expect(world.served).toBe(Math.min(world.collections, capacity * maxWorkers));
        const needed = Math.min(Math.ceil(world.collections / capacity), maxWorkers);
        expect(world.own).toBe(Math.max(0, needed - permanentWorkers));
        world.collections = 0;
        expect(settle(world)).toBe(true);
        expect(world.own).toBe(0);
        expect(world.broken).toEqual([]);
      }),
      { numRuns: 40 },
    );
  });
});
