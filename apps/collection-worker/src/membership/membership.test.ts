import {
  CodedError,
  type WorkerAssignment,
  type CollectionWorkerHeartbeat,
  type WorkerOrders,
} from '@drover/contracts';
import { WakeUp } from '@drover/service-kit';
import { FakeClock, seededRandomness } from '@drover/testkit';
import { afterEach, describe, expect, it } from 'vitest';
import type { CollectionWorkerObservation } from '../observations.js';
import { AssignedCollections } from './assigned-collections.js';
import { CollectionPreparer } from './collection-preparer.js';
import type { ControlPlaneCalls } from './control-plane-calls.js';
import { LoadMeter } from './load-meter.js';
import { Membership } from './membership.js';

const order = (name: string, generation: number, status: WorkerAssignment['status'] = 'PENDING'): WorkerAssignment => ({
  collectionId: name,
  tenantId: 'acme',
  collection: name,
  status,
  generation,
});

const stops: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

interface Setup {
  readonly prepare?: (assignment: WorkerAssignment) => Promise<void>;
  readonly handoverMs?: number;
}

/** A worker on a clock of the test, and a control plane that the test speaks for. */
async function join({ prepare = async () => undefined, handoverMs = 20_000 }: Setup = {}) {
  const clock = new FakeClock();
  const randomness = seededRandomness(1);
  const observed: CollectionWorkerObservation[] = [];
  const plane = {
    isThere: true,
    failure: undefined as Error | undefined,
    displace: false,
    incarnation: 0,
    assignments: [] as WorkerAssignment[],
    calls: [] as string[],
    beats: [] as CollectionWorkerHeartbeat[],
  };
  const answer = async (call: string): Promise<WorkerOrders> => {
    plane.calls.push(call);
    if (plane.failure) throw plane.failure;
    if (plane.displace && call === 'beat') {
      plane.displace = false;
      throw refusal('WORKER_REGISTERED_AGAIN', 409);
    }
    if (call === 'register') plane.incarnation += 1;
    return { incarnation: plane.incarnation, heartbeatMs: 15_000, assignments: [...plane.assignments] };
  };
  const calls: ControlPlaneCalls = {
    registerWorker: () => answer('register'),
    sendHeartbeat: ({ body }) => {
      plane.beats.push(body);
      const removed = body.collections
        .filter(({ status }) => status === 'REMOVED')
        .map(({ collectionId }) => collectionId);
      plane.assignments = plane.assignments.filter(({ collectionId }) => !removed.includes(collectionId));
      return answer('beat');
    },
    deregisterWorker: () => answer('deregister'),
  };
  const wakeUp = new WakeUp();
  const assigned = new AssignedCollections();
  const io = { clock, randomness, observe: (one: CollectionWorkerObservation) => void observed.push(one) };
  const preparer = new CollectionPreparer({ prepare, assigned, onChange: () => wakeUp.notify(), ...io });
  let publish: (workerId: string) => unknown = () => undefined;
  const problem = { text: undefined as string | undefined };
  const membership = new Membership({
    describe: () => ({ workerId: 'w1', baseUrl: 'http://w1' }),
    connections: () => 3,
    calls: () => (plane.isThere ? calls : undefined),
    assigned,
    preparer,
    load: new LoadMeter({ clock, cpuMicros: () => clock.monotonicMs() * 100, memoryBytes: () => 1_000 }),
    problem: () => problem.text,
    bus: {
      subscribe: async ({ handle }) => {
        publish = (workerId) => handle({ payload: { workerId } } as Parameters<typeof handle>[0]);
        return { position: 0, close: async () => undefined };
      },
    },
    handoverMs,
    wakeUp,
    ...io,
  });
  stops.push(() => membership.stop());
  await membership.start();
  return { clock, plane, assigned, membership, observed, problem, publish: (workerId: string) => publish(workerId) };
}

const refusal = (code: string, status: number): CodedError =>
  new CodedError(code, { fault: 'caller', retryable: false, status }, code, {});

