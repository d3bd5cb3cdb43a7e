import { afterTurning } from './turning-time.js';

export interface StuckWatchOptions {
  /** How long a worker may take to acknowledge a cancellation. 0: no limit. */
  readonly limitMs: number;
  /** True when a request may be computing that has its caller and was sent before the one with this id. */
  readonly mayComputeBefore: (wireId: number) => boolean;
  readonly onStuck: () => void;
}

/**
 * Finds a worker whose event loop stays blocked after a request was cancelled or timed out.
 *
 * A worker handles messages in order and acknowledges a cancellation at once. So while a cancellation is open, which means not
 * acknowledged, no request that was sent after it has begun. The worker is stuck when a cancellation was open for the whole
 * limit, and all requests that it has begun have lost their callers: its end then costs no request an attempt. A request that
 * still has its caller may be what computes, and has the time of its own limit.
 */
export class StuckWatch {
  readonly #options: StuckWatchOptions;
  /** Open cancellations in their order: the id of the request, and the first id that was sent after its cancellation. */
  readonly #open = new Map<number, number>();
  /** The oldest open cancellation when the time began. */
  #watched: number | undefined;
  #stop: (() => void) | undefined;

  constructor(options: StuckWatchOptions) {
    this.#options = options;
  }

  cancelled(id: number, nextId: number): void {
    if (this.#options.limitMs === 0) return;
    this.#open.set(id, nextId);
    if (!this.#stop) this.#begin();
  }

  acknowledged(id: number): void {
    this.#open.delete(id);
  }

  /** Forgets all cancellations: their worker has ended. */
  clear(): void {
    this.#open.clear();
    this.#stop?.();
    this.#stop = undefined;
  }

  /** One timer, not one for each cancellation: there may be as many as requests. */
  #begin(): void {
    [this.#watched] = this.#open.keys();
    this.#stop = this.#watched === undefined ? undefined : afterTurning(this.#options.limitMs, () => this.#check());
  }

  #check(): void {
    const [oldest] = this.#open;
    if (oldest && oldest[0] === this.#watched && !this.#options.mayComputeBefore(oldest[1])) {
      this.clear();
      return this.#options.onStuck();
    }
    this.#begin();
  }
}
