import type { WorkerAssignment, WorkerHeartbeat } from '@drover/contracts';

type Report = WorkerHeartbeat['collections'][number];

interface Assigned {
  readonly assignment: WorkerAssignment;
  status: Report['status'];
  problem: string | undefined;
  inFlight: number;
  lastUsedMs: number;
  /** Since the last report. */
  requests: number;
  errors: number;
  busyMs: number;
}

/** A collection that gets no request for this long while it drains is given up: gateways have had its new route for long. */
const idleBeforeRemovalMs = 5_000;

/** What this worker serves, as the control plane told it. Pure: the caller prepares collections and sends the reports. */
export class AssignedCollections {
  readonly #assigned = new Map<string, Assigned>();

  /** Takes over the orders and returns the assignments that have to be prepared. Orders are complete: what they lack is given up. */
  apply(orders: readonly WorkerAssignment[], nowMs: number): readonly WorkerAssignment[] {
    const ordered = new Map(orders.map((order) => [order.collectionId, order]));
    for (const [id, { assignment }] of this.#assigned)
      if (ordered.get(id)?.generation !== assignment.generation) this.#assigned.delete(id);
    const news: WorkerAssignment[] = [];
    for (const order of orders) {
      const known = this.#assigned.get(order.collectionId);
      if (known && order.status === 'DRAINING' && known.status !== 'REMOVED') known.status = 'DRAINING';
      if (known || order.status === 'REMOVED') continue;
      // A worker that was started again has nothing of what it is to give up.
      const status = order.status === 'DRAINING' ? 'REMOVED' : 'INITIALIZING';
      this.#assigned.set(order.collectionId, { ...fresh, assignment: order, status, lastUsedMs: nowMs });
      if (status === 'INITIALIZING') news.push(order);
    }
    return news;
  }

  /** The collection can be served now, unless it was taken away in the meantime. */
  prepared({ collectionId, generation }: WorkerAssignment): void {
    const assigned = this.#find(collectionId, generation);
    if (assigned?.status !== 'INITIALIZING') return;
    assigned.status = 'READY';
    assigned.problem = undefined;
  }

  /** It could not be prepared; the next report says why. */
  failed({ collectionId, generation }: WorkerAssignment, problem: string): void {
    const assigned = this.#find(collectionId, generation);
    if (assigned?.status === 'INITIALIZING') assigned.problem = problem;
  }

  /** Whether requests of gateways for the collection are served here. */
  serves(collectionId: string): boolean {
    const status = this.#assigned.get(collectionId)?.status;
    return status === 'READY' || status === 'DRAINING';
  }

  begin(collectionId: string, nowMs: number): void {
    const assigned = this.#assigned.get(collectionId);
    if (!assigned) return;
    assigned.inFlight += 1;
    assigned.lastUsedMs = nowMs;
  }

  end(
    collectionId: string,
    result: { readonly nowMs: number; readonly tookMs: number; readonly isError: boolean },
  ): void {
    const assigned = this.#assigned.get(collectionId);
    if (!assigned) return;
    assigned.inFlight = Math.max(0, assigned.inFlight - 1);
    assigned.lastUsedMs = result.nowMs;
    assigned.requests += 1;
    assigned.busyMs += result.tookMs;
    if (result.isError) assigned.errors += 1;
  }

  /** Returns the state of each collection for the next heartbeat. `cpu` is distributed by the time of the requests. */
  report(nowMs: number, { cpu, sinceMs }: { readonly cpu: number; readonly sinceMs: number }): Report[] {
    const all = [...this.#assigned.values()];
    const busyMs = all.reduce((sum, { busyMs: own }) => sum + own, 0);
    const seconds = Math.max(0.001, sinceMs / 1_000);
    return all.map((assigned) => {
      const { assignment, inFlight, lastUsedMs, requests, errors, problem } = assigned;
      const isUnused = inFlight === 0 && nowMs - lastUsedMs >= idleBeforeRemovalMs;
      if (assigned.status === 'DRAINING' && isUnused) assigned.status = 'REMOVED';
      const report = {
        collectionId: assignment.collectionId,
        generation: assignment.generation,
        status: assigned.status,
        cpu: busyMs === 0 ? 0 : (cpu * assigned.busyMs) / busyMs,
        requestRate: requests / seconds,
        errorRate: requests === 0 ? 0 : errors / requests,
        ...(problem !== undefined && { problem }),
      };
      Object.assign(assigned, { requests: 0, errors: 0, busyMs: 0 });
      return report;
    });
  }

  get isEmpty(): boolean {
    return [...this.#assigned.values()].every(({ status }) => status === 'REMOVED');
  }

  #find(collectionId: string, generation: number): Assigned | undefined {
    const assigned = this.#assigned.get(collectionId);
    return assigned?.assignment.generation === generation ? assigned : undefined;
  }
}

const fresh = { problem: undefined, inFlight: 0, requests: 0, errors: 0, busyMs: 0 };
