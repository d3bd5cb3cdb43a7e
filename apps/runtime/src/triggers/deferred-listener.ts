import type { Backlog, TriggerListener } from '@drover/trigger-sources';

/**
 * A listener that starts when its emulator answers. It counts as started before that: HTTP functions of the same application do not
 * wait, and a source that is about to answer is not reported as unavailable.
 */
export class DeferredListener implements TriggerListener {
  readonly name: string;
  readonly broken: Promise<unknown>;
  readonly #inner: TriggerListener;
  readonly #untilReady: (signal: AbortSignal) => Promise<void>;
  readonly #ending = new AbortController();
  #break: (error: unknown) => void = () => undefined;
  #starting: Promise<void> = Promise.resolve();
  #isStarted = false;
  #isPaused = false;

  constructor(inner: TriggerListener, untilReady: (signal: AbortSignal) => Promise<void>) {
    this.name = inner.name;
    this.#inner = inner;
    this.#untilReady = untilReady;
    this.broken = Promise.race([inner.broken, new Promise((resolve) => (this.#break = resolve))]);
  }

  async start(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    // From here on, only `drain` and `stop` end the wait: for the caller, this listener has started.
    const ending = this.#ending.signal;
    this.#starting = this.#startInner(ending).catch((error: unknown) => {
      if (!ending.aborted) this.#break(error);
    });
  }

  pause(): void {
    this.#isPaused = true;
    if (this.#isStarted) this.#inner.pause();
  }

  resume(): void {
    this.#isPaused = false;
    if (this.#isStarted) this.#inner.resume();
  }

  scale(workers: number): void {
    this.#inner.scale?.(workers);
  }

  measure(signal: AbortSignal): Promise<Backlog> {
    return this.#inner.measure(signal);
  }

  async drain(deadline: AbortSignal): Promise<void> {
    this.#ending.abort();
    await this.#starting;
    if (this.#isStarted) await this.#inner.drain(deadline);
  }

  async stop(): Promise<void> {
    this.#ending.abort();
    await this.#starting;
    await this.#inner.stop();
  }

  async #startInner(signal: AbortSignal): Promise<void> {
    await this.#untilReady(signal);
    await this.#inner.start(signal);
    this.#isStarted = true;
    if (this.#isPaused) this.#inner.pause();
  }
}
