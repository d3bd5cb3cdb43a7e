import type { Instance, InstanceUsage } from '@drover/instance-provider';

/** A list that is older says nothing about now. */
const staleAfterMs = 15_000;

/** What the provider measured of function workers in its last list. No clock, no IO. */
export class UsageOfWorkers {
  #byInstance: ReadonlyMap<string, InstanceUsage> = new Map();
  #atMs = 0;

  listed(instances: readonly Instance[], nowMs: number): void {
    this.#byInstance = new Map(instances.flatMap(({ instanceId, usage }) => (usage ? [[instanceId, usage]] : [])));
    this.#atMs = nowMs;
  }

  /** Returns the mean CPU and the largest memory of these workers; undefined if none was measured. */
  of(workerIds: readonly string[], nowMs: number): InstanceUsage | undefined {
    if (nowMs - this.#atMs > staleAfterMs) return undefined;
    const known = workerIds.flatMap((workerId) => this.#byInstance.get(workerId) ?? []);
    if (known.length === 0) return undefined;
    const cpu = known.reduce((sum, usage) => sum + usage.cpu, 0) / known.length;
    return { cpu, memory: Math.max(...known.map(({ memory }) => memory)) };
  }
}
