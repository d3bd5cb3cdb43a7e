import type { StoredFunctionIndex } from '@drover/contracts';

/** A version of an application, with everything that a runtime needs to serve it. */
export interface HostedVersion {
  readonly tenantId: string;
  readonly applicationId: string;
  readonly codeVersion: string;
  readonly directory: string;
  /** Settings of the deployment; they take precedence over those of the folder. */
  readonly settings: Readonly<Record<string, string>>;
  /** What the deployment found: the runtime serves the routes and watches the triggers of an application without workers. */
  readonly index: StoredFunctionIndex;
}

/** The application that a runtime hosts: its versions and their traffic shares in percent, by code version. */
export interface HostedApplication {
  readonly tenantId: string;
  readonly applicationId: string;
  /** Grows with every change: a runtime ignores an older one. */
  readonly generation: number;
  readonly versions: readonly HostedVersion[];
  readonly traffic: Readonly<Record<string, number>>;
}

/** - connected … gone: as the runtime sees its function workers; see `functionWorkerStates` of the runtime */
export type LinkedWorkerState = 'placeholder' | 'specializing' | 'ready' | 'draining' | 'gone';

export interface LinkedWorker {
  readonly workerId: string;
  readonly state: LinkedWorkerState;
  /** `tenant/application:code`; undefined for a placeholder. */
  readonly versionKey: string | undefined;
  /** Duration of each step of its start, when it is ready. */
  readonly stepsMs?: Readonly<Record<string, number>>;
  /** Why it is gone. */
  readonly reason?: string;
}

/** What a runtime measured of one trigger; `problem` instead of numbers that it cannot know. */
export interface TriggerSample {
  readonly functionName: string;
  /** In Azure's spelling: `queueTrigger`. */
  readonly type: string;
  readonly waiting?: number;
  readonly oldestAgeMs?: number;
  readonly arrivalsPerSecond?: number;
  /** Bound of useful workers: partitions of an event hub, distinct sessions. */
  readonly maxUsefulWorkers?: number;
  /** Events that one worker takes at a time, by `host.json`; undefined: the default of the type. */
  readonly targetPerWorker?: number;
  readonly problem?: string;
}

/** One application at a runtime in the last second. */
export interface ApplicationSample {
  /** `tenant/application`. */
  readonly application: string;
  readonly inFlight: number;
  /** Invocations that wait in the runtime for a worker. */
  readonly waiting: number;
  /** Concurrent invocations that its ready workers take together: the configured ones, fewer of workers that compute. */
  readonly capacity: number;
  /** The workers that `capacity` is of; undefined: as many as the controller knows to be ready. */
  readonly readyWorkers?: number;
  /** Ready workers whose event loop is held up by what they run, so that further calls would have to wait. */
  readonly computingWorkers?: number;
  readonly arrivals: number;
  readonly completions: number;
  readonly failures: number;
  /** Of completed invocations in this second. */
  readonly meanServiceMs: number | undefined;
  readonly p95ServiceMs: number | undefined;
  /** By code version, for automatic roll back. */
  readonly versions: Readonly<
    Record<string, { readonly completions: number; readonly failures: number; readonly p95ServiceMs?: number }>
  >;
  /** Of its workers: mean share of a core, and the largest share of their memory limit. */
  readonly cpu: number | undefined;
  readonly memory: number | undefined;
  /** Its listeners are paused because all workers are full. */
  readonly isBackpressured: boolean;
  readonly triggers: readonly TriggerSample[];
}

/** From a runtime. */
export type RuntimeMessage =
  | {
      readonly kind: 'attach';
      readonly runtimeId: string;
      /** Of this process: a runtime that was started again has a new one. */
      readonly incarnation: string;
      /** Where function workers connect. */
      readonly endpoint: { readonly host: string; readonly port: number };
      readonly functionsUrl: string;
      readonly workers: readonly LinkedWorker[];
      /** `tenant/application` and generation of what it hosts already. */
      readonly applications: Readonly<Record<string, number>>;
    }
  | {
      readonly kind: 'sample';
      readonly atMs: number;
      readonly memory: number;
      readonly applications: readonly ApplicationSample[];
    }
  /** An event needs a worker: of an application at zero (`wake`), or in the place of a lost one. */
  | {
      readonly kind: 'request';
      readonly application: string;
      readonly versionKey: string | undefined;
      readonly priority: 'urgent' | 'normal';
      readonly reason: string;
      readonly replaces: string | undefined;
      readonly isIsolated: boolean;
    }
  | { readonly kind: 'worker'; readonly worker: LinkedWorker }
  | {
      readonly kind: 'answer';
      readonly commandId: number;
      readonly error?: { readonly code: string; readonly message: string };
    };

/** To a runtime. `token` is the fencing token of the leader: a runtime refuses one that is lower than the highest it has seen. */
export type ControllerMessage = { readonly token: number; readonly commandId: number } & (
  | { readonly kind: 'host'; readonly application: HostedApplication }
  /** Drains an application and removes it. */
  | { readonly kind: 'remove'; readonly application: string; readonly drainMs: number }
  /** A worker process will connect with this one-time request id. */
  | {
      readonly kind: 'expect';
      readonly workerId: string;
      readonly requestId: string;
      readonly versionKey: string | undefined;
      readonly isIsolated: boolean;
      /** It is started with a debugger, which may halt it; absent: it is not, or all workers of the runtime are. */
      readonly isDebugged?: boolean;
    }
  /** Gives a placeholder an application; answered when the worker is ready. */
  | {
      readonly kind: 'specialize';
      readonly workerId: string;
      readonly versionKey: string;
      readonly isIsolated: boolean;
    }
  /** Drains a worker; answered when it has no invocation any more. */
  | { readonly kind: 'drain'; readonly workerId: string; readonly withinMs: number }
  /** Everything that the runtime hosts was sent since it attached: it knows what it does not host. */
  | { readonly kind: 'synced' }
  /** Releases the job host of an application without workers: routes and triggers stay watched. */
  | { readonly kind: 'park'; readonly application: string }
);
