import type { Lifecycle } from '@drover/service-kit';
import type { FunctionWorkerRegistry } from '../workers/function-worker-registry.js';
import type { WorkerLifecycle } from './worker-lifecycle.js';

/** On the way down: tells every worker to end once it has nothing left to do, so that none of them looks like a loss. */
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
    const all = this.#registry.all().map((worker) => this.#lifecycle.retire(worker, deadline));
    await Promise.all(all);
  }

  async stop(): Promise<void> {}
}
