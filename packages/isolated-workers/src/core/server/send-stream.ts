/** The number of items that may still be sent. */
export class StreamCredit {
  #left: number;
  #wake: () => void = () => undefined;

  constructor(items: number) {
    this.#left = items;
  }

  add(items: number): void {
    this.#left += items;
    this.#wake();
  }

  /** Waits for credit for one item, or until the signal aborts. */
  async acquire(signal: AbortSignal): Promise<void> {
    if (this.#left === 0 && !signal.aborted) {
      await new Promise<void>((resolve) => {
        const finish = (): void => {
          signal.removeEventListener('abort', finish);
          resolve();
        };
        this.#wake = finish;
        signal.addEventListener('abort', finish, { once: true });
      });
    }
    this.#left -= 1;
  }
}

/** Sends what a handler yields, as credit allows. Ends the generator of the handler when the caller cancels. */
export async function sendStream(
  source: unknown,
  credit: StreamCredit,
  signal: AbortSignal,
  send: (item: unknown) => void,
): Promise<void> {
  const items = await source;
  if (!isIterable(items)) throw new TypeError('The handler of a stream must return an iterable.');
  const iterator = Symbol.asyncIterator in items ? items[Symbol.asyncIterator]() : items[Symbol.iterator]();
  let isOpen = true;
  try {
    for (;;) {
      // Credit first, then the item: the generator must not run ahead of the caller.
      await credit.acquire(signal);
      signal.throwIfAborted();
      isOpen = false; // an error of the generator ends it
      const { done, value } = await iterator.next();
      if (done) return;
      isOpen = true;
      const item: unknown = await value;
      signal.throwIfAborted();
      send(item);
    }
  } finally {
    if (isOpen) await iterator.return?.();
  }
}

function isIterable(value: unknown): value is AsyncIterable<unknown> | Iterable<unknown> {
  return typeof value === 'object' && value !== null && (Symbol.asyncIterator in value || Symbol.iterator in value);
}
