import type { LinkedWorker, LinkedWorkerState, RuntimeMessage, ScaleLinkClient } from '@drover/scale-link';
import type { Observe } from '@drover/service-kit';
import type { WorkerLauncher } from '../deployments/application-deployments.js';
import { applicationNameOf } from '../applications/application-key.js';
import type { WorkerProcessObservation } from '../processes/process-observations.js';
import type { FunctionWorker } from '../workers/function-worker.js';
import type { FunctionWorkerRegistry } from '../workers/function-worker-registry.js';
import type { FunctionWorkerState } from '../workers/function-worker-states.js';
import type { ScaleControl, ScaleUpRequest } from '../workers/scale-control.js';

type WorkerRequest = Extract<RuntimeMessage, { readonly kind: 'request' }>;

interface LinkedWorkersOptions {
  readonly link: Pick<ScaleLinkClient, 'send' | 'isAttached'>;
  readonly registry: FunctionWorkerRegistry;
  readonly observe: Observe<WorkerProcessObservation>;
}

/** Open requests that are kept; the samples of an application tell its needs, too. */
const maxOpenRequests = 10_000;

/** How the scale controller sees the states of a worker. One that has just connected has nothing to tell yet. */
const linkedStates: Readonly<Record<FunctionWorkerState, LinkedWorkerState | undefined>> = {
  initializing: undefined,
  placeholder: 'placeholder',
  specializing: 'specializing',
  specialized: 'specializing',
  ready: 'ready',
  unhealthy: 'ready',
  draining: 'draining',
  abandoned: 'gone',
  disconnected: 'gone',
};

/** Returns a worker as the scale controller sees it; undefined while it has nothing to tell. */
export function toLinkedWorker(worker: FunctionWorker): LinkedWorker | undefined {
  const { id, state: own, applicationKey, endReason } = worker;
  const state = linkedStates[own] ?? (applicationKey === undefined ? undefined : 'specializing');
  if (state === undefined) return undefined;
  return {
    workerId: id,
    state,
    versionKey: applicationKey,
    ...(state === 'ready' && { stepsMs: stepsOf(worker.start) }),
    ...(state === 'gone' && endReason !== undefined && { reason: endReason }),
  };
}

/** Durations of the steps of a start that were done. */
function stepsOf({
  announcedMs,
  connectedMs,
  initializedMs = connectedMs,
  assignedMs,
  reloadedMs,
  readyMs = connectedMs,
}: FunctionWorker['start']): Readonly<Record<string, number>> {
  return {
    ...(announcedMs !== undefined && { process: connectedMs - announcedMs }),
    connect: initializedMs - connectedMs,
    ...(assignedMs !== undefined && reloadedMs !== undefined && { reload: reloadedMs - assignedMs }),
    load: readyMs - (reloadedMs ?? initializedMs),
  };
}

/**
 * Requests function workers from the scale controller and reports what becomes of them. Stands in for `WorkerProcesses`: it
 * starts and ends no process. A request is open until a worker of its version is ready; open ones are sent again when the link
 * is attached, since the controller that heard them may be gone.
 */
export class LinkedWorkers implements ScaleControl, WorkerLauncher {
  readonly #options: LinkedWorkersOptions;
  readonly #open = new Map<string, WorkerRequest>();
  /** Memory is short: requests wait. */
  #isSuspended = false;

  constructor(options: LinkedWorkersOptions) {
    this.#options = options;
  }

  requestWorker({ applicationKey, priority, reason, replaces, isIsolated = false }: ScaleUpRequest): void {
    // The controller replaces placeholders by itself when it hears that one is gone.
    if (applicationKey === undefined) return;
    this.#options.observe({ kind: 'worker.requested', application: applicationKey, priority, reason });
    const application = applicationNameOf(applicationKey);
    this.#request({ kind: 'request', application, versionKey: applicationKey, priority, reason, replaces, isIsolated });
  }

  recordReady(workerId: string): void {
    const worker = this.#options.registry.get(workerId);
    if (!worker) return;
    for (const [key, { versionKey, isIsolated }] of this.#open)
      if (versionKey === worker.applicationKey && isIsolated === worker.isIsolated) this.#open.delete(key);
  }

  recordMove(worker: FunctionWorker): void {
    const report = toLinkedWorker(worker);
    if (report) this.#options.link.send({ kind: 'worker', worker: report });
  }

  isolate(applicationKey: string): boolean {
    const { registry, link } = this.#options;
    const isThere = registry
      .in('initializing', 'specializing', 'specialized', 'ready', 'unhealthy')
      .some((worker) => worker.isIsolated && worker.applicationKey === applicationKey);
    if (isThere) return true;
    if (!link.isAttached) return false;
    this.requestWorker({ applicationKey, priority: 'urgent', reason: 'wake', replaces: undefined, isIsolated: true });
    return true;
  }

  endIsolation(applicationKey: string): void {
    for (const [key, { versionKey, isIsolated }] of this.#open)
      if (isIsolated && versionKey === applicationKey) this.#open.delete(key);
  }

  /** The controller ends the process when it hears that the worker is gone. */
  endWorker(): void {}

  /** The controller decides how many workers a version has. */
  run(): void {}

  cease(): void {}

  readyInMs(): undefined {
    return undefined;
  }

  /** Sends no requests until `resumeStarts`. */
  suspendStarts(): void {
    this.#isSuspended = true;
  }

  resumeStarts(): void {
    this.#isSuspended = false;
    this.sendOpen();
  }

  /** Sends all open requests again. */
  sendOpen(): void {
    if (this.#isSuspended) return;
    for (const request of this.#open.values()) this.#options.link.send(request);
  }

  /** Drops the requests of an application that is removed. */
  forget(application: string): void {
    for (const [key, request] of this.#open) if (request.application === application) this.#open.delete(key);
  }

  #request(request: WorkerRequest): void {
    const { versionKey, replaces, isIsolated } = request;
    const key = `${versionKey ?? ''} ${replaces ?? ''} ${isIsolated}`;
    this.#open.delete(key); // to the end: the oldest is evicted first
    this.#open.set(key, request);
    const [oldest] = this.#open.keys();
    if (this.#open.size > maxOpenRequests && oldest !== undefined) this.#open.delete(oldest);
    if (!this.#isSuspended) this.#options.link.send(request);
  }
}
