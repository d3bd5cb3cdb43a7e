import {
  messageOf,
  sleep,
  type Clock,
  type Lifecycle,
  type Observe,
  type SupervisedProcess,
} from '@drover/service-kit';
import type { UpObservation } from './observations.js';

interface LaterWorkersOptions {
  readonly clock: Clock;
  readonly observe: Observe<UpObservation>;
}

const retryMs = 30_000;

/**
 * The collection workers after the first one. The first serves every collection alone, so the platform is ready without them: they start
 * once it is, and do not delay that.
 */
export class LaterCollectionWorkers implements Lifecycle {
  readonly name = 'later collection workers';
  readonly #workers: readonly SupervisedProcess[];
  readonly #options: LaterWorkersOptions;
  readonly #ending = new AbortController();

  constructor(workers: readonly SupervisedProcess[], options: LaterWorkersOptions) {
    this.#workers = workers;
    this.#options = options;
  }

  start(): Promise<void> {
    return Promise.resolve();
  }

  /** Starts the processes without waiting for them. */
  launch(): void {
    for (const worker of this.#workers) void this.#keepStarting(worker);
  }

  async drain(deadline: AbortSignal): Promise<void> {
    this.#ending.abort();
    await Promise.all(this.#workers.map((worker) => worker.drain(deadline)));
  }

  async stop(): Promise<void> {
    this.#ending.abort();
    await Promise.all(this.#workers.map((worker) => worker.stop()));
  }

  async #keepStarting(worker: SupervisedProcess): Promise<void> {
    const { clock, observe } = this.#options;
    const { signal } = this.#ending;
    while (!signal.aborted) {
      try {
        return await worker.start(signal);
      } catch (error) {
        if (signal.aborted) return;
        observe({ kind: 'up.worker-missing', role: worker.name, reason: messageOf(error) });
        await sleep(clock, retryMs, signal).catch(() => undefined);
      }
    }
  }
}
