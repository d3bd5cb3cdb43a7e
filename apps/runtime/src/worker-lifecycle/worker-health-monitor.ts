import type { Clock, Lifecycle, Observe } from '@drover/service-kit';
import type { FunctionWorker } from '../workers/function-worker.js';
import type { FunctionWorkerRegistry } from '../workers/function-worker-registry.js';
import type { FunctionWorkerObservation } from '../workers/worker-observations.js';
import type { WorkerSettings } from '../workers/worker-settings.js';
import { answerWithinMs, isSilent } from './heartbeat.js';
import type { WorkerLifecycle } from './worker-lifecycle.js';

interface WorkerHealthMonitorOptions {
  readonly registry: FunctionWorkerRegistry;
  readonly lifecycle: WorkerLifecycle;
  readonly settings: WorkerSettings;
  readonly clock: Clock;
  readonly observe: Observe<FunctionWorkerObservation>;
}

/** Sends heartbeats to all workers at an interval and abandons workers that stay silent. */
export class WorkerHealthMonitor implements Lifecycle {
  readonly name = 'worker health monitor';
  readonly #options: WorkerHealthMonitorOptions;
  /** Workers with a heartbeat in flight. */
  readonly #pending = new WeakSet<FunctionWorker>();
  #cancel: (() => void) | undefined;

  constructor(options: WorkerHealthMonitorOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    this.#schedule();
  }

  async drain(): Promise<void> {}

  async stop(): Promise<void> {
    this.#cancel?.();
    this.#cancel = undefined;
  }

  #schedule(): void {
    const { clock, registry, settings } = this.#options;
    this.#cancel = clock.after(settings.heartbeatIntervalMs, () => {
      for (const worker of registry.in('placeholder', 'ready', 'unhealthy', 'draining')) this.#check(worker);
      this.#schedule();
    });
  }

  #check(worker: FunctionWorker): void {
    // A worker without this capability is judged by its stream and its invocations only.
    if (!worker.can('WorkerStatus') || worker.isDebugged || this.#pending.has(worker)) return;
    const { clock, observe } = this.#options;
    const { heartbeatIntervalMs, heartbeatMisses } = this.#options.settings;
    const sentMs = clock.monotonicMs();
    const times = { heardMs: worker.heardMs, nowMs: sentMs };
    const withinMs = answerWithinMs(times, heartbeatIntervalMs, heartbeatMisses);
    this.#pending.add(worker);
    worker.request({ kind: 'workerStatusRequest', value: {} }, 'workerStatusResponse', withinMs).then(
      () => {
        this.#pending.delete(worker);
        observe({ kind: 'worker.alive', workerId: worker.id, durationMs: clock.monotonicMs() - sentMs });
      },
      () => {
        this.#pending.delete(worker);
        this.#missed(worker);
      },
    );
  }

  /** The heartbeat timed out, or the worker disconnected meanwhile. */
  #missed(worker: FunctionWorker): void {
    const { clock, observe, lifecycle } = this.#options;
    const { heartbeatIntervalMs, heartbeatMisses } = this.#options.settings;
    const times = { heardMs: worker.heardMs, nowMs: clock.monotonicMs() };
    if (worker.is('disconnected', 'abandoned') || !isSilent(times, heartbeatIntervalMs, heartbeatMisses)) return;
    const silentMs = times.nowMs - times.heardMs;
    observe({ kind: 'worker.hung', workerId: worker.id, silentMs });
    lifecycle.abandon(worker, 'worker-hung', `it sent nothing for ${Math.round(silentMs)} ms`);
  }
}
