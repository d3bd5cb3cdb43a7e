import { seededRandomness } from '@drover/testkit';
import {
  defaultAssignmentPolicy,
  type AssignmentFacts,
  type AssignmentPlan,
  type CollectionFacts,
  type WorkerFacts,
} from './assignment-facts.js';
import { planAssignments } from './plan-assignments.js';

const policy = { ...defaultAssignmentPolicy, restMs: 20_000 };
const passMs = 5_000;
const keyOf = ({ collectionId, workerId }: { readonly collectionId: string; readonly workerId: string }): string =>
  `${collectionId} ${workerId}`;

/** Seeded changes of workers and collections, with a pass after each; throws when a plan or its outcome breaks a rule. */
export class PlannedSchedule {
  readonly #random: ReturnType<typeof seededRandomness>;
  readonly #plan: typeof planAssignments;
  readonly #log: string[] = [];
  readonly #workers = new Map<string, WorkerFacts>();
  readonly #collections = new Map<string, CollectionFacts>();
  readonly #assignments = new Map<string, AssignmentFacts>();
  readonly #replicas: number;
  readonly #capacity: number;
  readonly #pools: readonly string[];
  readonly #hasAffinity: boolean;
  #nowMs = 1_000_000;
  #ids = 0;

  constructor(seed: number, plan: typeof planAssignments = planAssignments) {
    this.#random = seededRandomness(seed);
    this.#plan = plan;
    this.#replicas = this.#chance(0.7) ? 2 : 1;
    this.#capacity = this.#chance(0.3) ? this.#integer(2, 4) : 1_000;
    this.#pools = this.#chance(0.3) ? ['default', 'gold'] : ['default'];
    this.#hasAffinity = this.#chance(0.2);
  }

