import type { Lifecycle } from '@drover/service-kit';
import type { FunctionWorkerRegistry } from './function-worker-registry.js';
import type { WorkerKeeper } from './worker-keeper.js';

/** On the way down: tells every worker to end once it has nothing left to do, so that none of them looks like a loss. */
export class WorkerFarewell implements Lifecycle {
  readonly name = 'function workers';
  readonly #registry: FunctionWorkerRegistry;
  readonly #keeper: WorkerKeeper;

  constructor(registry: FunctionWorkerRegistry, keeper: WorkerKeeper) {
    this.#registry = registry;
    this.#keeper = keeper;
  }

  async start(): Promise<void> {}

  async drain(deadline: AbortSignal): Promise<void> {
    const all = this.#registry.all().map((worker) => this.#keeper.retire(worker, deadline));
    await Promise.all(all);
  }

  async stop(): Promise<void> {}
}
