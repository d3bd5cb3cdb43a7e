import { defineStates } from '@drover/contracts';

/** What an instance runs. */
export type InstanceRole = 'runtime' | 'function-worker' | 'collection-worker';

/**
 * - starting: asked for
 * - running: its process or pod runs
 * - ending: told to end
 * - ended: gone; kept until `forget`
 */
export const instanceStates = defineStates('instance', {
  starting: ['running', 'ending', 'ended'],
  running: ['ending', 'ended'],
  ending: ['ended'],
  ended: [],
});

export type InstanceState = (typeof instanceStates.all)[number];

/** An instance to start. A provider never sees customer code: a function worker gets its application over FunctionRpc. */
export interface InstanceSpec {
  /** Chosen by the caller and unique: a second start with the same id starts nothing. */
  readonly instanceId: string;
  readonly role: InstanceRole;
  /** How it is found again: tenant, application, runtime, pool. Keys and values as in Kubernetes: at most 63 of `[A-Za-z0-9._-]`. */
  readonly labels: Readonly<Record<string, string>>;
  /** Added to the environment that the provider gives every instance of the role. */
  readonly environment: Readonly<Record<string, string>>;
  /** Added to the end of the command line that the provider has for the role. */
  readonly args: readonly string[];
  /** Options of the program that runs the role's file, before that file: `--max-old-space-size=512` for Node.js. */
  readonly programOptions?: readonly string[];
  /** Bounds that the provider enforces where it can; undefined: none. */
  readonly limits?: { readonly memoryMb?: number };
}

export interface Instance {
  readonly instanceId: string;
  readonly role: InstanceRole;
  readonly labels: Readonly<Record<string, string>>;
  readonly state: InstanceState;
  /** By the clock of the machine that runs it. */
  readonly startedAtMs: number;
  /** How it ended, for people: `exit code 1: …`; undefined while it has not. */
  readonly end?: { readonly isClean: boolean; readonly text: string };
  /** Cores of the machine that it shares with others, in a list only; undefined: not known, or its machine is its own. */
  readonly machineCores?: number;
  /** What it used since the list before, in a list only; undefined where the provider cannot measure it. */
  readonly usage?: InstanceUsage;
}

export interface InstanceUsage {
  /** Cores: 0.5 is half of one core. */
  readonly cpu: number;
  /** Share of its memory limit; of the machine's memory if it has none. */
  readonly memory: number;
  /** Share of the time in which its main thread ran or waited for a core; undefined where the system has no such number. */
  readonly cpuDemand?: number;
}

/** What an instance prints is no event: the provider's own machine, or the cluster, has the log. */
export interface InstanceEvent {
  readonly kind: 'changed';
  readonly instance: Instance;
}

/**
 * Starts, lists and ends instances. Every call that acts carries the fencing token of the leader that acts: the provider refuses
 * a token that is lower than the highest one it has seen. Instances outlive the caller; the next one finds them by `list`.
 */
export interface InstanceProvider {
  /** Resolves when the instance is asked for; its state changes follow as events. Throws INSTANCE_FENCED, INSTANCE_REFUSED. */
  start(spec: InstanceSpec, token: number): Promise<void>;
  /** Asks an instance to end, and kills it with all its processes after `graceMs`. An unknown one is no error. */
  end(instanceId: string, graceMs: number, token: number): Promise<void>;
  /**
   * Returns all instances that have not ended, and ended ones that no caller has forgotten yet. With a token, lower ones are
   * refused from now on: no earlier leader can change what a new leader adopts.
   */
  list(token?: number): Promise<readonly Instance[]>;
  /** Drops the record of an ended instance. One that has not ended stays. */
  forget(instanceId: string, token: number): Promise<void>;
  /** Calls `listener` with every change from now on. Returns the function that ends it. */
  subscribe(listener: (event: InstanceEvent) => void): () => void;
}
