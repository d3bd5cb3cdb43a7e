import type { Lifecycle } from '@drover/service-kit';
import type { FunctionWorkerRegistry } from '../workers/function-worker-registry.js';
import type { WorkerLifecycle } from './worker-lifecycle.js';

/**
 * Retires every worker when the process drains, so that the end of its stream does not count as a loss, and waits for that: a
 * worker whose stream ended before it could act on WorkerTerminate would take it for a break, and try to reconnect.
 */
export class WorkerShutdown implements Lifecycle {
  readonly name = 'function workers';
  readonly #registry: FunctionWorkerRegistry;
  readonly #lifecycle: WorkerLifecycle;

  constructor(registry: FunctionWorkerRegistry, lifecycle: WorkerLifecycle) {
    this.#registry = registry;
    this.#lifecycle = lifecycle;
  }

  async start(): Promise<void> {}

  async drain(deadline: AbortSignal): Promise<void> {
    await Promise.all(this.#registry.all().map((worker) => this.#lifecycle.retire(worker, deadline)));
    const draining = this.#registry.in('draining');
    await Promise.all(draining.map((worker) => this.#registry.whenRemoved(worker, deadline)));
  }

  async stop(): Promise<void> {}
}
