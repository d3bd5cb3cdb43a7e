import { setMaxListeners } from 'node:events';
import type { Lifecycle } from '@drover/service-kit';

/**
 * Counts the invocations that may still write outputs, so that a drain waits for them: if their client has left, no request
 * does. Outputs are aborted by `stop` only.
 */
export class PendingOutputs implements Lifecycle {
  readonly name = 'outputs';
  readonly #stop = new AbortController();
  readonly #waiting = new Set<() => void>();
  #count = 0;

  constructor() {
    setMaxListeners(0, this.#stop.signal); // one for each output that is being written
  }

  /** Aborts when the runtime stops. */
  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  begin(): void {
    this.#count += 1;
  }

  end(): void {
    this.#count -= 1;
    if (this.#count === 0) for (const settle of this.#waiting) settle();
  }

  async start(): Promise<void> {}

  drain(deadline: AbortSignal): Promise<void> {
    if (this.#count === 0 || deadline.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const settle = (): void => {
        deadline.removeEventListener('abort', settle);
        this.#waiting.delete(settle);
        resolve();
      };
      this.#waiting.add(settle);
      deadline.addEventListener('abort', settle, { once: true });
    });
  }

  async stop(): Promise<void> {
    this.#stop.abort(new Error('the runtime stops'));
  }
}
