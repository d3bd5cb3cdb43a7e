import type { FunctionDefinition, FunctionProblem } from '../applications/function-definition.js';

/** The operations of the admin API on one application. */
export interface AdminHost {
  /** All functions, disabled ones included. */
  functions(): readonly FunctionDefinition[];
  problems(): readonly FunctionProblem[];
  /** Starts a function without an HTTP trigger. Does not wait for its end. */
  run(definition: FunctionDefinition, input: string): void;
  status(): HostStatus;
  /** Replaces all workers. Does not wait for it. */
  restart(): void;
  /** Pauses the trigger listeners; running invocations finish. */
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
