import type { CollectionWorkerHeartbeat } from '@drover/contracts';
import type { Clock } from '@drover/service-kit';

export interface LoadMeterOptions {
  readonly clock: Clock;
  /** CPU time of the process in microseconds. */
  readonly cpuMicros: () => number;
  readonly memoryBytes: () => number;
}

export interface MeasuredLoad {
  readonly load: CollectionWorkerHeartbeat['load'];
  /** The time that the load was measured over. */
  readonly sinceMs: number;
}

/** Measures the load of the worker from one heartbeat to the next. */
export class LoadMeter {
  readonly #options: LoadMeterOptions;
  #sinceMs: number;
  #sinceCpuMicros: number;
  #requests = 0;
  #errors = 0;
  #busyMs = 0;

  constructor(options: LoadMeterOptions) {
    this.#options = options;
    this.#sinceMs = options.clock.monotonicMs();
    this.#sinceCpuMicros = options.cpuMicros();
  }

  /** Counts a request that has ended. */
  ended(tookMs: number, isError: boolean): void {
    this.#requests += 1;
    this.#busyMs += tookMs;
    if (isError) this.#errors += 1;
  }

  /** Returns the load since the last call, and begins anew. */
  read(activeConnections: number): MeasuredLoad {
    const { clock, cpuMicros, memoryBytes } = this.#options;
    const nowMs = clock.monotonicMs();
    const usedMicros = cpuMicros();
    const sinceMs = Math.max(1, nowMs - this.#sinceMs);
    const [requests, errors, busyMs] = [this.#requests, this.#errors, this.#busyMs];
    const load = {
      cpu: Math.max(0, usedMicros - this.#sinceCpuMicros) / sinceMs,
      activeConnections,
      requestRate: (requests * 1_000) / sinceMs,
      latencyMs: requests === 0 ? 0 : busyMs / requests,
      errorRate: requests === 0 ? 0 : errors / requests,
      memoryBytes: memoryBytes(),
    };
    this.#sinceMs = nowMs;
    this.#sinceCpuMicros = usedMicros;
    this.#requests = this.#errors = this.#busyMs = 0;
    return { load, sinceMs };
  }
}
