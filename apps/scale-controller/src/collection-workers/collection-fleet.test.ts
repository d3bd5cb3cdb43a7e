import { collectionCapacityNeeded, type PublishedEvent } from '@drover/contracts';
import type { SubscribeOptions } from '@drover/event-bus';
import type { InstanceSpec } from '@drover/instance-provider';
import { FakeInstanceProvider } from '@drover/instance-provider/testing';
import { FakeClock, seededRandomness } from '@drover/testkit';
import { afterEach, describe, expect, it } from 'vitest';
import { CollectionFleet } from './collection-fleet.js';
import type { CollectionFleetPolicy, RegisteredWorker } from './collection-fleet-types.js';
import type { CollectionFleetObservation } from './observations.js';

const policy: CollectionFleetPolicy = {
  maxWorkers: 3,
  permanentWorkers: 1,
  capacity: 2,
  targetCpu: 700,
  busyMs: 10_000,
  idleMs: 60_000,
};

/** A fleet over a control plane that does what the test says. */
class FleetTrial {
  readonly clock = new FakeClock();
  readonly provider = new FakeInstanceProvider({ clock: this.clock });
  readonly drained: string[] = [];
  readonly observed: CollectionFleetObservation[] = [];
  readonly resigned: string[] = [];
  workers: RegisteredWorker[] = [];
  missing = 0;
  isAway = false;
  reads = 0;
  policy = policy;
  #events: SubscribeOptions['handle'] = () => undefined;
  #fleet: CollectionFleet | undefined;
  #token = 0;
  #seed = 0;

  constructor() {
    this.register('collection-worker-1', { assigned: 2 });
  }

  /** What was started so far. */
  get specs(): readonly InstanceSpec[] {
    return [...this.provider.specs.values()];
  }

  register(workerId: string, given: Partial<RegisteredWorker> = {}): void {
    const before = this.workers.find((one) => one.workerId === workerId);
    const known = { workerId, pool: 'default', status: 'READY' as const, capacity: 2, assigned: 0, cpu: 0, ...before };
    this.workers = [...this.workers.filter((one) => one !== before), { ...known, ...given }];
  }

