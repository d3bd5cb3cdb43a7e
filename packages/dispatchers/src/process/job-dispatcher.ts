import { sleep, type Clock, type Observe } from '@drover/service-kit';
import type { FunctionDefinition } from '../function-definition.js';
import type { Attempt, AttemptResult, Dispatcher } from '../dispatcher.js';
import { commandOf, jobRequest } from './job-contract.js';
import { fromJobEnd } from './job-result.js';
import type { Job, JobRunner } from './job-runner.js';
import type { JobObservation } from './observations.js';

export interface JobDispatcherOptions {
  /** What runs jobs here; nothing unless whoever runs the platform said so. It lives and ends with the dispatcher. */
  readonly runner: JobRunner | undefined;
  /** Jobs at the same time, those that are asked to end included. */
  readonly maxJobs: number;
  readonly clock: Clock;
  readonly observe: Observe<JobObservation>;
}

const noRunner =
  'this platform runs no jobs; whoever runs it can set DROVER_JOB_RUNNER=process, or the function can use another executionMode';
/** A slot becomes free when any job ends: nobody knows when. */
const retryAfterMs = 1_000;
/** How often a drain looks whether the last job is over. */
const drainMs = 20;

/**
 * One job for each attempt. Its result comes through `:complete`, and then the job may end by itself within the grace; or it
 * ends without having called back, and its exit code and what it printed are the result.
 */
export class JobDispatcher implements Dispatcher {
  readonly name = 'remote functions';
  readonly mode = 'REMOTE';
  readonly #options: JobDispatcherOptions;
  readonly #jobs = new Set<Job>();
  #isStopped = false;

  constructor(options: JobDispatcherOptions) {
    this.#options = options;
  }

  /** As shown for functions. */
  get backend(): string | undefined {
    return this.#options.runner?.backend;
  }

  /** What keeps this definition from running here, in words; undefined when nothing does. */
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
        // Whoever has called back is about to end anyway, and may have something to tidy up.
        job.end(reason === 'completed' ? 'wait' : 'ask');
        resolve({ kind: 'timeout', code: 'JOB_ABANDONED', message: 'nobody waited for the job any more' });
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
  const message = `${maxJobs} jobs run already, which is as many as may`;
  return Promise.resolve({
    kind: 'failed',
    code: 'JOB_RUNNER_FULL',
    message,
    transient: true,
    retryAfterMs,
    wasNotTried: true,
  });
}

function failed(code: string, message: string, transient: boolean): Promise<AttemptResult> {
  return Promise.resolve({ kind: 'failed', code, message, transient });
}
