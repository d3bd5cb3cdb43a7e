import type { StateMachine } from '@drover/contracts';
import type { PlacedWorkerState } from './placed-worker-states.js';
import type { StoredWorker } from './placement-types.js';

export interface PlacedWorker {
  readonly workerId: string;
  readonly runtimeId: string;
  readonly endpoint: string;
  readonly requestId: string;
  readonly isIsolated: boolean;
  readonly startedAtMs: number;
  readonly ttlMs: number;
  readonly state: StateMachine<PlacedWorkerState>;
  /** Of its runtime, when that last reported it. */
  incarnation: string;
  /** Set once: a worker that has had an application is never given to another. */
  versionKey: string | undefined;
  /** When it was asked for by a version, or started for the pool. */
  askedAtMs: number;
  /** Since it is in its state. */
  sinceMs: number;
  /** Until when it may stay in its state; undefined: without a limit. */
  deadlineMs: number | undefined;
  /** The provider has listed its process. */
  isSeen: boolean;
  /** This leader has seen what it is: it started the worker, or its runtime reported it. */
  isProven: boolean;
}

/** `tenant/application` of `tenant/application:code`. */
export function applicationOf(versionKey: string): string {
  return versionKey.slice(0, versionKey.indexOf(':'));
}

export function toStored(worker: PlacedWorker): StoredWorker {
  const { workerId, runtimeId, incarnation, endpoint, requestId, versionKey, isIsolated, startedAtMs } = worker;
  return { workerId, runtimeId, incarnation, endpoint, requestId, versionKey, isIsolated, startedAtMs };
}

/** All workers, found by id, version, application and runtime. Iterates in the order in which they were added. */
export class WorkerTable {
  readonly #workers = new Map<string, PlacedWorker>();
  readonly #byVersion = new Map<string, Set<PlacedWorker>>();
  readonly #versionsOf = new Map<string, Set<string>>();
  readonly #pools = new Map<string, Set<PlacedWorker>>();

  all(): Iterable<PlacedWorker> {
    return this.#workers.values();
  }

  get(workerId: string): PlacedWorker | undefined {
    return this.#workers.get(workerId);
  }

  add(worker: PlacedWorker): void {
    this.#workers.set(worker.workerId, worker);
    this.#index(worker);
  }

  remove(worker: PlacedWorker): void {
    this.#workers.delete(worker.workerId);
    if (worker.versionKey === undefined) return void this.#pools.get(worker.runtimeId)?.delete(worker);
    const ofVersion = this.#byVersion.get(worker.versionKey);
    ofVersion?.delete(worker);
    if (ofVersion?.size !== 0) return;
    this.#byVersion.delete(worker.versionKey);
    const application = applicationOf(worker.versionKey);
    const versions = this.#versionsOf.get(application);
    versions?.delete(worker.versionKey);
    if (versions?.size === 0) this.#versionsOf.delete(application);
  }

  /** Gives a placeholder a version. Throws if it has had another one. */
  assign(worker: PlacedWorker, versionKey: string): void {
    if (worker.versionKey === versionKey) return;
    if (worker.versionKey !== undefined)
      throw new Error(`Worker ${worker.workerId} has run ${worker.versionKey} and cannot run ${versionKey}.`);
    this.#pools.get(worker.runtimeId)?.delete(worker);
    worker.versionKey = versionKey;
    this.#index(worker);
  }

  ofVersion(versionKey: string): readonly PlacedWorker[] {
    return [...(this.#byVersion.get(versionKey) ?? [])];
  }

  /** Versions of an application that have a worker, whatever its state. */
  versionsOf(application: string): readonly string[] {
    return [...(this.#versionsOf.get(application) ?? [])];
  }

  ofApplication(application: string): readonly PlacedWorker[] {
    const workers: PlacedWorker[] = [];
    for (const versionKey of this.#versionsOf.get(application) ?? [])
      for (const worker of this.#byVersion.get(versionKey) ?? []) workers.push(worker);
    return workers;
  }

  /** Workers of a runtime without an application. */
  pool(runtimeId: string): readonly PlacedWorker[] {
    return [...(this.#pools.get(runtimeId) ?? [])];
  }

  ofRuntime(runtimeId: string): readonly PlacedWorker[] {
    return [...this.#workers.values()].filter((worker) => worker.runtimeId === runtimeId);
  }

  #index(worker: PlacedWorker): void {
    const { versionKey, runtimeId } = worker;
    if (versionKey === undefined) return void entryOf(this.#pools, runtimeId).add(worker);
    entryOf(this.#byVersion, versionKey).add(worker);
    entryOf(this.#versionsOf, applicationOf(versionKey)).add(versionKey);
  }
}

function entryOf<T>(map: Map<string, Set<T>>, key: string): Set<T> {
  const known = map.get(key) ?? new Set<T>();
  map.set(key, known);
  return known;
}
