import { collectionChanged, type NewCollectionWorker } from '@drover/contracts';
import { defaultAssignmentPolicy, type AssignmentPolicy } from '@drover/control-plane/testing';
import type { Database } from '@drover/database';
import { SimClock } from '@drover/scale-controller/testing';
import { SimControlPlane } from './sim-control-plane.js';
import { SimDatabase } from './sim-database.js';
import { SimGateway, type SimAnswer } from './sim-gateway.js';
import { SimProcess } from './sim-process.js';
import { SimNetwork, type SimWeather } from './sim-network.js';
import type { SqlFault } from './sim-tables.js';
import { SimWorker } from './sim-worker.js';

export const calm: SimWeather = {
  lostCalls: 0,
  repeatedCalls: 0,
  lostEvents: 0,
  repeatedEvents: 0,
  delayMs: 1,
};
const stormy: SimWeather = {
  lostCalls: 0.1,
  repeatedCalls: 0.1,
  lostEvents: 0.1,
  repeatedEvents: 0.2,
  delayMs: 30_000,
};

export const tenants = ['acme', 'globex'] as const;
type Tenant = (typeof tenants)[number];

/** What differs from seed to seed and holds for the whole run. */
export interface SimTraits {
  /** Whether workers crash, freeze and are cut off. Otherwise no request may fail. */
  readonly isRough: boolean;
  readonly replicas: number;
  readonly hasPools: boolean;
  readonly hasZones: boolean;
  readonly hasAffinity: boolean;
  /** Of each worker. */
  readonly capacity: number;
  readonly isEvenLoad: boolean;
}

/** All processes, the database and the network of one run. */
export class SimWorld {
  readonly clock: SimClock;
  readonly traits: SimTraits;
  /** The process that defines collections. */
  readonly #defining: SimProcess;
  readonly policy: AssignmentPolicy = { ...defaultAssignmentPolicy, restMs: 10_000 };
  readonly database: SimDatabase;
  readonly network: SimNetwork;
  readonly planes: readonly SimControlPlane[];
  readonly workers: SimWorker[] = [];
  gateways: SimGateway[] = [];
  readonly loads = new Map<string, number>();
  /** What processes have prepared: worker, collection and generation of the assignment. */
  readonly prepared = new Set<string>();
  /** Time of each pass that changed something. */
  readonly busyPasses: number[] = [];
  /** Workers cannot prepare collections. */
  isStorageBroken = false;
  /** The worker that cannot prepare a collection, whatever it tries. */
  readonly unable = new Map<string, string>();
  violation: string | undefined;

  constructor(seed: number, faults?: ReadonlySet<SqlFault>) {
    const clock = new SimClock(seed);
    this.clock = clock;
    this.#defining = new SimProcess(clock, 'definitions');
    this.traits = {
      isRough: clock.chance(0.6),
      replicas: clock.chance(0.7) ? 2 : 1,
      hasPools: clock.chance(0.25),
      hasZones: clock.chance(0.3),
      hasAffinity: clock.chance(0.15), // only without pools: a tenant with workers of its own gets their pool
      capacity: clock.chance(0.25) ? clock.integer(2, 5) : 50,
      isEvenLoad: clock.chance(0.5),
    };
    this.database = new SimDatabase(clock, faults);
    this.network = new SimNetwork(clock, clock.chance(0.5) ? stormy : calm);
    const { database, network, policy } = this;
    const onPass = (steps: number): void => {
      if (steps > 0) this.busyPasses.push(clock.nowMs);
    };
    const { replicas, hasPools } = this.traits;
    const pools = new Map(hasPools ? [['globex', 'gold']] : []);
    const options = { clock, database, network, policy, replicas, pools, onPass, fail: this.fail };
    this.planes = ['plane-1', 'plane-2'].map((name) => new SimControlPlane(name, options));
  }

  get #store(): Database {
    return this.database.connect(() => true);
  }

  readonly poolOf = (tenantId: string): string => (this.traits.hasPools && tenantId === 'globex' ? 'gold' : 'default');

  readonly fail = (violation: string): void => {
    this.violation ??= violation;
  };

  join(facts: Partial<NewCollectionWorker> = {}): SimWorker {
    const { clock, network, planes, loads, traits } = this;
    const { hasPools, hasZones, hasAffinity, capacity } = traits;
    const workerId = facts.workerId ?? clock.id('w');
    const tenantAffinity =
      hasAffinity && !hasPools && !facts.pool && clock.chance(0.3) ? clock.pick<Tenant>(tenants) : undefined;
    const worker = new SimWorker(
      {
        workerId,
        baseUrl: `http://${clock.id(workerId)}`,
        pool: hasPools && clock.chance(0.4) ? 'gold' : 'default',
        capacity,
        ...(hasZones && { zone: clock.chance(0.5) ? 'a' : 'b' }),
        ...(tenantAffinity && { tenantAffinity }),
        ...facts,
        processToken: clock.id('process'),
      },
      {
        clock,
        network,
        planes,
        loadOf: (id) => (loads.get(id) ?? 0) / Math.max(1, this.database.tables.routes.get(id)?.endpoints.length ?? 1),
        isBroken: (id, collectionId) => this.isStorageBroken || this.unable.get(collectionId) === id,
        onPrepared: (id, { collectionId, generation }) => this.prepared.add(`${id} ${collectionId} ${generation}`),
      },
    );
    this.workers.push(worker);
    return worker;
  }

  addGateway(): void {
    const { clock, database, network, fail } = this;
    const send = this.#answer;
    this.gateways.push(new SimGateway(clock.id('gateway'), { clock, database, network, send, fail }));
  }

  async define(): Promise<void> {
    const { clock } = this;
    const id = clock.id('c');
    const tenantId = clock.chance(0.5) ? 'acme' : 'globex';
    this.loads.set(id, this.traits.isEvenLoad ? 10 : clock.between(0, 60) * clock.fraction());
    const unable = clock.chance(0.3) ? clock.pick(this.running) : undefined;
    if (unable) this.unable.set(id, unable.facts.workerId);
    await this.#store.query('define-collection', [id, tenantId]);
    clock.log(`${id} of ${tenantId} is defined`);
    this.#collectionChanged(id, tenantId, false);
  }

  async undefine(id: string): Promise<void> {
    const tenantId = this.database.tables.collections.get(id)?.tenant_id ?? '';
    await this.#store.query('remove-collection', [id]);
    this.clock.log(`${id} is removed`);
    this.#collectionChanged(id, tenantId, true);
  }

  /** Processes that run, whether the control plane knows it or not. */
  get running(): SimWorker[] {
    return this.workers.filter(({ process }) => process.isRunning);
  }

  #collectionChanged(collectionId: string, tenantId: string, removed: boolean): void {
    const payload = { tenantId, collectionId, name: collectionId, removed };
    const bus = this.network.busOf(this.#defining);
    void bus.publish([{ topic: collectionChanged, key: collectionId, generation: 1, payload }]);
    this.clock.pick(this.planes)?.wake();
  }

  readonly #answer = (url: string, collectionId: string, anyway: boolean): SimAnswer => {
    const worker = this.workers.find(({ facts, process }) => `${facts.baseUrl}/` === url && !process.isGone);
    if (!worker) return 'refused';
    if (!worker.process.isRunning) return 'silent';
    const { assigned } = worker;
    if (!anyway && !assigned.serves(collectionId)) return 'not-assigned';
    assigned.begin(collectionId, this.clock.nowMs);
    assigned.end(collectionId, { nowMs: this.clock.nowMs, tookMs: 1, isError: false });
    return 'served';
  };
}
