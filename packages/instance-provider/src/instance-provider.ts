/** What an instance runs. */
export type InstanceRole = 'runtime' | 'function-worker';

/** An instance to start. A provider never sees customer code: a function worker gets its application over FunctionRpc. */
export interface InstanceSpec {
  /** Chosen by the caller and unique: a second start with the same id starts nothing. */
  readonly instanceId: string;
  readonly role: InstanceRole;
  /** How it is found again: tenant, application, runtime, pool. Keys and values as in Kubernetes: at most 63 of `[A-Za-z0-9._-]`. */
  readonly labels: Readonly<Record<string, string>>;
  /** Added to the environment that the provider gives every instance of the role. */
  readonly environment: Readonly<Record<string, string>>;
  /** Added to the command line that the provider has for the role. */
  readonly args: readonly string[];
  /** Bounds that the provider enforces where it can; undefined: none. */
  readonly limits?: { readonly memoryMb?: number };
}

/** - starting: asked for; running: its process or pod runs; ending: told to end; ended: gone, kept until `forget` */
export type InstanceState = 'starting' | 'running' | 'ending' | 'ended';

export interface Instance {
  readonly instanceId: string;
  readonly role: InstanceRole;
  readonly labels: Readonly<Record<string, string>>;
  readonly state: InstanceState;
  /** By the clock of the machine that runs it. */
  readonly startedAtMs: number;
  /** How it ended, for people: `exit code 1: …`; undefined while it has not. */
  readonly end?: { readonly isClean: boolean; readonly text: string };
}

export type InstanceEvent =
  | { readonly kind: 'changed'; readonly instance: Instance }
  | { readonly kind: 'line'; readonly instanceId: string; readonly level: 'info' | 'error'; readonly text: string };

/**
 * Starts, lists and ends instances. Every call that acts carries the fencing token of the leader that acts: the provider refuses
 * a token that is lower than the highest one it has seen. Instances outlive the caller; the next one finds them by `list`.
 */
export interface InstanceProvider {
  /** Resolves when the instance is asked for; its state changes follow as events. Throws INSTANCE_FENCED, INSTANCE_REFUSED. */
  start(spec: InstanceSpec, token: number): Promise<void>;
  /** Asks an instance to end, and kills it with all its processes after `graceMs`. An unknown one is no error. */
  end(instanceId: string, graceMs: number, token: number): Promise<void>;
  /** All instances that have not ended, and ended ones that no caller has forgotten yet. */
  list(): Promise<readonly Instance[]>;
  /** Drops the record of an ended instance. */
  forget(instanceId: string, token: number): Promise<void>;
  /** Calls `listener` with every change from now on. Returns the function that ends it. */
  subscribe(listener: (event: InstanceEvent) => void): () => void;
}
