import { Leash, type Clock, type Environment, type Observe } from '@drover/service-kit';
import type { FunctionsUser } from '../functions-user.js';
import { removeStaleJobDirectories } from './job-directories.js';
import type { Job, JobRequest, JobRunner } from './job-runner.js';
import type { JobObservation } from './observations.js';
import { ProcessJob } from './process-job.js';

export interface ProcessJobRunnerOptions {
  /** The environment of this process; jobs get the shared part of it. */
  readonly environment: Environment;
  /** Time between SIGTERM and SIGKILL. */
  readonly graceMs: number;
  readonly clock: Clock;
  readonly observe: Observe<JobObservation>;
  readonly maxOutputBytes?: number;
  /** The user that jobs run as. Undefined: the user of this process, whose files they can then read. */
  readonly user?: FunctionsUser | undefined;
}

/** The limit of a result. */
const defaultMaxOutputBytes = 8 * 1_024 * 1_024;

/** Runs jobs as processes of this machine. */
export class ProcessJobRunner implements JobRunner {
  readonly name = 'job processes';
  readonly backend = 'process';
  readonly #options: ProcessJobRunnerOptions;
  readonly #leash = new Leash();
  readonly #jobs = new Set<ProcessJob>();

  constructor(options: ProcessJobRunnerOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    const { clock, observe, user } = this.#options;
    await removeStaleJobDirectories(clock.now());
    observe({ kind: 'job.enabled', uid: user?.uid ?? process.getuid?.(), isPlatformUser: user === undefined });
  }

  run(request: JobRequest): Job {
    const { environment, graceMs, clock, observe, maxOutputBytes = defaultMaxOutputBytes, user } = this.#options;
    const job = new ProcessJob(request, { environment, graceMs, clock, leash: this.#leash, maxOutputBytes, user });
    this.#jobs.add(job);
    const of = { function: request.definition.name, executionId: request.executionId, attempt: request.attempt };
    observe({ kind: 'job.started', ...of });
    const beganMs = clock.monotonicMs();
    void job.ended.then((end) => {
      this.#jobs.delete(job);
      observe({ kind: 'job.ended', ...of, end: end.kind, durationMs: clock.monotonicMs() - beganMs });
    });
    return job;
  }

  /** Process ids of the running jobs. */
  get pids(): number[] {
    return [...this.#jobs].flatMap(({ pid }) => pid ?? []);
  }

  /** The dispatcher waits for its jobs. */
  async drain(): Promise<void> {}

  async stop(): Promise<void> {
    const jobs = [...this.#jobs];
    for (const job of jobs) job.end('ask');
    await Promise.all(jobs.map(({ ended }) => ended));
    await this.#leash.stop();
  }
}
