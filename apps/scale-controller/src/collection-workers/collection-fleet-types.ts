import type { CollectionWorkerStatus } from '@drover/contracts';
import type { InstanceState } from '@drover/instance-provider';

/** A collection worker as the control plane has stored it. */
export interface RegisteredWorker {
  readonly workerId: string;
  readonly pool: string;
  readonly status: CollectionWorkerStatus;
  /** Most assignments that it takes. */
  readonly capacity: number;
  /** Assignments that it has, those that leave it included. */
  readonly assigned: number;
  /** CPU milliseconds per second, by its last heartbeat. */
  readonly cpu: number;
}

/** A pool of collection workers as the last pass of the control plane left it. */
export interface CollectionPoolFacts {
  readonly pool: string;
  /** Replicas of collections that no worker of the pool had room for. */
  readonly missing: number;
  /** Collections that workers of the pool have. */
  readonly collections: number;
}

/** A process that the scale controller has started. Its id is that of the worker. */
export interface WorkerInstance {
  readonly workerId: string;
  readonly pool: string;
  readonly state: InstanceState;
  /** Whether it ended without being told to, or had to be killed. */
  readonly hasFailed: boolean;
}

export interface CollectionFleetFacts {
  readonly nowMs: number;
  readonly workers: readonly RegisteredWorker[];
  readonly pools: readonly CollectionPoolFacts[];
  readonly instances: readonly WorkerInstance[];
  /** Whether a process may start now: false for a while after several have failed. */
  readonly mayStart: boolean;
}

export interface CollectionFleetPolicy {
  /** Most collection workers of all pools together, those that others run included; 0 starts none. */
  readonly maxWorkers: number;
  /** Workers that another supervisor runs, registered or not: `drover up` runs two. */
  readonly permanentWorkers: number;
  /** Most assignments of a worker that is started. */
  readonly capacity: number;
  /** Mean CPU milliseconds per second of the workers of a pool above which it gets more. */
  readonly targetCpu: number;
  /** A pool must be above `targetCpu` for so long. */
  readonly busyMs: number;
  /** A worker goes when its pool could have done without it for so long. */
  readonly idleMs: number;
}

/** What holds now, and since when. Only conditions that have held without a break since then are in it. */
export interface CollectionFleetState {
  readonly beganMs: number;
  readonly since: ReadonlyMap<string, number>;
}

export type CollectionFleetAction =
  | { readonly kind: 'start'; readonly pool: string; readonly count: number; readonly cause: 'room' | 'load' }
  /** Asks the control plane to move its collections to other workers. */
  | { readonly kind: 'drain'; readonly workerId: string; readonly cause: 'idle' | 'gone' }
  | { readonly kind: 'end'; readonly workerId: string; readonly cause: 'drained' | 'unregistered' | 'unfit' }
  | { readonly kind: 'forget'; readonly workerId: string; readonly hasFailed: boolean };
