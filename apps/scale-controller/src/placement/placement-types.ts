import type { Instance, InstanceSpec } from '@drover/instance-provider';
import type {
  ControllerMessage,
  HostedApplication,
  LinkedWorker,
  RuntimeAttach,
  RuntimeMessage,
} from '@drover/scale-link';

/** An application as placement needs it: its versions with their shares, and its bounds. */
export interface PlacedApplication {
  /** `tenant/application`. */
  readonly application: string;
  readonly tenantId: string;
  /** What its runtime gets; its generation says whether the runtime has the newest. */
  readonly hosted: HostedApplication;
  readonly maxWorkers: number;
  readonly isDeleting: boolean;
  /** Options for the program of the workers of a version, by code version. Such workers are processes of their own, never placeholders. */
  readonly programOptions?: Readonly<Record<string, readonly string[]>>;
}

/** A worker as it is stored: enough for the next leader to adopt its process. */
export interface StoredWorker {
  readonly workerId: string;
  readonly runtimeId: string;
  /** Of the runtime when the worker was started; a worker that can prove nothing else is only valid with it. */
  readonly incarnation: string;
  /** `host:port` that it connects to. */
  readonly endpoint: string;
  readonly requestId: string;
  /** `tenant/application:code`; undefined for a placeholder. */
  readonly versionKey: string | undefined;
  readonly isIsolated: boolean;
  readonly startedAtMs: number;
}

/** The desired state of an application as it is stored. */
export interface StoredApplication {
  readonly application: string;
  readonly desired: number;
  /** The runtime that hosts it. */
  readonly runtimeId: string | undefined;
}

/** A command without the token of the leader, which the shell adds. */
export type PlacementCommand = WithoutToken<ControllerMessage>;
type WithoutToken<M> = M extends unknown ? Omit<M, 'token'> : never;

type RuntimeRequest = Extract<RuntimeMessage, { kind: 'request' }>;

/** Everything that can change where workers run. */
export type PlacementEvent =
  /** First event of a term: what the previous leader stored, and the instances that run. */
  | {
      readonly kind: 'adopt';
      readonly workers: readonly StoredWorker[];
      readonly applications: readonly StoredApplication[];
      /** All applications of the catalog. */
      readonly catalog: readonly PlacedApplication[];
      readonly instances: readonly Instance[];
    }
  /** All instances as of a moment: workers that are missing have ended, unknown ones are orphans. */
  | { readonly kind: 'instances'; readonly instances: readonly Instance[]; readonly asOfMs: number }
  | { readonly kind: 'instance'; readonly instance: Instance }
  /** The provider refused to start it. */
  | { readonly kind: 'start-failed'; readonly instanceId: string; readonly reason: string }
  | { readonly kind: 'application'; readonly application: PlacedApplication }
  /** It is not in the catalog any more. */
  | { readonly kind: 'application-removed'; readonly application: string }
  | { readonly kind: 'attached'; readonly attach: RuntimeAttach }
  | { readonly kind: 'detached'; readonly runtimeId: string; readonly incarnation: string }
  | { readonly kind: 'worker'; readonly runtimeId: string; readonly worker: LinkedWorker }
  | {
      readonly kind: 'answer';
      readonly runtimeId: string;
      readonly commandId: number;
      readonly error?: { readonly code: string; readonly message: string } | undefined;
    }
  | { readonly kind: 'request'; readonly runtimeId: string; readonly request: RuntimeRequest }
  /** What was decided: how many workers an application should have. */
  | { readonly kind: 'desired'; readonly application: string; readonly workers: number }
  /** How many placeholders each runtime should have. */
  | { readonly kind: 'pool'; readonly target: number }
  | { readonly kind: 'tick' };

/** Something that happened, for the log and the metrics. */
export type PlacementNote =
  | { readonly kind: 'placement.specialized'; readonly workerId: string; readonly versionKey: string }
  /** A placeholder waits for its application. */
  | { readonly kind: 'placement.idle'; readonly workerId: string; readonly tookMs: number }
  /** No placeholder was free: a cold start. */
  | { readonly kind: 'placement.pool-missed'; readonly workerId: string; readonly versionKey: string }
  | {
      readonly kind: 'placement.ready';
      readonly workerId: string;
      readonly versionKey: string;
      readonly tookMs: number;
    }
  | {
      readonly kind: 'placement.lost';
      readonly workerId: string;
      readonly versionKey: string | undefined;
      readonly reason: string;
      readonly urgency: string;
    }
  | { readonly kind: 'placement.orphan-ended'; readonly instanceId: string; readonly reason: string }
  | { readonly kind: 'placement.adopted'; readonly workers: number; readonly orphans: number }
  | { readonly kind: 'placement.moved'; readonly application: string; readonly from: string; readonly to: string }
  | {
      readonly kind: 'placement.command-failed';
      readonly command: string;
      readonly code: string;
      readonly reason: string;
    };

/** What the shell does, in this order. */
export type PlacementEffect =
  /** Stores the worker, and only then starts its process: an instance without a row is an orphan. */
  | { readonly kind: 'start'; readonly spec: InstanceSpec; readonly row: StoredWorker | undefined }
  | { readonly kind: 'end'; readonly instanceId: string; readonly graceMs: number }
  | { readonly kind: 'forget'; readonly instanceId: string }
  | { readonly kind: 'send'; readonly runtimeId: string; readonly command: PlacementCommand }
  | { readonly kind: 'save-worker'; readonly row: StoredWorker }
  | { readonly kind: 'drop-worker'; readonly workerId: string }
  | { readonly kind: 'save-application'; readonly row: StoredApplication }
  | { readonly kind: 'drop-application'; readonly application: string }
  /** A deleted application has no worker and no host any more. */
  | { readonly kind: 'deleted'; readonly application: string }
  | { readonly kind: 'note'; readonly note: PlacementNote };
