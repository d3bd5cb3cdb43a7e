import { BrokerError } from './broker-error.js';

/** Bytes that messages and duplicate-detection histories of all entities may occupy together. */
export class MemoryBudget {
  readonly #maxBytes: number;
  #usedBytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get usedBytes(): number {
    return this.#usedBytes;
  }

  /** Throws `quota-exceeded` if a sender asks for more than is left. Moves inside the broker are not checked: they add nothing. */
  check(bytes: number): void {
    if (this.#usedBytes + bytes <= this.#maxBytes) return;
    throw new BrokerError(
      'quota-exceeded',
      `The emulator holds ${this.#usedBytes} of at most ${this.#maxBytes} bytes of messages. Receive or purge messages, or raise its memory bound.`,
    );
  }

  take(bytes: number): void {
    this.#usedBytes += bytes;
  }

  give(bytes: number): void {
    this.#usedBytes -= bytes;
  }
}
