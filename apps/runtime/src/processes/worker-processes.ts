import type { Clock, Leash, Lifecycle, Observe, Randomness } from '@drover/service-kit';
import { versionKey, type ApplicationVersion } from '../deployments/application-version.js';
import type { WorkerLauncher } from '../deployments/application-deployments.js';
import { workerCommandMissing } from '../errors.js';
import type { WorkerProcessObservation } from './process-observations.js';
import type { Admission } from '../rpc/admission.js';
import type { ScaleControl, ScaleUpRequest } from '../workers/scale-control.js';
import { StartBudget } from './start-budget.js';
import { hostArguments, type WorkerCommand } from './worker-command.js';
import { WorkerProcess, type ProcessEnd } from './worker-process.js';

interface WorkerProcessesOptions {
  /** Undefined if none is configured. */
  readonly command: WorkerCommand | undefined;
  /** Ends the processes if the runtime is killed. */
  readonly leash: Leash;
  /** Number of workers per version. */
  readonly count: number;
  readonly admission: Admission;
  /** The address that workers connect to. */
  readonly address: () => { readonly host: string; readonly port: number };
  readonly maxMessageBytes: number;
  readonly graceMs: number;
  /** Whether a worker was sent WorkerTerminate and ends without a signal. */
  readonly endsByItself?: (workerId: string) => boolean;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: Observe<WorkerProcessObservation>;
}

/** The processes of one version. */
interface Fleet {
  readonly version: ApplicationVersion;
  readonly processes: Map<string, WorkerProcess>;
  readonly budget: StartBudget;
  /** Delayed starts, each as the function that cancels it. */
  readonly delayed: Set<() => void>;
  isStopped: boolean;
}

const errorsEachProcess = 3;
const errorPeriodMs = 1_800_000;
/** A process that ran this long did not fail at its start. */
const healthyAfterMs = 60_000;

/**
 * Runs worker processes on this machine and keeps their number: a lost one is replaced, at once the first time and with a
 * growing delay after that. Stands in for the scale controller where there is none.
 */
export class WorkerProcesses implements Lifecycle, ScaleControl, WorkerLauncher {
  readonly name = 'worker processes';
  readonly #options: WorkerProcessesOptions;
  readonly #fleets = new Map<string, Fleet>();
  #isStopping = false;
  /** Memory is short: processes that end are not replaced. */
  #isSuspended = false;

  constructor(options: WorkerProcessesOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {}

  async drain(): Promise<void> {
    this.#isStopping = true;
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    const ended = [...this.#fleets.values()].flatMap((fleet) => this.#endAll(fleet));
    await Promise.all(ended);
  }

  run(version: ApplicationVersion): void {
    if (!this.#options.command) throw workerCommandMissing({ applicationId: version.applicationId });
    const key = versionKey(version);
    const fleet: Fleet = this.#fleets.get(key) ?? {
      version,
      processes: new Map(),
      budget: new StartBudget({ maxErrors: errorsEachProcess * this.#options.count, periodMs: errorPeriodMs }),
      delayed: new Set(),
      isStopped: false,
    };
    fleet.isStopped = false;
    fleet.budget.reset();
    this.#fleets.set(key, fleet);
    this.#fill(fleet);
  }

  /** Starts no more workers of a version. Running ones are ended by their drain. */
  cease(key: string): void {
    const fleet = this.#fleets.get(key);
    if (fleet) fleet.isStopped = true;
  }

  /** Lost workers are replaced when their process ends. Only a worker whose process still runs needs a second one now. */
  requestWorker({ applicationKey, priority, reason, replaces }: ScaleUpRequest): void {
    this.#options.observe({ kind: 'worker.requested', application: applicationKey, priority, reason });
    const fleet = applicationKey === undefined ? undefined : this.#fleets.get(applicationKey);
    if (!fleet || replaces === undefined || !fleet.processes.has(replaces)) return;
    if (reason === 'invocation-timeout' || reason === 'worker-hung' || reason === 'restart-asked')
      this.#startOne(fleet);
  }

  endWorker(workerId: string): void {
    for (const { processes } of this.#fleets.values()) processes.get(workerId)?.end(0);
  }

  /** Starts no process until `resumeStarts`. */
  suspendStarts(): void {
    this.#isSuspended = true;
  }

  /** Starts the processes that are missing. */
  resumeStarts(): void {
    this.#isSuspended = false;
    for (const fleet of this.#fleets.values()) this.#fill(fleet);
  }

  #fill(fleet: Fleet): void {
    while (fleet.processes.size + fleet.delayed.size < this.#options.count) if (!this.#startOne(fleet)) return;
  }

  #startOne(fleet: Fleet): boolean {
    const { randomness, admission, address, command, maxMessageBytes, clock, observe, leash } = this.#options;
    if (this.#isStopping || this.#isSuspended || fleet.isStopped || !command) return false;
    const workerId = randomness.uuid();
    const startedMs = clock.monotonicMs();
    const requestId = randomness.uuid();
    admission.expect({ workerId, requestId, applicationKey: versionKey(fleet.version) });
    const child = new WorkerProcess({
      command,
      args: hostArguments({ ...address(), workerId, requestId, maxMessageBytes }),
      directory: fleet.version.directory,
      environment: { ...fleet.version.environment, FUNCTIONS_APPLICATION_DIRECTORY: fleet.version.directory },
      clock,
      onLine: ({ level, text }) => observe({ kind: 'process.line', workerId, level, text }),
      onEnd: (end) => {
        release();
        if (clock.monotonicMs() - startedMs >= healthyAfterMs) fleet.budget.reset();
        this.#ended(fleet, workerId, end);
      },
    });
    const release =
      child.pid === undefined ? () => undefined : leash.hold(child.pid, { signal: 'SIGTERM', graceMs: 1_000 });
    fleet.processes.set(workerId, child);
    observe({ kind: 'process.started', workerId, pid: child.pid });
    return true;
  }

  #ended(fleet: Fleet, workerId: string, end: ProcessEnd): void {
    const { admission, clock, observe } = this.#options;
    fleet.processes.delete(workerId);
    admission.withdraw(workerId);
    observe({ kind: 'process.ended', workerId, text: end.text });
    if (this.#isStopping || this.#isSuspended || fleet.isStopped) return;
    if (fleet.processes.size + fleet.delayed.size >= this.#options.count) return;
    if (end.kind === 'restart') return void this.#startOne(fleet);
    const decision = fleet.budget.recordError(clock.monotonicMs());
    if (decision.kind === 'rest') {
      const application = versionKey(fleet.version);
      observe({ kind: 'process.given-up', application, errors: decision.errors, text: end.text });
    }
    if (decision.delayMs === 0) return void this.#startOne(fleet);
    const cancel = clock.after(decision.delayMs, () => {
      fleet.delayed.delete(cancel);
      this.#fill(fleet);
    });
    fleet.delayed.add(cancel);
  }

  #endAll(fleet: Fleet): Promise<void>[] {
    fleet.isStopped = true;
    for (const cancel of fleet.delayed) cancel();
    fleet.delayed.clear();
    return [...fleet.processes].map(([workerId, child]) => {
      child.end(this.#options.graceMs, { endsByItself: this.#options.endsByItself?.(workerId) ?? false });
      return child.ended;
    });
  }
}
