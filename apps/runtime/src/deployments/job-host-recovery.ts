import type { Observe } from '@drover/service-kit';
import type { DeployedVersion, FunctionIndex } from './deployed-version.js';
import { jobHostFailed } from '../errors.js';
import type { InvocationTracker } from '../invocations/invocation-tracker.js';
import type { JobHostObservation } from '../job-hosts/job-host-observations.js';
import type { FunctionWorker } from '../workers/function-worker.js';
import type { FunctionWorkerRegistry } from '../workers/function-worker-registry.js';
import type { WorkerLifecycle } from '../worker-lifecycle/worker-lifecycle.js';
import type { JobHostManager } from '../job-hosts/job-host-manager.js';
import type { JobHost } from '../job-hosts/job-host.js';

export interface JobHostRecoveryOptions {
  readonly jobHosts: JobHostManager;
  readonly registry: FunctionWorkerRegistry;
  readonly tracker: InvocationTracker;
  readonly lifecycle: WorkerLifecycle;
  readonly observe: Observe<JobHostObservation>;
  readonly openJobHost: (key: string, deployed: DeployedVersion, index: FunctionIndex) => JobHost;
}

/**
 * Replaces a job host whose listener broke. Its workers take nothing meanwhile and what they run fails, so that its messages
 * return to their source; with the new job host they go on. When there is no new one, the workers are given up.
 */
export class JobHostRecovery {
  readonly #options: JobHostRecoveryOptions;

  constructor(options: JobHostRecoveryOptions) {
    this.#options = options;
  }

  watch(host: JobHost, deployed: DeployedVersion, index: FunctionIndex): JobHost {
    host.onFailed((error) => void this.#recover(host, deployed, index, error));
    return host;
  }

  async #recover(host: JobHost, deployed: DeployedVersion, index: FunctionIndex, cause: unknown): Promise<void> {
    const { jobHosts, registry, tracker, lifecycle, observe, openJobHost } = this.#options;
    const { key } = host;
    observe({ kind: 'job-host.failed', jobHost: key, error: cause });
    const text = cause instanceof Error ? cause.message : String(cause);
    const error = jobHostFailed({ jobHost: key, text }, cause);
    const workers = registry.in('ready', 'unhealthy').filter((worker) => worker.jobHostKey === key);
    for (const worker of workers) {
      worker.tryMove('unhealthy');
      host.router.remove(worker);
      tracker.failAllOf(worker.id, text, error);
    }
    await jobHosts.stop(key, AbortSignal.abort());
    try {
      const next = jobHosts.getOrCreate(key, () => this.watch(openJobHost(key, deployed, index), deployed, index));
      await Promise.all(workers.map((worker) => this.#restore(worker, next)));
    } catch {
      for (const worker of workers) lifecycle.abandon(worker, 'job-host-failed', text);
    }
  }

  async #restore(worker: FunctionWorker, next: Promise<JobHost>): Promise<void> {
    const host = await this.#options.jobHosts.switchTo(worker.id, next);
    if (!worker.is('unhealthy')) return; // lost meanwhile
    worker.move('ready');
    host.router.add(worker);
  }
}
