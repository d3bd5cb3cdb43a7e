import type { Clock } from '@drover/service-kit';

/** A runtime without any application is told so by silence: after this time, all is known. */
const silenceMs = 1_000;
/** The commands for several applications arrive together; the files of the first may be read before the last has arrived. */
const restMs = 50;
/** Requests wait at most this long, counted from the first: the scale controller that leads may be another one, or away for long. */
const longestWaitMs = 10_000;

/**
 * Knows whether a runtime that was just started has been told what to host. Until then, no answer can be that an application or a
 * function does not exist: requests wait.
 */
export class FirstHosting {
  readonly #clock: Clock;
  readonly #onKnown = new Set<() => void>();
  #isKnown: boolean;
  #running = 0;
  #cancel: (() => void) | undefined;
  #cancelWait: (() => void) | undefined;

  /** `isTold`: whether there is a scale controller; without one all is known. */
  constructor(clock: Clock, isTold: boolean) {
    this.#clock = clock;
    this.#isKnown = !isTold;
  }

  /** Returns a promise that settles when all is known, or after a while; undefined if it is. */
  untilKnown(): Promise<void> | undefined {
    if (this.#isKnown) return undefined;
    this.#cancelWait ??= this.#clock.after(longestWaitMs, () => this.stop());
    return new Promise((resolve) => void this.#onKnown.add(resolve));
  }

  /** The scale controller hears this runtime from now on. */
  attached(): void {
    if (!this.#isKnown && !this.#cancel) this.#settleAfter(silenceMs);
  }

  /** An application is being hosted. The caller must call `ended`. */
  began(): void {
    this.#running += 1;
    this.#cancel?.();
    this.#cancel = undefined;
  }

  ended(): void {
    this.#running -= 1;
    if (!this.#isKnown && this.#running === 0) this.#settleAfter(restMs);
  }

  stop(): void {
    this.#cancel?.();
    this.#cancelWait?.();
    this.#isKnown = true;
    for (const settle of this.#onKnown) settle();
    this.#onKnown.clear();
  }

  #settleAfter(ms: number): void {
    this.#cancel?.();
    this.#cancel = this.#clock.after(ms, () => this.stop());
  }
}
