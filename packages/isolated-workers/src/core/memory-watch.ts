import type { LiveWorker } from './live-worker.js';

/** How often memory is sampled while requests are being processed. */
const sampleEveryMs = 250;

/** Samples the memory of a worker and kills it above the limit. Its end counts as out of memory. */
export class MemoryWatch {
  readonly #maxMemoryMb: number | undefined;
  readonly #hasWork: () => boolean;
  #timer: NodeJS.Timeout | undefined;

  constructor(maxMemoryMb: number | undefined, hasWork: () => boolean) {
    this.#maxMemoryMb = maxMemoryMb;
    this.#hasWork = hasWork;
  }

  /** Watches this worker until the next call or `stop`. */
  watch(worker: LiveWorker): void {
    const limit = this.#maxMemoryMb;
    if (limit === undefined) return;
    this.stop();
    this.#timer = setInterval(() => {
      if (!this.#hasWork()) return;
      void worker.connection.sample().then((sample) => {
        if (sample && sample.rssBytes > limit * 1024 * 1024) worker.killForMemory();
      });
    }, sampleEveryMs);
    this.#timer.unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
