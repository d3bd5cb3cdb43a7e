/** How many items the caller is still ready to take. */
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

  /** Waits until there is room for one more, or the signal aborts. */
  async take(signal: AbortSignal): Promise<void> {
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

/** Sends what a handler yields, no faster than the caller takes it; a caller that gave up ends the handler's generator. */
export async function sendStream(
  source: unknown,
  credit: StreamCredit,
  signal: AbortSignal,
  send: (item: unknown) => void,
): Promise<void> {
  const items = await source;
  if (!isIterable(items)) throw new TypeError('the handler of a stream must return something to iterate over');
  const iterator = Symbol.asyncIterator in items ? items[Symbol.asyncIterator]() : items[Symbol.iterator]();
  let atWork = true;
  try {
    for (;;) {
      // Room first, then the item: so nothing is made that the caller has not asked for.
      await credit.take(signal);
      signal.throwIfAborted();
      atWork = false; // what the generator throws itself has ended it
      const { done, value } = await iterator.next();
      if (done) return;
      atWork = true;
      const item: unknown = await value;
      signal.throwIfAborted();
      send(item);
    }
  } finally {
    if (atWork) await iterator.return?.();
  }
}

function isIterable(value: unknown): value is AsyncIterable<unknown> | Iterable<unknown> {
  return typeof value === 'object' && value !== null && (Symbol.asyncIterator in value || Symbol.iterator in value);
}
