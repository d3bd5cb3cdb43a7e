import type { PlacedWorkerState } from './placed-worker-states.js';

export interface PlacementTimings {
  /** From the start of a process to its connection. */
  readonly startMs: number;
  /** From the command to a worker that is ready. */
  readonly specializeMs: number;
  /** For workers to reconnect to a runtime that was started again. */
  readonly reconnectMs: number;
  /** For the invocations of a worker that drains. */
  readonly drainMs: number;
  /** From the signal to end to the kill. */
  readonly endGraceMs: number;
  /** For an answer; after it, a command that may be repeated is sent again. */
  readonly commandMs: number;
  /** For a runtime that is away to come back, before its applications move to another. */
  readonly runtimeGraceMs: number;
  /** How long an urgent request keeps one worker wanted, until a decision has seen its cause. */
  readonly wakeMs: number;
}

export const defaultPlacementTimings: PlacementTimings = {
  startMs: 30_000,
  specializeMs: 30_000,
  reconnectMs: 3_000,
  drainMs: 30_000,
  endGraceMs: 5_000,
  commandMs: 5_000,
  runtimeGraceMs: 10_000,
  wakeMs: 5_000,
};

/** The rules of placement that safety depends on, each a pure function: simulations replace one to prove that they would notice. */
export interface PlacementRules {
  /** Whether a worker in this state counts against the number that is wanted. Draining ones do not, starting ones do. */
  readonly isActive: (state: PlacedWorkerState) => boolean;
  /** Whether a worker may be given to an application: never one that has had another, or may have. */
  readonly isFree: (worker: { readonly versionKey: string | undefined; readonly isProven: boolean }) => boolean;
  /** Whether a worker that its new runtime does not know may reconnect; otherwise it ends. */
  readonly mayReconnect: (worker: { readonly versionKey: string | undefined; readonly isProven: boolean }) => boolean;
  /** How many workers are wanted, within the bounds of the application. */
  readonly wanted: (facts: { readonly desired: number; readonly max: number; readonly isWoken: boolean }) => number;
  /** How many workers beyond their version's share stay until others are ready. */
  readonly maySurplus: (facts: { readonly wanted: number; readonly ready: number }) => number;
  /** Whether an instance that no row knows is ended. */
  readonly isOrphan: (facts: { readonly isKnown: boolean }) => boolean;
}

const activeStates: readonly PlacedWorkerState[] = ['starting', 'specializing', 'ready', 'lost', 'placeholder'];

export const placementRules: PlacementRules = {
  isActive: (state) => activeStates.includes(state),
  isFree: ({ versionKey, isProven }) => versionKey === undefined && isProven,
  // The row of a placeholder may be older than its use: only its runtime, or the leader that saw it all along, can tell.
  mayReconnect: ({ versionKey, isProven }) => versionKey !== undefined || isProven,
  wanted: ({ desired, max, isWoken }) => Math.min(max, Math.max(desired, isWoken ? 1 : 0)),
  maySurplus: ({ wanted, ready }) => Math.max(0, wanted - ready),
  isOrphan: ({ isKnown }) => !isKnown,
};

export interface PlacementOptions {
  readonly newId: () => string;
  /** Age at which the next placeholder is replaced. */
  readonly placeholderTtlMs: () => number;
  /** Bounds of all placeholders. */
  readonly pool: { readonly min: number; readonly max: number };
  /** Bound of all workers: placeholders are the first to be given up. */
  readonly maxWorkers: number;
  /** Runtimes that are started through the provider; further ones may attach by themselves. */
  readonly runtimes: number;
  /** Command line of a worker that connects to a runtime. */
  readonly workerArguments: (facts: {
    readonly host: string;
    readonly port: number;
    readonly workerId: string;
    readonly requestId: string;
  }) => readonly string[];
  readonly timings?: PlacementTimings;
  readonly rules?: PlacementRules;
}
