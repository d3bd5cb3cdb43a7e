import { seededRandomness } from '@drover/testkit';
import {
  defaultAssignmentPolicy,
  type AssignmentFacts,
  type CollectionFacts,
  type WorkerFacts,
} from './assignment-facts.js';
import { planAssignments } from './plan-assignments.js';

export const worker = (id: string, facts: Partial<WorkerFacts> = {}): WorkerFacts => ({
  id,
  status: 'READY',
  pool: 'default',
  capacity: 1_000,
  ...facts,
});

/** Few collections with much load and many with little. */
export function zipfLoads(count: number, seed = 1): number[] {
  const random = seededRandomness(seed);
  return Array.from({ length: count }, (_, index) => (6_000 / (index + 20)) * (0.5 + random.fraction()));
}

/** A pool whose plans are carried out at once, one after the other. */
export class PlannedPool {
  workers: WorkerFacts[];
  collections: CollectionFacts[];
  assignments: AssignmentFacts[] = [];
  #nowMs = 0;

  constructor(workers: number, loads: readonly number[], replicas = 1) {
    this.workers = Array.from({ length: workers }, (_, index) => worker(`w${index}`));
    this.collections = loads.map((load, index) => ({
      id: `c${index}`,
      tenantId: `t${index % 7}`,
      pool: 'default',
      replicas,
      load,
    }));
  }

  change(workerId: string, facts: Partial<WorkerFacts>): void {
    this.workers = this.workers.map((one) => (one.id === workerId ? { ...one, ...facts } : one));
  }

  /** Carries out plans until one is empty; returns how many assignments were made. */
  settle(): number {
    let made = 0;
    for (let round = 0; round < 500; round += 1) {
      const steps = this.#round();
      if (!steps) return made;
      made += steps.made;
    }
    throw new Error('500 plans, and the next one is not empty');
  }

  peak(): number {
    return Math.max(...this.#loads()) / this.#mean();
  }

  low(): number {
    return Math.min(...this.#loads()) / this.#mean();
  }

  /**
   * The moves that bring all workers inside the tolerance at the least, and how many workers are outside. A lower bound: workers with
   * too much give their heaviest collections, or workers with too little get the heaviest that leave no other one with too little.
   */
  leastMoves(): { readonly moves: number; readonly out: number } {
    const { tolerance, idleLoad } = defaultAssignmentPolicy;
    const of = (workerId: string) => this.assignments.filter((one) => one.workerId === workerId);
    const replicas = this.#replicas();
    const shares = new Map(
      this.collections.map(({ id, load }) => [id, Math.max(load, idleLoad) / (replicas.get(id) ?? 1)]),
    );
    const shareOf = ({ collectionId }: AssignmentFacts): number => shares.get(collectionId) ?? 0;
    const ready = this.workers.filter(({ status }) => status === 'READY');
    const loads = new Map(ready.map(({ id }) => [id, of(id).reduce((sum, one) => sum + shareOf(one), 0)]));
    const mean = [...loads.values()].reduce((sum, load) => sum + load, 0) / ready.length;
    const spare = new Map(
      this.assignments
        .filter((one) => shareOf(one) <= (loads.get(one.workerId) ?? 0) - mean * (1 - tolerance))
        .map((one) => [one.collectionId, shareOf(one)]),
    );
    let [from, to, out] = [0, 0, 0];
    for (const [id, load] of loads) {
      const [above, below] = [load - mean * (1 + tolerance), mean * (1 - tolerance) - load];
      if (above > 0) from += fewest(of(id).map(shareOf), above);
      if (below > 0) to += fewest([...spare.values()], below);
      out += Number(above > 0 || below > 0);
    }
    return { moves: Math.max(from, to), out };
  }

  #round(): { readonly made: number } | undefined {
    this.#nowMs += defaultAssignmentPolicy.restMs;
    const { workers, collections, assignments } = this;
    const nowMs = this.#nowMs;
    const plan = planAssignments({ workers, collections, assignments, nowMs }, defaultAssignmentPolicy);
    const key = ({ collectionId, workerId }: { collectionId: string; workerId: string }) =>
      `${collectionId} ${workerId}`;
    const gone = new Set([...plan.drain, ...plan.remove].map(key));
    this.assignments = assignments.filter((one) => !gone.has(key(one)));
    for (const step of plan.assign) this.assignments.push({ ...step, status: 'READY', assignedAtMs: nowMs });
    return plan.assign.length + gone.size > 0 ? { made: plan.assign.length } : undefined;
  }

  #mean(): number {
    const loads = this.#loads();
    return loads.reduce((sum, load) => sum + load, 0) / loads.length;
  }

  #replicas(): ReadonlyMap<string, number> {
    const replicas = new Map<string, number>();
    for (const { collectionId } of this.assignments) replicas.set(collectionId, (replicas.get(collectionId) ?? 0) + 1);
    return replicas;
  }

  #loads(): number[] {
    const replicas = this.#replicas();
    const loadOf = new Map(this.collections.map(({ id, load }) => [id, load / (replicas.get(id) ?? 1)]));
    const loads = new Map(this.workers.filter(({ status }) => status === 'READY').map(({ id }) => [id, 0]));
    for (const { collectionId, workerId } of this.assignments)
      loads.set(workerId, (loads.get(workerId) ?? 0) + (loadOf.get(collectionId) ?? 0));
    return [...loads.values()];
  }
}

/** How many of the shares, the largest first, add up to at least `load`. */
function fewest(shares: readonly number[], load: number): number {
  let [count, sum] = [0, 0];
  for (const share of shares.toSorted((a, b) => b - a)) {
    if (sum >= load) return count;
    sum += share;
    count += 1;
  }
  return count;
}