describe('Membership', () => {
  it('registers, prepares what it is to serve, and says at once when it is ready', async () => {
    const { clock, plane, assigned } = await join();
    plane.assignments = [order('orders', 1)];
    await clock.advance(0);
    await clock.advance(200);
    expect(plane.calls.slice(0, 2)).toEqual(['register', 'beat']);
    expect(plane.beats.at(-1)).toMatchObject({
      incarnation: 1,
      status: 'READY',
      load: { cpu: expect.any(Number), activeConnections: 3, memoryBytes: 1_000 },
      collections: [{ collectionId: 'orders', generation: 1, status: 'READY' }],
    });
    expect(assigned.serves('orders')).toBe(true);
  });

  it('sends a heartbeat when one is due, and at once when an event tells of its orders', async () => {
    const { clock, plane, publish } = await join();
    await clock.advance(1_000);
    const sent = plane.beats.length;
    await clock.advance(13_000);
    expect(plane.beats).toHaveLength(sent);
    await clock.advance(2_000);
    expect(plane.beats).toHaveLength(sent + 1);
    expect(plane.beats.at(-1)?.load.cpu).toBeCloseTo(100);
    await publish('another');
    await clock.advance(0);
    expect(plane.beats).toHaveLength(sent + 1);
    await publish('w1');
    await clock.advance(0);
    expect(plane.beats).toHaveLength(sent + 2);
  });

  it('sends a heartbeat every second while a collection is prepared, and not while it fails', async () => {
    const attempts: ((error?: Error) => void)[] = [];
    const prepare = () =>
      new Promise<void>((resolve, reject) => attempts.push((error) => (error ? reject(error) : resolve())));
    const { clock, plane } = await join({ prepare });
    plane.assignments = [order('orders', 1)];
    await clock.advance(1_000);
    const sent = plane.beats.length;
    await clock.advance(5_000);
    expect(plane.beats).toHaveLength(sent + 5);
    attempts[0]?.(new Error('no table'));
    await clock.advance(1_000);
    expect(plane.beats.at(-1)?.collections).toMatchObject([{ status: 'INITIALIZING', problem: 'no table' }]);
    const told = plane.beats.length;
    await clock.advance(10_000);
    expect(plane.beats).toHaveLength(told);
  });

  it('waits for the address of the control plane, serves without it, and reports again what did not arrive', async () => {
    const { clock, plane, assigned, membership, observed } = await join();
    plane.assignments = [order('orders', 1)];
    plane.isThere = false;
    await clock.advance(5_000);
    expect([plane.calls, membership.problem()]).toEqual([['register'], undefined]);
    plane.isThere = true;
    await clock.advance(1_000);
    plane.failure = new Error('connect ECONNREFUSED');
    await clock.advance(60_000);
    expect(assigned.serves('orders')).toBe(true);
    expect(membership.problem()).toContain('ECONNREFUSED');
    expect(observed.filter(({ kind }) => kind === 'worker.unheard')).toHaveLength(1);
    plane.failure = undefined;
    await clock.advance(2_000);
    expect([membership.problem(), plane.beats.at(-1)?.collections.length]).toEqual([undefined, 1]);
  });

  it('says why a collection cannot be prepared, and tries again', async () => {
    let isBroken = true;
    const { clock, plane } = await join({
      prepare: async () => {
        if (isBroken) throw new Error('relation does not exist');
      },
    });
    plane.assignments = [order('orders', 1)];
    await clock.advance(500);
    expect(plane.beats.at(-1)?.collections).toMatchObject([
      { status: 'INITIALIZING', problem: 'relation does not exist' },
    ]);
    isBroken = false;
    await clock.advance(10_000);
    expect(plane.beats.at(-1)?.collections).toMatchObject([{ status: 'READY' }]);
  });

  it('registers again when the control plane does not know it, and takes back its id from another process only once', async () => {
    const { clock, plane, observed } = await join();
    await clock.advance(1_000);
    plane.failure = refusal('WORKER_UNKNOWN', 404);
    await clock.advance(15_000);
    plane.failure = undefined;
    await clock.advance(5_000);
    expect(plane.calls.filter((call) => call === 'register').length).toBeGreaterThan(1);
    const displaced = () => observed.filter(({ kind }) => kind === 'worker.displaced').length;
    for (const times of [1, 2]) {
      plane.displace = true;
      await clock.advance(20_000);
      expect(displaced()).toBe(times);
    }
    const before = plane.calls.length;
    await clock.advance(200_000);
    expect(plane.calls).toHaveLength(before);
    await clock.advance(100_000);
    expect(plane.calls.slice(before, before + 2)).toEqual(['register', 'beat']);
  });

  it('is FAILED when it could not serve for a while, and not because of a restart of PostgreSQL', async () => {
    const { clock, plane, problem } = await join();
    await clock.advance(1_000);
    problem.text = 'DATABASE_UNAVAILABLE';
    await clock.advance(15_000);
    expect(plane.beats.at(-1)?.status).toBe('READY');
    await clock.advance(45_000);
    expect(plane.beats.at(-1)?.status).toBe('FAILED');
    problem.text = undefined;
    await clock.advance(15_000);
    expect(plane.beats.at(-1)?.status).toBe('READY');
  });

  it('serves on after it was told to stop, until others have taken over its collections', async () => {
    const { clock, plane, assigned, membership, observed } = await join();
    plane.assignments = [order('orders', 1)];
    await clock.advance(1_000);
    let isOver = false;
    const drained = membership.drain(new AbortController().signal).then(() => (isOver = true));
    await clock.advance(1_000);
    expect([plane.calls.includes('deregister'), plane.beats.at(-1)?.status, isOver]).toEqual([true, 'DRAINING', false]);
    plane.assignments = [order('orders', 1, 'DRAINING')];
    await clock.advance(3_000);
    expect([isOver, assigned.serves('orders')]).toEqual([false, true]);
    await clock.advance(3_000);
    expect(plane.beats.at(-1)?.collections).toMatchObject([{ status: 'REMOVED' }]);
    await drained;
    expect(observed).toContainEqual({ kind: 'worker.handed-over', workerId: 'w1' });
  });

  it('stops without a handover when the control plane does not answer, or no other worker takes over in time', async () => {
    const gone = await join();
    gone.plane.assignments = [order('orders', 1, 'READY')];
    await gone.clock.advance(1_000);
    gone.plane.failure = new Error('connect ECONNREFUSED');
    await gone.membership.drain(new AbortController().signal);
    const alone = await join({ handoverMs: 5_000 });
    alone.plane.assignments = [order('orders', 1, 'READY')];
    await alone.clock.advance(1_000);
    let isOver = false;
    void alone.membership.drain(new AbortController().signal).then(() => (isOver = true));
    await alone.clock.advance(4_000);
    expect(isOver).toBe(false);
    await alone.clock.advance(2_000);
    expect(isOver).toBe(true);
  });
});
