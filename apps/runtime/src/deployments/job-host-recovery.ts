import type { Observe } from '@drover/service-kit';
import { jobHostFailed } from '../errors.js';
import type { InvocationTracker } from '../invocations/invocation-tracker.js';
import type { JobHostManager } from '../job-hosts/job-host-manager.js';
import type { JobHostObservation } from '../job-hosts/job-host-observations.js';
import type { JobHost } from '../job-hosts/job-host.js';
import type { WorkerLifecycle } from '../worker-lifecycle/worker-lifecycle.js';
import type { FunctionWorker } from '../workers/function-worker.js';
import type { FunctionWorkerRegistry } from '../workers/function-worker-registry.js';
import type { DeployedVersion, FunctionIndex } from './deployed-version.js';

export interface JobHostRecoveryOptions {
  readonly jobHosts: JobHostManager;
  readonly registry: FunctionWorkerRegistry;
  readonly tracker: InvocationTracker;
  readonly lifecycle: WorkerLifecycle;
  /** Creates the job host of a version; it is not started. */
  readonly openJobHost: (key: string, deployed: DeployedVersion, index: FunctionIndex) => JobHost;
  readonly observe: Observe<JobHostObservation>;
}

/**
 * Replaces a job host when one of its listeners breaks. Meanwhile its workers are unhealthy and their invocations fail, so
 * that the messages return to their source. The workers move to the new job host; if it does not start, they are abandoned.
 */
export class JobHostRecovery {
  readonly #options: JobHostRecoveryOptions;

  constructor(options: JobHostRecoveryOptions) {
    this.#options = options;
  }

  /** Opens a job host that is replaced when it fails. */
  open(key: string, deployed: DeployedVersion, index: FunctionIndex): JobHost {
    const host = this.#options.openJobHost(key, deployed, index);
    host.onFailed((error) => void this.#recover(host, deployed, index, error));
    return host;
  }

  async #recover(host: JobHost, deployed: DeployedVersion, index: FunctionIndex, cause: unknown): Promise<void> {
    const { jobHosts, registry, tracker, lifecycle, observe } = this.#options;
    const { key } = host;
    observe({ kind: 'job-host.failed', jobHost: key, error: cause });
    const text = cause instanceof Error ? cause.message : String(cause);
    const error = jobHostFailed({ jobHost: key, text }, cause);
    const workers = registry.in('ready', 'unhealthy').filter((worker) => worker.jobHostKey === key);
    for (const worker of workers) {
      worker.tryMove('unhealthy');
      host.routerOf(worker).remove(worker);
      tracker.failAllOf(worker.id, error);
    }
    await jobHosts.stop(key, AbortSignal.abort());
    try {
      const next = jobHosts.getOrCreate(key, () => this.open(key, deployed, index));
      await Promise.all(workers.map((worker) => this.#restore(worker, next)));
    } catch {
      for (const worker of workers) lifecycle.abandon(worker, 'job-host-failed', text);
    }
  }

  async #restore(worker: FunctionWorker, next: Promise<JobHost>): Promise<void> {
    const host = await this.#options.jobHosts.switchTo(worker.id, next);
    if (!worker.is('unhealthy')) return; // lost meanwhile
    worker.move('ready');
    host.routerOf(worker).add(worker);
  }
}
