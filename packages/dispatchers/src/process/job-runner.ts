import type { Lifecycle } from '@drover/service-kit';
import type { FunctionDefinition } from '../function-definition.js';

/** One attempt as a job: everything that whoever runs it must know. */
export interface JobRequest {
  readonly definition: FunctionDefinition;
  readonly executionId: string;
  readonly attempt: number;
  /** Program and arguments; no shell reads them. */
  readonly command: readonly string[];
  /** The variables of the contract with jobs, without the payload. They outrank those of the function. */
  readonly variables: Readonly<Record<string, string>>;
  /** JSON. */
  readonly payload: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  /** It may be ended when it takes longer, should nobody else do it. */
  readonly timeoutMs: number;
}

/** How a job ended. */
export type JobEnd =
  | {
      readonly kind: 'exited';
      readonly code: number;
      /** What it printed. */
      readonly output: Buffer;
      /** The last line it wrote to standard error. */
      readonly lastLine: string;
    }
  | { readonly kind: 'too-much-output'; readonly limitBytes: number }
  | { readonly kind: 'killed'; readonly signal: string }
  /** `transient`: the system could not, just now. */
  | { readonly kind: 'not-started'; readonly reason: string; readonly transient: boolean };

/** A job that was asked for. */
export interface Job {
  /** Resolves once, when nothing of it is left. Never rejects. */
  readonly ended: Promise<JobEnd>;
  /** `ask` tells it to end, `wait` lets it end by itself; after the grace it is made to. The first call counts, but `ask` after `wait`. */
  end(how: 'ask' | 'wait'): void;
}

/**
 * Runs jobs: processes of this machine, Kubernetes Jobs. A job must not outlive us in a way that nobody ever ends it: what is
 * started here ends with us, what is started elsewhere has its own time limit there.
 */
export interface JobRunner extends Lifecycle {
  /** As shown for functions: `process`, `k8s`. */
  readonly backend: string;
  /** Begins at once; whether it could be started is told by its end. */
  run(request: JobRequest): Job;
}
