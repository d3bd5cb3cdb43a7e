import type { Clock, Lifecycle, Observe } from '@drover/service-kit';
import type { FunctionWorkerObservation } from '../workers/worker-observations.js';
import type { FunctionWorker } from '../workers/function-worker.js';
import type { FunctionWorkerRegistry } from '../workers/function-worker-registry.js';
import { answerWithinMs, isSilent } from './heartbeat.js';
import type { WorkerLifecycle } from './worker-lifecycle.js';
import type { WorkerSettings } from '../workers/worker-settings.js';

/** Asks every worker in turn whether it lives, all in the same moment, and gives up those that are silent too long. */
export class WorkerHealthMonitor implements Lifecycle {
  readonly name = 'worker health monitor';
  readonly #registry: FunctionWorkerRegistry;
  readonly #lifecycle: WorkerLifecycle;
  readonly #settings: WorkerSettings;
  readonly #clock: Clock;
  readonly #observe: Observe<FunctionWorkerObservation>;
  readonly #asked = new WeakSet<FunctionWorker>();
  #cancel: (() => void) | undefined;

  constructor(options: {
    readonly registry: FunctionWorkerRegistry;
    readonly lifecycle: WorkerLifecycle;
    readonly settings: WorkerSettings;
    readonly clock: Clock;
    readonly observe: Observe<FunctionWorkerObservation>;
  }) {
    this.#registry = options.registry;
    this.#lifecycle = options.lifecycle;
    this.#settings = options.settings;
    this.#clock = options.clock;
    this.#observe = options.observe;
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
    this.#cancel = this.#clock.after(this.#settings.heartbeatIntervalMs, () => {
      for (const worker of this.#registry.in('placeholder', 'ready', 'unhealthy', 'draining')) this.#look(worker);
      this.#schedule();
    });
  }

  #look(worker: FunctionWorker): void {
    // Who cannot answer is known by its stream and its invocations only.
    if (!worker.can('WorkerStatus')) return;
    if (this.#asked.has(worker)) {
      worker.missedHeartbeats += 1;
      return;
    }
    const { heartbeatIntervalMs, heartbeatMisses } = this.#settings;
    const askedMs = this.#clock.monotonicMs();
    const times = { heardMs: worker.heardMs, nowMs: askedMs };
    const withinMs = answerWithinMs(times, heartbeatIntervalMs, heartbeatMisses);
    this.#asked.add(worker);
    worker.ask({ kind: 'workerStatusRequest', value: {} }, 'workerStatusResponse', withinMs).then(
      () => {
        this.#asked.delete(worker);
        this.#observe({ kind: 'worker.alive', workerId: worker.id, durationMs: this.#clock.monotonicMs() - askedMs });
      },
      () => {
        this.#asked.delete(worker);
        this.#judge(worker);
      },
    );
  }

  /** It did not answer, or it is gone already. */
  #judge(worker: FunctionWorker): void {
    const { heartbeatIntervalMs, heartbeatMisses } = this.#settings;
    const times = { heardMs: worker.heardMs, nowMs: this.#clock.monotonicMs() };
    if (worker.is('disconnected', 'abandoned') || !isSilent(times, heartbeatIntervalMs, heartbeatMisses)) return;
    const silentMs = times.nowMs - times.heardMs;
    this.#observe({ kind: 'worker.hung', workerId: worker.id, silentMs });
    this.#lifecycle.abandon(worker, 'worker-hung', `it was silent for ${Math.round(silentMs)} ms`);
  }
}
