import { isCodedError } from '@drover/contracts';
import type { Clock, Observe } from '@drover/service-kit';
import type { ApplicationObservation } from '../deployments/application-observations.js';
import type { DeployedVersion, FunctionIndex } from '../deployments/deployed-version.js';
import { applicationBroken, functionsLost, specializationFailed } from '../errors.js';
import type { JobHostManager } from '../job-hosts/job-host-manager.js';
import type { JobHost } from '../job-hosts/job-host.js';
import type { AdmittedStream, StreamOwner } from '../rpc/stream-handshake.js';
import type { WorkerLifecycle } from '../worker-lifecycle/worker-lifecycle.js';
import type { FunctionWorker } from '../workers/function-worker.js';
import type { FunctionWorkerObservation } from '../workers/worker-observations.js';
import type { WorkerSettings } from '../workers/worker-settings.js';
import { initialize, loadFunctions, reload, timed, type StepTimes } from './bring-up.js';

/** The applications that workers are specialized for. */
export interface SpecializableApplications {
  /** Returns a version by its key. One of a parked application is opened first. */
  find(versionKey: string): DeployedVersion | undefined | Promise<DeployedVersion | undefined>;
  /** Requests the function metadata from a worker that has the code. */
  readIndex(worker: FunctionWorker, deployed: DeployedVersion): Promise<FunctionIndex>;
  /** Resolves with the started job host of a version; concurrent calls share it. */
  openJobHost(deployed: DeployedVersion, index: FunctionIndex): Promise<JobHost>;
  /** Returns the functions that are served now, and would not be by a new version with these. */
  lostBy(deployed: DeployedVersion, functions: ReadonlySet<string>): readonly string[];
  recordReady(versionKey: string, host: JobHost): void;
  /** The application itself is at fault: every other worker would fail too. */
  recordBroken(versionKey: string, error: unknown): void;
}

interface SpecializerOptions {
  readonly lifecycle: WorkerLifecycle;
  readonly jobHosts: JobHostManager;
  readonly applications: SpecializableApplications;
  readonly settings: WorkerSettings;
  readonly clock: Clock;
  readonly observe: Observe<FunctionWorkerObservation | ApplicationObservation>;
}

/** Time limit for the warm-up of a placeholder. */
const warmUpMs = 90_000;

/**
 * Brings workers to `ready`, step by step: a worker that was started for an application, or a placeholder that is given
 * one. A worker that fails at any step is abandoned: it holds a part of the application and cannot become a placeholder again.
 */
export class Specializer {
  readonly #options: SpecializerOptions;

  constructor(options: SpecializerOptions) {
    this.#options = options;
  }

  /** Registers the worker of an admitted stream and starts to bring it up. */
  connect(admitted: AdmittedStream): StreamOwner {
    const { worker, owner } = this.#options.lifecycle.connect(admitted);
    void this.#bringUp(worker);
    return owner;
  }

