import { sleep, type Clock, type Observe } from '@drover/service-kit';
import type { FunctionDefinition } from '../function-definition.js';
import type { Attempt, AttemptResult, Dispatcher } from '../dispatcher.js';
import { commandOf, jobRequest } from './job-contract.js';
import { fromJobEnd } from './job-result.js';
import type { Job, JobRunner } from './job-runner.js';
import type { JobObservation } from './observations.js';

export interface JobDispatcherOptions {
  /** Runs the jobs; undefined when the operator has not enabled one. Started and stopped with the dispatcher. */
  readonly runner: JobRunner | undefined;
  /** Maximum number of jobs at the same time, including those that are being ended. */
  readonly maxJobs: number;
  readonly clock: Clock;
  readonly observe: Observe<JobObservation>;
}

const noRunner =
  'this platform runs no programs; ask its operator to set DROVER_JOB_RUNNER=process, or use another executionMode';
/** A slot becomes free when any job ends, which cannot be predicted. */
const retryAfterMs = 1_000;
/** How often `drain` checks whether the last job has ended. */
const drainMs = 20;

/**
 * Runs one job for each attempt. A job either posts its result to `:complete` and may then end by itself within the grace period,
 * or ends without a callback: then its exit code and output are the result.
 */
export class JobDispatcher implements Dispatcher {
  readonly name = 'jobs of functions';
  readonly mode = 'REMOTE';
  readonly #options: JobDispatcherOptions;
  readonly #jobs = new Set<Job>();
  #isStopped = false;

  constructor(options: JobDispatcherOptions) {
    this.#options = options;
  }

  /** Shown in the responses for functions. */
  get backend(): string | undefined {
    return this.#options.runner?.backend;
  }

  /** Returns what keeps this definition from running here, as a sentence for the caller; undefined when it can run. */
  problemOf({ spec }: FunctionDefinition): string | undefined {
    if (!this.#options.runner) return noRunner;
    const command = commandOf(spec);
    return 'problem' in command ? command.problem : undefined;
  }

  dispatch(attempt: Attempt): Promise<AttemptResult> {
    const { runner, maxJobs, observe } = this.#options;
    if (!runner) return failed('JOB_RUNNER_MISSING', noRunner, false);
    if (this.#isStopped) return failed('JOB_FAILED', 'this process is stopping', true);
    if (this.#jobs.size >= maxJobs) {
      observe({ kind: 'job.refused', function: attempt.definition.name, running: this.#jobs.size });
      return full(maxJobs);
    }
    const request = jobRequest(attempt);
    if ('problem' in request) return failed('JOB_FAILED', request.problem, false);
    const job = runner.run(request);
    this.#jobs.add(job);
    return new Promise((resolve) => {
      attempt.onAbandoned((reason) => {
        // A job that has called back is about to end and may still clean up.
        job.end(reason === 'completed' ? 'wait' : 'ask');
        resolve({ kind: 'timeout', code: 'JOB_ABANDONED', message: 'the attempt was abandoned before the job ended' });
      });
      void job.ended.then((end) => {
        this.#jobs.delete(job);
        resolve(fromJobEnd(end));
      });
    });
  }

  async start(signal: AbortSignal): Promise<void> {
    await this.#options.runner?.start(signal);
    this.#isStopped = false;
  }

  async drain(deadline: AbortSignal): Promise<void> {
    while (this.#jobs.size > 0 && !deadline.aborted)
      await sleep(this.#options.clock, drainMs, deadline).catch(() => undefined);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    const jobs = [...this.#jobs];
    for (const job of jobs) job.end('ask');
    await Promise.all(jobs.map(({ ended }) => ended));
    await this.#options.runner?.stop();
  }
}

function full(maxJobs: number): Promise<AttemptResult> {
  const message = `${maxJobs} jobs are running, the maximum (DROVER_MAX_JOBS)`;
  return Promise.resolve({
    kind: 'failed',
    code: 'JOB_RUNNER_FULL',
    message,
    transient: true,
    retryAfterMs,
    wasNotTried: true,
    queuePauseMs: retryAfterMs,
  });
}

function failed(code: string, message: string, transient: boolean): Promise<AttemptResult> {
  return Promise.resolve({ kind: 'failed', code, message, transient });
}
