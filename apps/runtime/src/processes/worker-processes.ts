import type { WorkerCommand } from '@drover/instance-provider';
import type { Lifecycle } from '@drover/service-kit';
import type { WorkerLauncher } from '../deployments/application-deployments.js';
import { versionKey, type ApplicationVersion } from '../deployments/application-version.js';
import { workerCommandMissing } from '../errors.js';
import type { ScaleControl, ScaleUpRequest } from '../workers/scale-control.js';
import { WorkerFleet, type WorkerFleetOptions } from './worker-fleet.js';

interface WorkerProcessesOptions extends Omit<WorkerFleetOptions, 'command' | 'mayStart'> {
  /** Undefined if none is configured. */
  readonly command: WorkerCommand | undefined;
}

/** Runs worker processes on this machine, a fleet for each version. Stands in for the scale controller where there is none. */
export class WorkerProcesses implements Lifecycle, ScaleControl, WorkerLauncher {
  readonly name = 'worker processes';
  readonly #options: WorkerProcessesOptions;
  readonly #fleets = new Map<string, WorkerFleet>();
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
    await Promise.all([...this.#fleets.values()].flatMap((fleet) => fleet.endAll()));
  }

  run(version: ApplicationVersion, onFailing: (text: string) => void = () => undefined): void {
    const { command } = this.#options;
    if (!command) throw workerCommandMissing({ applicationId: version.applicationId });
    const key = versionKey(version);
    const mayStart = (): boolean => !this.#isStopping && !this.#isSuspended;
    const fleet = this.#fleets.get(key) ?? new WorkerFleet(version, { ...this.#options, command, mayStart });
    this.#fleets.set(key, fleet);
    fleet.run(onFailing);
  }

  cease(key: string): void {
    this.#fleets.get(key)?.cease();
  }

  /** Lost workers are replaced when their process ends. Only a worker whose process still runs needs a second one now. */
  requestWorker({ applicationKey, priority, reason, replaces }: ScaleUpRequest): void {
    this.#options.observe({ kind: 'worker.requested', application: applicationKey, priority, reason });
    const fleet = this.#fleetOf(applicationKey);
    if (!fleet || replaces === undefined || !fleet.has(replaces)) return;
    if (reason === 'invocation-timeout' || reason === 'worker-hung' || reason === 'restart-asked') fleet.start();
  }

  endWorker(workerId: string, _reason: string, graceMs: number): void {
    for (const fleet of this.#fleets.values()) fleet.end(workerId, graceMs);
  }

  recordReady(workerId: string): void {
    for (const fleet of this.#fleets.values()) fleet.recordReady(workerId);
  }

  /** Only the start and the end of a process count here. */
  recordMove(): void {}

  isolate(applicationKey: string): boolean {
    return this.#fleets.get(applicationKey)?.isolate() ?? false;
  }

  endIsolation(applicationKey: string): void {
    this.#fleets.get(applicationKey)?.endIsolation();
  }

  readyInMs(applicationKey: string): number | undefined {
    return this.#fleets.get(applicationKey)?.readyInMs();
  }

  /** Starts no process until `resumeStarts`. */
  suspendStarts(): void {
    this.#isSuspended = true;
  }

  /** Starts the processes that are missing. */
  resumeStarts(): void {
    this.#isSuspended = false;
    for (const fleet of this.#fleets.values()) fleet.fill();
  }

  #fleetOf(key: string | undefined): WorkerFleet | undefined {
    return key === undefined ? undefined : this.#fleets.get(key);
  }
}