  /** Gives a placeholder an application. Resolves with true when the worker is ready; never rejects. */
  async specialize(worker: FunctionWorker, deployed: DeployedVersion): Promise<boolean> {
    worker.applicationKey = deployed.key; // before the move, which is reported
    worker.move('specializing');
    return await this.#attempt(worker, async (steps) => {
      await this.#reload(worker, deployed, steps);
      await this.#joinJobHost(worker, deployed, steps);
    });
  }

  async #bringUp(worker: FunctionWorker): Promise<void> {
    const { applications } = this.#options;
    const { applicationKey } = worker;
    await this.#attempt(worker, async (steps) => {
      const deployed = applicationKey === undefined ? undefined : await applications.find(applicationKey);
      if (deployed) worker.applicationKey = deployed.key; // a certificate may name the application without a version
      if (applicationKey !== undefined && !deployed) throw notDeployed(worker, applicationKey);
      if (deployed && worker.isManaged) return await this.#bringUpManaged(worker, deployed, steps);
      await this.#initialize(worker, deployed, steps);
      if (deployed) await this.#joinJobHost(worker, deployed, steps);
      else await becomePlaceholder(worker);
    });
  }

  /** Its process has no environment of the application: it gets that as a placeholder does, also when it has returned. */
  async #bringUpManaged(worker: FunctionWorker, deployed: DeployedVersion, steps: StepTimes): Promise<void> {
    await this.#initialize(worker, undefined, steps);
    worker.move('specializing');
    await this.#reload(worker, deployed, steps);
    await this.#joinJobHost(worker, deployed, steps);
  }

  async #initialize(worker: FunctionWorker, deployed: DeployedVersion | undefined, steps: StepTimes): Promise<void> {
    const { clock } = this.#options;
    await timed(steps, 'init', clock, () => initialize(worker, deployed?.version, this.#options));
    worker.start.initializedMs = clock.monotonicMs();
  }

  async #reload(worker: FunctionWorker, { version }: DeployedVersion, steps: StepTimes): Promise<void> {
    const { clock } = this.#options;
    worker.start.assignedMs = clock.monotonicMs();
    await timed(steps, 'environment', clock, () => reload(worker, version, this.#options));
    worker.start.reloadedMs = clock.monotonicMs();
  }

  async #joinJobHost(worker: FunctionWorker, deployed: DeployedVersion, steps: StepTimes): Promise<void> {
    const { clock, jobHosts, applications, observe, lifecycle } = this.#options;
    const startedMs = clock.monotonicMs();
    const index = await timed(steps, 'metadata', clock, () =>
      deployed.index(worker, (one) => applications.readIndex(one, deployed)),
    );
    worker.move('specialized');
    worker.codeVersion = deployed.version.codeVersion;
    const opened = applications.openJobHost(deployed, index);
    // The functions are loaded while the listeners of a new job host start.
    const [host, refusals] = await Promise.all([
      timed(steps, 'jobHost', clock, () => jobHosts.switchTo(worker.id, opened)),
      timed(steps, 'load', clock, () => loadFunctions(worker, index.functions, this.#options)),
    ]);
    worker.jobHostKey = host.key;
    this.#checkLoaded(worker, deployed, index, refusals);
    await timed(steps, 'warmup', clock, () => host.warmUp(worker));
    lifecycle.makeReady(worker);
    observe({
      kind: 'worker.specialized',
      workerId: worker.id,
      application: deployed.fullKey ?? deployed.key,
      durationMs: (steps['environment'] ?? 0) + clock.monotonicMs() - startedMs,
      steps: { ...steps },
    });
    applications.recordReady(deployed.key, host);
  }

  /**
   * Throws RUNTIME_APPLICATION_BROKEN if no function was loaded, and RUNTIME_FUNCTIONS_LOST if one was not that is served now. A
   * worker that refused some gets no invocations of those.
   */
  #checkLoaded(
    worker: FunctionWorker,
    deployed: DeployedVersion,
    { functions }: FunctionIndex,
    refusals: ReadonlyMap<string, string>,
  ): void {
    const { key, version } = deployed;
    const loaded = new Set(functions.flatMap(({ id, name }) => (refusals.has(id) ? [] : [name])));
    const lost = refusals.size > 0 ? this.#options.applications.lostBy(deployed, loaded) : [];
    if (loaded.size > 0 && lost.length === 0) deployed.loaded = loaded;
    if (refusals.size === 0) return;
    const refused = functions.filter(({ id }) => refusals.has(id));
    const problems = refused.map(({ id, name }) => `${name} could not be loaded: ${refusals.get(id) ?? ''}`);
    if (refused.length === functions.length)
      throw applicationBroken({ applicationId: version.applicationId, problems });
    if (lost.length > 0) throw functionsLost({ applicationId: version.applicationId, problems, functions: lost });
    worker.refusals = refusals;
    for (const problem of problems) this.#options.observe({ kind: 'application.problem', application: key, problem });
  }

  async #attempt(worker: FunctionWorker, run: (steps: StepTimes) => Promise<void>): Promise<boolean> {
    const { observe, applications, lifecycle } = this.#options;
    try {
      await run({});
      return true;
    } catch (error) {
      if (worker.is('disconnected', 'abandoned')) return false; // the lifecycle has handled its loss
      observe({ kind: 'worker.unfit', workerId: worker.id, error });
      const text = error instanceof Error ? error.message : String(error);
      const isAtFault = isCodedError(error) && error.fault === 'customer';
      if (isAtFault && worker.applicationKey !== undefined) applications.recordBroken(worker.applicationKey, error);
      lifecycle.abandon(worker, 'specialization-failed', text, { replace: !isAtFault });
      return false;
    }
  }
}

async function becomePlaceholder(worker: FunctionWorker): Promise<void> {
  worker.move('placeholder');
  if (worker.can('HandlesWorkerWarmupMessage'))
    await worker.request({ kind: 'workerWarmupRequest', value: {} }, 'workerWarmupResponse', warmUpMs);
}

function notDeployed(worker: FunctionWorker, key: string): Error {
  return specializationFailed({ workerId: worker.id, step: 'application', text: `${key} is not deployed here` });
}
