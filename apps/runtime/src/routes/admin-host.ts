import type { FunctionDefinition, FunctionProblem } from '../applications/function-definition.js';

/** What the admin API of one application asks of its host. */
export interface AdminHost {
  /** Disabled ones too. */
  functions(): readonly FunctionDefinition[];
  problems(): readonly FunctionProblem[];
  /** Runs a function that has no HTTP trigger with this input, without waiting for it. */
  run(definition: FunctionDefinition, input: string): void;
  status(): HostStatus;
  /** Begins anew: workers and listeners. Without waiting for it. */
  restart(): void;
  /** Stops taking work and lets finish what runs. */
  drain(): void;
  drainStatus(): DrainStatus;
}

export interface HostStatus {
  readonly id: string;
  readonly state: 'Starting' | 'Running' | 'Error' | 'Stopping' | 'Stopped';
  readonly version: string;
  readonly instanceId: string;
  readonly uptimeMs: number;
  readonly errors: readonly string[];
}

export interface DrainStatus {
  readonly state: 'Disabled' | 'InProgress' | 'Completed';
  readonly outstandingInvocations: number;
  readonly outstandingRetries: number;
}