  /** Returns how many plans changed something. */
  run(): number {
    for (let count = this.#integer(1, 4); count > 0; count -= 1) this.#join();
    for (let count = this.#integer(1, 10); count > 0; count -= 1) this.#define();
    let busy = 0;
    for (let step = 0; step < 30; step += 1) {
      this.#change();
      busy += Number(this.#pass());
    }
    for (const pool of this.#pools) this.#join(pool);
    busy += this.#settle();
    this.#checkSettled();
    return busy;
  }

  #settle(): number {
    let idle = 0;
    for (let pass = 0; pass < 200; pass += 1) {
      for (const row of this.#assignments.values()) this.#progress(row, true);
      for (const { id, status } of this.#workers.values())
        if (status === 'STARTING') this.#set(id, { status: 'READY' });
        else if (status === 'DRAINING' && this.#of(id).length === 0) this.#workers.delete(id);
      const isBusy = this.#pass() || [...this.#assignments.values()].some(({ status }) => status !== 'READY');
      idle = isBusy ? 0 : idle + 1;
      if (idle === 2) return pass;
      if (idle === 1) this.#nowMs += policy.restMs; // collections that have just moved may move again
    }
    return this.#fail('200 passes after the last change, and the next one changes something');
  }

  #change(): void {
    const worker = this.#pick([...this.#workers.values()]);
    const collection = this.#pick([...this.#collections.values()]);
    const action = this.#integer(0, 9);
    if (action === 0) this.#join();
    else if (action === 1) this.#define();
    else if (action === 2 && collection) {
      this.#collections.delete(collection.id);
      // As PostgreSQL does: rows of a removed collection go with it.
      for (const [key, { collectionId }] of this.#assignments)
        if (collectionId === collection.id) this.#assignments.delete(key);
    } else if (action === 3 && worker) this.#set(worker.id, { status: 'DRAINING' });
    else if (action === 4 && worker) this.#set(worker.id, { status: this.#chance(0.8) ? 'OFFLINE' : 'FAILED' });
    else if (action === 5 && worker) this.#restart(worker.id);
    else if (action === 6 && collection)
      this.#collections.set(collection.id, { ...collection, load: this.#random.fraction() * 60 });
    for (const { id, status } of this.#workers.values())
      if (status === 'STARTING' && this.#chance(0.7)) this.#set(id, { status: 'READY' });
    for (const row of this.#assignments.values()) this.#progress(row, this.#chance(0.6));
  }

  /** A worker prepares what is new and gives up what it is to. */
  #progress(row: AssignmentFacts, isDone: boolean): void {
    const worker = this.#workers.get(row.workerId);
    const isAlive = worker && worker.status !== 'OFFLINE' && worker.status !== 'FAILED';
    if (!isAlive || !isDone) return;
    if (row.status === 'DRAINING') this.#assignments.delete(keyOf(row));
    else this.#assignments.set(keyOf(row), { ...row, status: 'READY' });
  }

  #restart(id: string): void {
    this.#set(id, { status: 'STARTING' });
    for (const row of this.#of(id))
      if (row.status === 'DRAINING') this.#assignments.delete(keyOf(row));
      else this.#assignments.set(keyOf(row), { ...row, status: 'PENDING' });
  }

  #join(pool = this.#pick(this.#pools) ?? 'default'): void {
    this.#ids += 1;
    const id = `w${this.#ids}`;
    const affinity = this.#hasAffinity && this.#chance(0.3) && { tenantAffinity: this.#chance(0.5) ? 'a' : 'b' };
    this.#workers.set(id, { id, status: 'READY', pool, capacity: this.#capacity, ...affinity });
    this.#log.push(`${id} joins ${pool}`);
  }

  #define(): void {
    this.#ids += 1;
    const [id, tenantId] = [`c${this.#ids}`, this.#chance(0.5) ? 'a' : 'b'];
    const pool = this.#pools[tenantId === 'a' ? 0 : this.#pools.length - 1] ?? 'default';
    const load = this.#chance(0.3) ? 0 : this.#random.fraction() * 60;
    this.#collections.set(id, { id, tenantId, pool, replicas: this.#replicas, load });
  }

  #set(id: string, facts: Partial<WorkerFacts>): void {
    const worker = this.#workers.get(id);
    if (worker) this.#workers.set(id, { ...worker, ...facts });
    this.#log.push(`${id} is ${facts.status}`);
  }

  /** Makes a plan and carries it out; returns whether it changed something. */
  #pass(): boolean {
    this.#nowMs += passMs;
    const routed = this.#routed();
    const input = {
      workers: [...this.#workers.values()],
      collections: [...this.#collections.values()],
      assignments: [...this.#assignments.values()],
      nowMs: this.#nowMs,
    };
    const plan = this.#plan(input, policy);
    this.#apply(plan);
    const after = this.#routed();
    for (const collectionId of routed)
      if (!after.has(collectionId)) this.#fail(`${collectionId} has no route any more, although a worker serves it`);
    return plan.assign.length + plan.drain.length + plan.remove.length > 0;
  }

  #apply(plan: AssignmentPlan): void {
    for (const step of plan.drain) this.#move(step, 'DRAINING');
    for (const step of plan.remove) {
      this.#log.push(`remove ${keyOf(step)}`);
      this.#assignments.delete(keyOf(step));
    }
    for (const step of plan.assign) {
      const worker = this.#workers.get(step.workerId);
      const collection = this.#collections.get(step.collectionId);
      this.#log.push(`assign ${keyOf(step)} for ${step.replaces}`);
      if (!worker || !collection || worker.status !== 'READY' || worker.pool !== collection.pool)
        return this.#fail(`${step.workerId} is ${worker?.status} and gets ${step.collectionId}`);
      if ((worker.tenantAffinity ?? collection.tenantId) !== collection.tenantId)
        this.#fail(`${step.workerId} is for another tenant than that of ${step.collectionId}`);
      this.#assignments.set(keyOf(step), { ...step, status: 'PENDING', assignedAtMs: this.#nowMs });
      if (this.#of(worker.id).length > worker.capacity) this.#fail(`${worker.id} has more than its capacity`);
    }
  }

  #move(step: { readonly collectionId: string; readonly workerId: string }, status: 'DRAINING'): void {
    const row = this.#assignments.get(keyOf(step));
    this.#log.push(`drain ${keyOf(step)}`);
    if (!row || row.status === 'DRAINING') return this.#fail(`${keyOf(step)} is ${row?.status} and to be drained`);
    this.#assignments.set(keyOf(step), { ...row, status });
  }

  /** Collections that a worker serves and the route names. */
  #routed(): Set<string> {
    const routed = [...this.#assignments.values()].filter(({ status, workerId }) => {
      const worker = this.#workers.get(workerId)?.status;
      return status === 'READY' && (worker === 'READY' || worker === 'DRAINING');
    });
    return new Set(routed.map(({ collectionId }) => collectionId));
  }

  #checkSettled(): void {
    for (const { id, pool, tenantId, replicas } of this.#collections.values()) {
      const fitting = [...this.#workers.values()].filter(
        (worker) =>
          worker.status === 'READY' && worker.pool === pool && (worker.tenantAffinity ?? tenantId) === tenantId,
      );
      const own = [...this.#assignments.values()].filter(
        ({ collectionId, workerId }) => collectionId === id && fitting.some((worker) => worker.id === workerId),
      );
      const wanted = Math.min(replicas, fitting.length);
      const free = fitting.filter((worker) => this.#of(worker.id).length < worker.capacity);
      const unused = free.filter((worker) => !own.some(({ workerId }) => workerId === worker.id));
      if (own.length < wanted && unused.length > 0) this.#fail(`${id} has ${own.length} replicas, not ${wanted}`);
      if (own.length > wanted) this.#fail(`${id} has ${own.length} replicas, and ${wanted} are enough`);
      if (own.length === 0 && fitting.some((worker) => this.#hasSpare(worker.id)))
        this.#fail(`${id} has no worker, while others have two`);
    }
    this.#checkBalance();
  }

  /** Whether the worker has an assignment that its collection could do without. */
  #hasSpare(workerId: string): boolean {
    const isReady = (id: string): boolean => this.#workers.get(id)?.status === 'READY';
    const replicas = (id: string): number =>
      [...this.#assignments.values()].filter((row) => row.collectionId === id && isReady(row.workerId)).length;
    return this.#of(workerId).some(({ collectionId }) => replicas(collectionId) > 1);
  }

  #checkBalance(): void {
    if (this.#hasAffinity || this.#capacity < 1_000) return;
    for (const pool of this.#pools) {
      const loads = [...this.#workers.values()]
        .filter((worker) => worker.pool === pool && worker.status === 'READY')
        .map(({ id }) => this.#of(id).reduce((sum, { collectionId }) => sum + this.#share(collectionId), 0));
      const mean = loads.reduce((sum, load) => sum + load, 0) / Math.max(1, loads.length);
      const own = [...this.#collections.values()].filter((collection) => collection.pool === pool);
      const largest = Math.max(0, ...own.map(({ id }) => this.#share(id)));
      for (const load of loads)
        if (Math.abs(load - mean) > Math.max(mean * 0.1, largest))
          this.#fail(`a worker has a load of ${load.toFixed(1)}, and the mean of ${pool} is ${mean.toFixed(1)}`);
    }
  }

  #share(collectionId: string): number {
    const own = [...this.#assignments.values()].filter((row) => row.collectionId === collectionId).length;
    return Math.max(this.#collections.get(collectionId)?.load ?? 0, policy.idleLoad) / Math.max(1, own);
  }

  #of(workerId: string): AssignmentFacts[] {
    return [...this.#assignments.values()].filter((row) => row.workerId === workerId);
  }

  #chance(probability: number): boolean {
    return this.#random.fraction() < probability;
  }

  #integer(least: number, most: number): number {
    return least + Math.floor(this.#random.fraction() * (most - least + 1));
  }

  #pick<T>(values: readonly T[]): T | undefined {
    return values[Math.floor(this.#random.fraction() * values.length)];
  }

  #fail(problem: string): never {
    throw new Error(`${problem}. The last steps:\n${this.#log.slice(-50).join('\n')}`);
  }
}
