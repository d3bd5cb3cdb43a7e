import type { AssignmentStatus, WorkerAssignment, CollectionWorkerHeartbeat } from '@drover/contracts';

type Report = CollectionWorkerHeartbeat['collections'][number];

interface Assigned {
  assignment: WorkerAssignment;
  status: Report['status'];
  /** Requests are served: also while it is prepared again for a newer assignment. */
  isServed: boolean;
  problem: string | undefined;
  /** The control plane does not know yet what the report says. */
  isDue: boolean;
  /** Ends the streams of the collection. Made for the first stream: most collections have none. */
  ending: AbortController | undefined;
  inFlight: number;
  lastUsedMs: number;
  /** Since the last report. */
  requests: number;
  errors: number;
  busyMs: number;
}

/** A collection that gets no request for this long while it drains is given up: gateways have had its new route for long. */
const idleBeforeRemovalMs = 5_000;
/** Of one heartbeat: about 200 kB. The rest follows in the next one. */
const maxReports = 1_000;

/**
 * What this worker serves, as the control plane told it. Pure: the caller prepares collections and sends the reports.
 *
 * - Before the first orders every collection is served: a worker that starts while the control plane is away serves on.
 * - INITIALIZING: being prepared; served only if it was served before.
 * - READY, DRAINING: served. A DRAINING one has its streams ended, and takes no new ones.
 * - REMOVED: given up, until the orders do not have it any more.
 */
export class AssignedCollections {
  /** The one reported longest ago first. */
  readonly #assigned = new Map<string, Assigned>();
  #hasOrders = false;
  #generation = 0;

  /** The newest generation in the orders. Assignments and routes have their generations from one sequence. */
  get generation(): number {
    return this.#generation;
  }

