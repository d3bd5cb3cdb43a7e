import {
  AssignmentRunner,
  ManualAssignments,
  runAssignmentPass,
  WorkerRegistry,
  type AssignmentPolicy,
} from '@drover/control-plane/testing';
import type { SimClock } from '@drover/scale-controller/testing';
import { SimConnectionLost, type SimDatabase } from './sim-database.js';
import { SimCallFailed, type SimNetwork } from './sim-network.js';
import { SimProcess } from './sim-process.js';

export interface SimPlaneOptions {
  readonly clock: SimClock;
  readonly database: SimDatabase;
  readonly network: SimNetwork;
  readonly policy: AssignmentPolicy;
  readonly replicas: number;
  readonly pools: ReadonlyMap<string, string>;
  /** Called with the number of steps of each pass. */
  readonly onPass: (steps: number) => void;
  readonly fail: (violation: string) => void;
}

/** A third of the times of production: the runs are shorter and have as many events. */
export const staleMs = 15_000;
const heartbeatMs = 5_000;
const silentMs = 2_500;
const intervalMs = 5_000;
const forgetMs = 45_000;

/** What one process of the control plane consists of. */
export interface SimPlaneParts {
  readonly process: SimProcess;
  readonly runner: AssignmentRunner;
  readonly registry: WorkerRegistry;
  readonly manual: ManualAssignments;
}

/** A replica of the control plane: passes, registry and manual assignments of production, between starts and crashes. */
export class SimControlPlane {
  readonly name: string;
  readonly #options: SimPlaneOptions;
  #parts: SimPlaneParts;

  constructor(name: string, options: SimPlaneOptions) {
    this.name = name;
    this.#options = options;
    this.#parts = this.#start();
  }

  get isUp(): boolean {
    return this.#parts.process.isRunning;
  }

  crash(): void {
    this.#options.clock.log(`${this.name} crashes`);
    this.#parts.process.kill();
  }

  restart(): void {
    if (this.isUp) return;
    this.#options.clock.log(`${this.name} starts`);
    this.#parts = this.#start();
  }

  wake(): void {
    if (this.isUp) this.#parts.runner.wake();
  }

  async serve<T>(action: (parts: SimPlaneParts) => Promise<T>): Promise<T> {
    const parts = this.#parts;
    if (!parts.process.isRunning) throw new SimCallFailed('The connection was refused.');
    const result = await action(parts);
    if (!parts.process.isRunning) throw new SimCallFailed('The connection broke off.');
    return result;
  }

  #start(): SimPlaneParts {
    const { clock, database: shared, network, policy, replicas, pools } = this.#options;
    const process = new SimProcess(clock, this.name);
    const database = shared.connect(() => process.isRunning);
    const bus = network.busOf(process);
    const awayMs = 3 * intervalMs;
    const pass = async () => {
      const result = await runAssignmentPass({
        database,
        bus,
        policy,
        replicas,
        staleMs,
        silentMs,
        awayMs,
        forgetMs,
        pools,
      });
      const { assigned = 0, drained = 0, removed = 0, routes = 0 } = result.changes ?? {};
      this.#options.onPass(assigned + drained + removed + routes);
      return result;
    };
    const observe = (observation: { readonly kind: string; readonly error?: unknown }): void => {
      const { kind, error } = observation;
      if (kind === 'assignments.pass-failed' && !(error instanceof SimConnectionLost))
        this.#options.fail(`a pass failed: ${error instanceof Error ? error.stack : String(error)}`);
    };
    const runner = new AssignmentRunner({ pass, intervalMs, clock: process.time, observe });
    const wake = (): void => runner.wake();
    const registry = new WorkerRegistry({ database, bus, heartbeatMs, wake, observe });
    const manual = new ManualAssignments({ database, bus, pools, wake });
    void runner.start();
    return { process, runner, registry, manual };
  }
}
