import type { FunctionWorker } from './function-worker.js';
import type { FunctionWorkerState } from './function-worker-states.js';

/** All function workers that are connected or were abandoned recently, by id. */
export class FunctionWorkerRegistry {
  readonly #workers = new Map<string, FunctionWorker>();
  /** Callbacks of `whenRemoved` and the worker each waits for. */
  readonly #removals = new Map<() => void, FunctionWorker>();

  get size(): number {
    return this.#workers.size;
  }

  get(id: string): FunctionWorker | undefined {
    return this.#workers.get(id);
  }

  add(worker: FunctionWorker): void {
    this.#workers.set(worker.id, worker);
  }

  /** Removes this worker only: another one may have connected with the same id. */
  remove(worker: FunctionWorker): void {
    if (this.#workers.get(worker.id) === worker) this.#workers.delete(worker.id);
    for (const [settle, awaited] of this.#removals) if (awaited === worker) settle();
  }

  /** Resolves when this worker is not registered any more, or `signal` aborts. */
  async whenRemoved(worker: FunctionWorker, signal: AbortSignal): Promise<void> {
    if (this.#workers.get(worker.id) !== worker || signal.aborted) return;
    await new Promise<void>((resolve) => {
      const settle = (): void => {
        signal.removeEventListener('abort', settle);
        this.#removals.delete(settle);
        resolve();
      };
      this.#removals.set(settle, worker);
      signal.addEventListener('abort', settle, { once: true });
    });
  }

  all(): FunctionWorker[] {
    return [...this.#workers.values()];
  }

  in(...states: readonly FunctionWorkerState[]): FunctionWorker[] {
    return this.all().filter((worker) => worker.is(...states));
  }

  /** Workers that run an application or are being specialized for it: the capacity left when one is lost. */
  activeOf(applicationKey: string): FunctionWorker[] {
    return this.in('specializing', 'specialized', 'ready', 'unhealthy').filter(
      (worker) => worker.applicationKey === applicationKey,
    );
  }
}
