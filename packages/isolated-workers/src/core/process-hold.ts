/** Longer than any process runs without a turn of its event loop. */
const foreverMs = 2 ** 30;

/**
 * Keeps this process alive while requests are pending, for workers that do not keep it alive themselves, after `unref`. One
 * handle: references to each process, pipe and timer would have to change with every request.
 */
export class ProcessHold {
  readonly #isNeeded: () => boolean;
  readonly #timer = setInterval(() => undefined, foreverMs);
  #awaited = 0;
  #isOver = false;

  constructor(isNeeded: () => boolean) {
    this.#isNeeded = isNeeded;
    this.update();
  }

  /** Call it whenever the need may have changed. */
  update(): void {
    if (this.#isOver) return; // Node counts a reference to a cleared timer, and never takes it back
    if (this.#awaited > 0 || this.#isNeeded()) this.#timer.ref();
    else this.#timer.unref();
  }

  /** Holds until the promise is settled. */
  async during<T>(promise: Promise<T>): Promise<T> {
    this.#awaited += 1;
    this.update();
    try {
      return await promise;
    } finally {
      this.#awaited -= 1;
      this.update();
    }
  }

  /** Holds no longer, whatever is needed. */
  end(): void {
    this.#isOver = true;
    clearInterval(this.#timer);
  }
}