  /** Takes over the orders and returns the assignments that have to be prepared. Orders are complete: what they lack is given up. */
  apply(orders: readonly WorkerAssignment[], nowMs: number): readonly WorkerAssignment[] {
    this.#hasOrders = true;
    const ordered = new Set(orders.map(({ collectionId }) => collectionId));
    for (const [id, assigned] of this.#assigned) {
      if (ordered.has(id)) continue;
      this.#assigned.delete(id);
      endStreams(assigned);
    }
    return orders.filter((order) => this.#applyOne(order, nowMs));
  }

  /** Returns whether the collection has to be prepared. */
  #applyOne(order: WorkerAssignment, nowMs: number): boolean {
    this.#generation = Math.max(this.#generation, order.generation);
    const known = this.#assigned.get(order.collectionId);
    const isNew = known?.assignment.generation !== order.generation || isTakenBack(order.status, known.status);
    if (known && !isNew) {
      known.assignment = order; // the collection may have another name now
      if (order.status === 'DRAINING') drainOne(known);
      if (isBehind(order.status, known.status)) known.isDue = true;
      return false;
    }
    if (order.status === 'REMOVED') return false;
    // A worker that was started again has nothing of what it is to give up.
    const status = order.status === 'DRAINING' ? 'REMOVED' : 'INITIALIZING';
    this.#assigned.set(order.collectionId, {
      assignment: order,
      status,
      isServed: status === 'INITIALIZING' && known?.isServed === true,
      problem: undefined,
      isDue: true,
      ending: known?.ending?.signal.aborted ? undefined : known?.ending,
      inFlight: known?.inFlight ?? 0,
      lastUsedMs: nowMs,
      requests: 0,
      errors: 0,
      busyMs: 0,
    });
    return status === 'INITIALIZING';
  }

  /** The collection can be served now, unless it was taken away in the meantime. */
  prepared({ collectionId, generation }: WorkerAssignment): void {
    const assigned = this.#find(collectionId, generation);
    if (assigned?.status !== 'INITIALIZING') return;
    Object.assign(assigned, { status: 'READY', isServed: true, problem: undefined, isDue: true });
  }

  /** It could not be prepared; the next report says why. Returns what to prepare instead: undefined if it is not assigned any more. */
  failed({ collectionId, generation }: WorkerAssignment, problem: string): WorkerAssignment | undefined {
    const assigned = this.#find(collectionId, generation);
    if (assigned?.status !== 'INITIALIZING') return undefined;
    assigned.isDue ||= assigned.problem !== problem;
    assigned.problem = problem;
    return assigned.assignment;
  }

  /** Whether requests of gateways for the collection are served here; `isEndless` if the request opens a stream. */
  serves(collectionId: string, isEndless = false): boolean {
    if (!this.#hasOrders) return true;
    const assigned = this.#assigned.get(collectionId);
    return assigned?.isServed === true && !(isEndless && assigned.status === 'DRAINING');
  }

  /** Aborts when the streams of the collection have to end, because another worker serves it. */
  endingOf(collectionId: string): AbortSignal | undefined {
    const assigned = this.#assigned.get(collectionId);
    if (!assigned) return undefined;
    assigned.ending ??= new AbortController();
    return assigned.ending.signal;
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

  /**
   * Returns the state of collections for the next heartbeat: of those that changed first, then of those that were reported longest ago.
   * `cpu` is distributed by the time of the requests.
   */
  report(nowMs: number, { cpu, sinceMs }: { readonly cpu: number; readonly sinceMs: number }): Report[] {
    const all = [...this.#assigned.values()];
    for (const assigned of all) {
      const isUnused = assigned.inFlight === 0 && nowMs - assigned.lastUsedMs >= idleBeforeRemovalMs;
      if (assigned.status === 'DRAINING' && isUnused)
        Object.assign(assigned, { status: 'REMOVED', isServed: false, isDue: true });
    }
    const busyMs = all.reduce((sum, { busyMs: own }) => sum + own, 0);
    const seconds = Math.max(0.001, sinceMs / 1_000);
    const urgent = all.filter(({ isDue, requests }) => isDue || requests > 0);
    const rest = all.filter(({ isDue, requests }) => !isDue && requests === 0);
    return [...urgent, ...rest].slice(0, maxReports).map((assigned) => {
      const report = reportOf(assigned, busyMs === 0 ? 0 : cpu / busyMs, seconds);
      Object.assign(assigned, { requests: 0, errors: 0, busyMs: 0, isDue: false });
      this.#assigned.delete(report.collectionId);
      this.#assigned.set(report.collectionId, assigned);
      return report;
    });
  }

  /** The control plane did not get the report: it is sent again. */
  unreported(reports: readonly Report[]): void {
    for (const { collectionId, generation } of reports) {
      const assigned = this.#find(collectionId, generation);
      if (assigned) assigned.isDue = true;
    }
  }

  /** Whether a heartbeat must not wait until it is due: the control plane has to learn something. */
  get hasNews(): boolean {
    for (const { isDue } of this.#assigned.values()) if (isDue) return true;
    return false;
  }

  /** Whether a collection is being prepared, and has not failed. */
  get isPreparing(): boolean {
    for (const { status, problem } of this.#assigned.values())
      if (status === 'INITIALIZING' && problem === undefined) return true;
    return false;
  }

  get isDraining(): boolean {
    for (const { status } of this.#assigned.values()) if (status === 'DRAINING') return true;
    return false;
  }

  get isEmpty(): boolean {
    for (const { status } of this.#assigned.values()) if (status !== 'REMOVED') return false;
    return true;
  }

  /** How many collections are in each state. */
  countByStatus(): ReadonlyMap<Report['status'], number> {
    const counts = new Map<Report['status'], number>();
    for (const { status } of this.#assigned.values()) counts.set(status, (counts.get(status) ?? 0) + 1);
    return counts;
  }

  #find(collectionId: string, generation: number): Assigned | undefined {
    const assigned = this.#assigned.get(collectionId);
    return assigned?.assignment.generation === generation ? assigned : undefined;
  }
}

function drainOne(assigned: Assigned): void {
  // What was never ready can be given up at once, and what is given up stays so.
  if (assigned.status === 'INITIALIZING' && !assigned.isServed)
    Object.assign(assigned, { status: 'REMOVED', isDue: true });
  else if (assigned.status !== 'REMOVED') assigned.status = 'DRAINING';
  endStreams(assigned);
}

function endStreams({ ending }: Assigned): void {
  ending?.abort(new Error('Another collection worker serves the collection now.'));
}

/** Whether the control plane wants a collection to be served on that it had told this worker to give up. */
function isTakenBack(ordered: AssignmentStatus, own: Report['status']): boolean {
  return (own === 'DRAINING' || own === 'REMOVED') && ordered !== 'DRAINING' && ordered !== 'REMOVED';
}

/** Whether the control plane has not heard of a state that this worker has reached. */
function isBehind(ordered: AssignmentStatus, own: Report['status']): boolean {
  if (own === 'READY') return ordered === 'PENDING' || ordered === 'INITIALIZING';
  return own === 'REMOVED' && ordered === 'DRAINING';
}

function reportOf(assigned: Assigned, cpuPerBusyMs: number, seconds: number): Report {
  const { assignment, status, requests, errors, busyMs, problem } = assigned;
  return {
    collectionId: assignment.collectionId,
    generation: assignment.generation,
    status,
    cpu: cpuPerBusyMs * busyMs,
    requestRate: requests / seconds,
    errorRate: requests === 0 ? 0 : errors / requests,
    ...(problem !== undefined && { problem }),
  };
}
