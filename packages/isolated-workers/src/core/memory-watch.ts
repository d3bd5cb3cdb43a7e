import type { LiveWorker } from './live-worker.js';

/** How often memory is looked at while there is work. */
const everyMs = 250;

/** Asks the guard of a worker how much memory it has; one above its limit is ended and counts as out of memory. */
export class MemoryWatch {
  readonly #maxMemoryMb: number | undefined;
  readonly #hasWork: () => boolean;
  #timer: NodeJS.Timeout | undefined;

  constructor(maxMemoryMb: number | undefined, hasWork: () => boolean) {
    this.#maxMemoryMb = maxMemoryMb;
    this.#hasWork = hasWork;
  }

  /** From now on this one, until the next or `stop`. */
  watch(worker: LiveWorker): void {
    const limit = this.#maxMemoryMb;
    if (limit === undefined) return;
    this.stop();
    this.#timer = setInterval(() => {
      if (!this.#hasWork()) return;
      void worker.connection.sample().then((sample) => {
        if (sample && sample.rssBytes > limit * 1024 * 1024) worker.killForMemory();
      });
    }, everyMs);
    this.#timer.unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
