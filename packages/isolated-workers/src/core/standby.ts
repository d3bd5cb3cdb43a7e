import type { CrashFacts } from '../types/errors.js';
import type { Logger } from '../types/worker.js';
import type { LiveWorker } from './live-worker.js';

/** The delay before a dead spare is replaced, so that a worker which cannot start does not spin. */
const replaceAfterMs = 1_000;

/** Keeps a spare worker that replaces the current one when it dies. */
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

  /** Starts a spare unless there is one. */
  fill(): void {
    if (this.#spare || this.#stopped) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#spare = this.#spawn();
  }

  /** Returns the spare, if it is alive, and no longer holds it. */
  claim(): LiveWorker | undefined {
    const spare = this.#spare;
    this.#spare = undefined;
    return spare && !spare.isOver ? spare : undefined;
  }

  /** Replaces the spare after a delay if `worker`, which died or could not be started, was the spare. */
  recordEnd(worker: LiveWorker, facts: CrashFacts): void {
    if (worker !== this.#spare) return;
    this.#log.warn('spare worker ended', facts);
    this.#spare = undefined;
    if (this.#stopped) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.fill(), replaceAfterMs);
    this.#timer.unref();
  }

  setRef(isRef: boolean): void {
    this.#spare?.setRef(isRef);
  }

  async end(graceMs: number): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#spare?.end(graceMs);
  }
}
