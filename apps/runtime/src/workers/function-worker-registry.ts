import type { FunctionWorker } from './function-worker.js';
import type { FunctionWorkerState } from './function-worker-states.js';

/** Every function worker that is known here, by id. */
export class FunctionWorkerRegistry {
  readonly #workers = new Map<string, FunctionWorker>();

  get size(): number {
    return this.#workers.size;
  }

  get(id: string): FunctionWorker | undefined {
    return this.#workers.get(id);
  }

  add(worker: FunctionWorker): void {
    this.#workers.set(worker.id, worker);
  }

  /** Only this very one: another may have come under the same id. */
  remove(worker: FunctionWorker): void {
    if (this.#workers.get(worker.id) === worker) this.#workers.delete(worker.id);
  }

  all(): FunctionWorker[] {
    return [...this.#workers.values()];
  }

  in(...states: readonly FunctionWorkerState[]): FunctionWorker[] {
    return this.all().filter((worker) => worker.is(...states));
  }

  /** Those that run an application, or soon will: the others do not count when one is lost. */
  activeOf(applicationKey: string): FunctionWorker[] {
    return this.in('specializing', 'specialized', 'ready', 'unhealthy').filter(
      (worker) => worker.applicationKey === applicationKey,
    );
  }
}