  /** Ends the leader as kill -9 would; the next one begins with what runs. */
  async lead(): Promise<void> {
    this.#fleet?.stop();
    const token = ++this.#token;
    const fleet = new CollectionFleet({
      term: { token, isHeld: () => true },
      provider: this.provider,
      reader: {
        read: async () => {
          this.reads += 1;
          if (this.isAway) throw new Error('the database is away');
          return { workers: this.workers, pools: [{ pool: 'default', missing: this.missing, collections: 2 }] };
        },
      },
      bus: {
        subscribe: async ({ handle }) => {
          this.#events = handle;
          return { position: 0, close: async () => undefined };
        },
      },
      policy: this.policy,
      drainWorker: async (workerId) => {
        if (this.isAway) throw new Error('the control plane is away');
        this.drained.push(workerId);
        this.register(workerId, { status: 'DRAINING' });
      },
      resign: (reason) => void this.resigned.push(reason),
      clock: this.clock,
      randomness: seededRandomness(++this.#seed),
      observe: (observation) => void this.observed.push(observation),
    });
    this.#fleet = fleet;
    this.provider.subscribe(({ instance }) => fleet.changed(instance));
    fleet.start(await this.provider.list(token));
    await this.clock.advance(0);
  }

  async tell(): Promise<void> {
    await this.#events({ topic: collectionCapacityNeeded.name } as PublishedEvent);
    await this.clock.advance(0);
  }

  async live(): Promise<readonly string[]> {
    return (await this.provider.list()).filter(({ state }) => state !== 'ended').map(({ instanceId }) => instanceId);
  }

  end(): void {
    this.#fleet?.stop();
  }
}

let trial: FleetTrial;
const begin = async (): Promise<FleetTrial> => {
  trial = new FleetTrial();
  await trial.lead();
  return trial;
};
afterEach(() => trial.end());

describe('the fleet of collection workers', () => {
  it('reads nothing while it may start no worker, until one of an earlier leader is to be ended', async () => {
    trial = new FleetTrial();
    trial.policy = { ...policy, maxWorkers: 0 };
    await trial.lead();
    await trial.clock.advance(60_000);
    expect(trial.reads).toBe(0);

    trial.policy = policy;
    trial.missing = 1;
    await trial.lead();
    expect(trial.specs).toHaveLength(1);
    trial.policy = { ...policy, maxWorkers: 0 };
    const before = trial.reads;
    await trial.lead();
    await trial.clock.advance(60_000);
    expect(trial.reads).toBeGreaterThan(before);
  });

  it('starts a worker as soon as an event says that collections wait, with its name and its pool', async () => {
    await begin();
    expect(trial.specs).toEqual([]);
    trial.missing = 1;
    await trial.tell();
    expect(trial.specs).toHaveLength(1);
    const [{ instanceId, role, labels, environment } = { instanceId: '' }] = trial.specs;
    expect({ role, labels }).toEqual({ role: 'collection-worker', labels: { pool: 'default' } });
    expect(environment).toEqual({ WORKER_ID: instanceId, WORKER_POOL: 'default' });
    await trial.tell();
    expect(trial.specs).toHaveLength(1);
  });

  it('starts it also without an event', async () => {
    const { clock } = await begin();
    trial.missing = 1;
    await clock.advance(2_000);
    expect(trial.specs).toHaveLength(1);
  });

  it('drains a worker that is idle, ends it when it is empty, and forgets it', async () => {
    const { clock, drained, provider } = await begin();
    trial.missing = 1;
    await trial.tell();
    const workerId = trial.specs[0]?.instanceId ?? '';
    trial.missing = 0;
    trial.register(workerId, { assigned: 1 });
    trial.register('collection-worker-1', { assigned: 1 });
    await clock.advance(58_000);
    expect(drained).toEqual([]);
    await clock.advance(10_000);
    expect(drained).toEqual([workerId]);
    expect(await trial.live()).toEqual([workerId]);
    trial.register(workerId, { assigned: 0 });
    await clock.advance(6_000);
    expect(await trial.live()).toEqual([]);
    await clock.advance(4_000);
    expect(await provider.list()).toEqual([]);
  });

  it('adopts what the leader before had started: nothing is started twice', async () => {
    const { drained, clock } = await begin();
    trial.missing = 3;
    await trial.tell();
    expect(trial.specs).toHaveLength(2);
    await trial.lead();
    await clock.advance(20_000);
    expect(trial.specs).toHaveLength(2);
    for (const { instanceId } of trial.specs) trial.register(instanceId, { assigned: 2 });
    trial.missing = 0;
    await trial.lead();
    await clock.advance(20_000);
    expect([trial.specs.length, drained]).toEqual([2, []]);
  });

  it('lets the control plane know at once that a process has ended, and replaces it', async () => {
    const { drained, provider } = await begin();
    trial.missing = 1;
    await trial.tell();
    const workerId = trial.specs[0]?.instanceId ?? '';
    trial.register(workerId, { assigned: 1 });
    trial.missing = 0;
    await trial.tell();
    provider.crash(workerId);
    await trial.clock.advance(0);
    expect(drained).toEqual([workerId]);
    trial.missing = 1;
    await trial.tell();
    expect(trial.specs).toHaveLength(2);
    expect(await trial.live()).toEqual([trial.specs[1]?.instanceId]);
    expect(trial.observed).toContainEqual({ kind: 'collection-fleet.lost', workerId });
  });

  it('waits longer and longer before it starts what fails again and again', async () => {
    const { provider, clock } = await begin();
    provider.subscribe(({ instance }) => {
      if (instance.state === 'running') provider.exit(instance.instanceId, { isClean: false, text: 'exit code 1' });
    });
    trial.missing = 1;
    await clock.advance(60_000);
    expect(trial.specs.length).toBeGreaterThan(5);
    expect(trial.specs.length).toBeLessThan(40);
  });

  it('goes on when the database or the control plane was away', async () => {
    const { clock, observed } = await begin();
    trial.isAway = true;
    trial.missing = 1;
    await clock.advance(10_000);
    expect(trial.specs).toEqual([]);
    expect(observed).toContainEqual(expect.objectContaining({ kind: 'collection-fleet.call-failed', call: 'read' }));
    trial.isAway = false;
    await clock.advance(2_000);
    expect(trial.specs).toHaveLength(1);
  });

  it('gives up its leadership when the provider has seen a newer one', async () => {
    const { provider, resigned, clock } = await begin();
    await provider.list(99);
    trial.missing = 1;
    await clock.advance(2_000);
    expect(resigned).not.toEqual([]);
    expect(await trial.live()).toEqual([]);
  });
});
