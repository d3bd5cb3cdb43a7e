import type { Lifecycle } from '@drover/service-kit';
import type { FunctionDefinition } from '../function-definition.js';

/** One attempt as a job, with everything a runner needs. */
export interface JobRequest {
  readonly definition: FunctionDefinition;
  readonly executionId: string;
  readonly attempt: number;
  /** Program and arguments; no shell interprets them. */
  readonly command: readonly string[];
  /** The variables of the contract with jobs, without the payload. They override those of the function. */
  readonly variables: Readonly<Record<string, string>>;
  /** JSON. */
  readonly payload: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  /** A runner that outlives this process must end the job after this time. */
  readonly timeoutMs: number;
}

/** How a job ended. */
export type JobEnd =
  | {
      readonly kind: 'exited';
      readonly code: number;
      /** Standard output. */
      readonly output: Buffer;
      /** Last line of standard error. */
      readonly lastLine: string;
    }
  | { readonly kind: 'too-much-output'; readonly limitBytes: number }
  | { readonly kind: 'killed'; readonly signal: string }
  /** `transient`: the system may be able to start it later. */
  | { readonly kind: 'not-started'; readonly reason: string; readonly transient: boolean };

/** A requested job. */
export interface Job {
  /** Resolves when nothing is left of the job. Never rejects. */
  readonly ended: Promise<JobEnd>;
  /**
   * Ends the job: `ask` sends SIGTERM now, `wait` after the grace period; SIGKILL follows after another. Only `ask` after `wait`
   * changes an earlier call.
   */
  end(how: 'ask' | 'wait'): void;
}

/**
 * Runs jobs, as processes of this machine or elsewhere. No job may run for ever when this process dies: jobs on this machine end
 * with it, jobs elsewhere need a time limit of their own.
 */
export interface JobRunner extends Lifecycle {
  /** Shown in the responses for functions: `process`, `k8s`. */
  readonly backend: string;
  /** Starts a job. A failure to start is reported by `ended`. */
  run(request: JobRequest): Job;
}
