import { setMaxListeners } from 'node:events';

/** Runs at most so many checks at a time, the others in their order: thousands of triggers may be parked in one moment. */
export class CheckSlots {
  readonly #size: number;
  readonly #waiting: (() => Promise<void>)[] = [];
  readonly #ending = new AbortController();
  #running = 0;

  constructor(size: number) {
    this.#size = size;
    setMaxListeners(0, this.#ending.signal); // one for each check
  }

  /** Calls `succeeded` or `failed` with the outcome of `check`; neither after `close`. */
  run<T>(
    check: (signal: AbortSignal) => Promise<T>,
    succeeded: (value: T) => void,
    failed: (error: unknown) => void,
  ): void {
    const { signal } = this.#ending;
    if (signal.aborted) return;
    this.#waiting.push(async () => {
      const outcome = await check(signal).then(
        (value) => () => succeeded(value),
        (error: unknown) => () => failed(error),
      );
      if (!signal.aborted) outcome();
    });
    this.#startNext();
  }

  close(): void {
    this.#waiting.length = 0;
    this.#ending.abort(new Error('the watch was closed'));
  }

  #startNext(): void {
    if (this.#running >= this.#size) return;
    const next = this.#waiting.shift();
    if (!next) return;
    this.#running += 1;
    void next().finally(() => {
      this.#running -= 1;
      this.#startNext();
    });
  }
}
