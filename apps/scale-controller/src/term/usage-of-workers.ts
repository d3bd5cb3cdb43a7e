import type { Instance, InstanceUsage } from '@drover/instance-provider';

/** A list that is older says nothing about now. */
const staleAfterMs = 15_000;

/** What the workers of an application use: mean CPU, mean demand for it, largest memory. */
export type WorkerUsage = InstanceUsage;

/** What the provider measured of function workers in its last list. No clock, no IO. */
export class UsageOfWorkers {
  #byInstance: ReadonlyMap<string, InstanceUsage> = new Map();
  #atMs = 0;
  #cores: number | undefined;

  /** Cores of the machine that the workers share; undefined: not known, or not one machine. */
  get cores(): number | undefined {
    return this.#cores;
  }

  listed(instances: readonly Instance[], nowMs: number): void {
    this.#byInstance = new Map(instances.flatMap(({ instanceId, usage }) => (usage ? [[instanceId, usage]] : [])));
    this.#cores = instances.find(({ machineCores }) => machineCores !== undefined)?.machineCores ?? this.#cores;
    this.#atMs = nowMs;
  }

  /** Returns undefined if none of these workers was measured. */
  of(workerIds: readonly string[], nowMs: number): WorkerUsage | undefined {
    if (nowMs - this.#atMs > staleAfterMs) return undefined;
    const known = workerIds.flatMap((workerId) => this.#byInstance.get(workerId) ?? []);
    if (known.length === 0) return undefined;
    const demands = known.flatMap(({ cpuDemand }) => cpuDemand ?? []);
    return {
      cpu: meanOf(known.map(({ cpu }) => cpu)),
      memory: Math.max(...known.map(({ memory }) => memory)),
      ...(demands.length > 0 && { cpuDemand: meanOf(demands) }),
    };
  }
}

function meanOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
