import type { Logger } from '../types/worker.js';
import type { LiveWorker } from './live-worker.js';

/** A spare that died is not replaced faster than this, so that one which cannot live does not spin. */
const spareEveryMs = 1_000;

/** Keeps a worker ready that takes over when the one at work dies. */
export class Standby {
  readonly #spawn: () => LiveWorker;
  readonly #log: Logger;
  #spare: LiveWorker | undefined;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(spawn: () => LiveWorker, log: Logger) {
    this.#spawn = spawn;
    this.#log = log;
  }

  /** Starts one when there is none. */
  fill(): void {
    if (this.#spare || this.#stopped) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    try {
      this.#spare = this.#spawn();
    } catch (error) {
      this.#log.warn('no spare worker could be started', { error });
    }
  }

  /** Gives the spare away, if it lives. */
  take(): LiveWorker | undefined {
    const spare = this.#spare;
    this.#spare = undefined;
    return spare && !spare.isOver ? spare : undefined;
  }

  /** Some worker died; when it was the spare, there will be another. */
  noteEnd(worker: LiveWorker): void {
    if (worker !== this.#spare) return;
    this.#spare = undefined;
    if (this.#stopped) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.fill(), spareEveryMs);
    this.#timer.unref();
  }

  async end(graceMs: number): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#spare?.end(graceMs);
  }
}
