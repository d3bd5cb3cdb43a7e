import { isCodedError } from '@drover/contracts';
import type { Clock, Observe } from '@drover/service-kit';
import type { DeployedVersion, FunctionIndex } from '../deployments/deployed-version.js';
import { specializationFailed } from '../errors.js';
import type { JobHost } from '../job-hosts/job-host.js';
import type { JobHostManager } from '../job-hosts/job-host-manager.js';
import type { FunctionWorkerObservation } from '../workers/worker-observations.js';
import type { ApplicationObservation } from '../deployments/application-observations.js';
import type { FunctionWorker } from '../workers/function-worker.js';
import type { WorkerLifecycle } from '../worker-lifecycle/worker-lifecycle.js';
import type { WorkerSettings } from '../workers/worker-settings.js';
import { initialize, loadFunctions, reload, timed, type StepTimes } from './bring-up.js';

export interface SpecializerOptions {
  readonly lifecycle: () => WorkerLifecycle;
  readonly jobHosts: JobHostManager;
  readonly settings: WorkerSettings;
  readonly clock: Clock;
  readonly observe: Observe<FunctionWorkerObservation | ApplicationObservation>;
  readonly find: (versionKey: string) => DeployedVersion | undefined;
  /** Asks a worker for the functions of the app it has. */
  readonly readIndex: (worker: FunctionWorker, deployed: DeployedVersion) => Promise<FunctionIndex>;
  readonly openJobHost: (key: string, deployed: DeployedVersion, index: FunctionIndex) => JobHost;
  readonly onReady: (versionKey: string, host: JobHost) => void;
  /** The application itself is at fault. */
  readonly onBroken: (versionKey: string, error: unknown) => void;
  readonly onPlaceholder?: (worker: FunctionWorker) => void;
}

/** How long a placeholder may take to warm up. */
const warmUpMs = 90_000;

/**
 * Brings workers up, step by step: one that was started for an application, or a placeholder that is given one. A worker
 * that fails at any step is given up: half of an application is in it, so it can be nobody's placeholder any more.
 */
export class Specializer {
  readonly #options: SpecializerOptions;

  constructor(options: SpecializerOptions) {
    this.#options = options;
  }

  /** A worker has just connected. Never throws. */
  async welcome(worker: FunctionWorker): Promise<void> {
    const { applicationKey } = worker;
    const deployed = applicationKey === undefined ? undefined : this.#options.find(applicationKey);
    await this.#attempt(worker, async (steps) => {
      if (applicationKey !== undefined && !deployed) throw this.#unknown(worker, applicationKey);
      await timed(steps, 'init', this.#options.clock, () => initialize(worker, deployed?.version, this.#options));
      if (!deployed) return await this.#becomePlaceholder(worker);
      await this.#settleIn(worker, deployed, steps);
    });
  }

  /** Gives a placeholder an application; true when it is ready. Never throws. */
  async specialize(worker: FunctionWorker, deployed: DeployedVersion): Promise<boolean> {
    worker.move('specializing');
    worker.applicationKey = deployed.key;
    return await this.#attempt(worker, async (steps) => {
      await timed(steps, 'environment', this.#options.clock, () => reload(worker, deployed.version, this.#options));
      await this.#settleIn(worker, deployed, steps);
    });
  }

  async #becomePlaceholder(worker: FunctionWorker): Promise<void> {
    worker.move('placeholder');
    if (worker.can('HandlesWorkerWarmupMessage'))
      await worker.ask({ kind: 'workerWarmupRequest', value: {} }, 'workerWarmupResponse', warmUpMs);
    this.#options.onPlaceholder?.(worker);
  }

  async #settleIn(worker: FunctionWorker, deployed: DeployedVersion, steps: StepTimes): Promise<void> {
    const { clock, jobHosts, openJobHost, readIndex, observe, lifecycle, onReady } = this.#options;
    const startedMs = clock.monotonicMs();
    const index = await timed(steps, 'metadata', clock, () =>
      deployed.index(worker, (one) => readIndex(one, deployed)),
    );
    worker.move('specialized');
    worker.codeVersion = deployed.version.codeVersion;
    const key = deployed.jobHostKey ?? '';
    const host = await timed(steps, 'jobHost', clock, () =>
      jobHosts.switchTo(
        worker.id,
        jobHosts.getOrCreate(key, () => openJobHost(key, deployed, index)),
      ),
    );
    worker.jobHostKey = key;
    const failures = await timed(steps, 'load', clock, () => loadFunctions(worker, index.functions, this.#options));
    for (const [name, why] of failures)
      observe({
        kind: 'application.problem',
        application: deployed.key,
        problem: `${name} could not be loaded: ${why}`,
      });
    lifecycle().makeReady(worker);
    const durationMs = (steps['environment'] ?? 0) + clock.monotonicMs() - startedMs;
    observe({
      kind: 'worker.specialized',
      workerId: worker.id,
      application: deployed.fullKey ?? deployed.key,
      durationMs,
      steps: { ...steps },
    });
    onReady(deployed.key, host);
  }

  async #attempt(worker: FunctionWorker, run: (steps: StepTimes) => Promise<void>): Promise<boolean> {
    try {
      await run({});
      return true;
    } catch (error) {
      if (worker.is('disconnected', 'abandoned')) return false; // its loss has been dealt with
      this.#options.observe({ kind: 'worker.unfit', workerId: worker.id, error });
      const text = error instanceof Error ? error.message : String(error);
      const isTheirs = isCodedError(error) && error.fault === 'customer';
      if (isTheirs && worker.applicationKey !== undefined) this.#options.onBroken(worker.applicationKey, error);
      this.#options.lifecycle().abandon(worker, 'specialization-failed', text, { replace: !isTheirs });
      return false;
    }
  }

  #unknown(worker: FunctionWorker, key: string): Error {
    return specializationFailed({ workerId: worker.id, step: 'application', text: `nothing is known of ${key}` });
  }
}
