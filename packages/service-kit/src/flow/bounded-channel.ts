/**
 * A queue between tasks with a fixed capacity. A sender waits while it is full (`send`) or is told so (`trySend`); a
 * receiver iterates. After `close` nothing more goes in, and receivers still get what is inside. Order is kept, also
 * among senders that wait.
 */
export class BoundedChannel<T> implements AsyncIterable<T> {
  readonly capacity: number;
  readonly #items: T[] = [];
  readonly #senders: { readonly item: T; readonly settle: (accepted: boolean) => void }[] = [];
  readonly #receivers: ((result: IteratorResult<T, undefined>) => void)[] = [];
  #closed = false;

  constructor(capacity: number) {
    if (!Number.isInteger(capacity) || capacity < 1)
      throw new RangeError(`capacity must be 1 or more, not ${capacity}`);
    this.capacity = capacity;
  }

  get size(): number {
    return this.#items.length;
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** False when full or closed: the item was not taken. */
  trySend(item: T): boolean {
    if (this.#closed) return false;
    const receiver = this.#receivers.shift();
    if (receiver) {
      receiver({ value: item, done: false });
      return true;
    }
    if (this.#items.length >= this.capacity) return false;
    this.#items.push(item);
    return true;
  }

  /** Resolves true once the item is inside, false when the channel closed first. Aborting takes the item back. */
  send(item: T, signal?: AbortSignal): Promise<boolean> {
    if (signal?.aborted) return Promise.reject(signal.reason);
    if (this.trySend(item)) return Promise.resolve(true);
    if (this.#closed) return Promise.resolve(false);
    return new Promise((resolve, reject) => {
      const giveUp = (): void => {
        this.#senders.splice(this.#senders.indexOf(waiting), 1);
        reject(signal?.reason);
      };
      const waiting = {
        item,
        settle: (accepted: boolean): void => {
          signal?.removeEventListener('abort', giveUp);
          resolve(accepted);
        },
      };
      this.#senders.push(waiting);
      signal?.addEventListener('abort', giveUp, { once: true });
    });
  }

  /** The next item, or `done` once the channel is closed and empty. Aborting gives up the wait; no item is lost. */
  receive(signal?: AbortSignal): Promise<IteratorResult<T, undefined>> {
    if (signal?.aborted) return Promise.reject(signal.reason);
    if (this.#items.length > 0) {
      const value = this.#items.shift() as T; // length was checked; T itself may include undefined
      const sender = this.#senders.shift();
      if (sender) {
        this.#items.push(sender.item);
        sender.settle(true);
      }
      return Promise.resolve({ value, done: false });
    }
    if (this.#closed) return Promise.resolve({ value: undefined, done: true });
    return new Promise((resolve, reject) => {
      const giveUp = (): void => {
        this.#receivers.splice(this.#receivers.indexOf(take), 1);
        reject(signal?.reason);
      };
      const take = (result: IteratorResult<T, undefined>): void => {
        signal?.removeEventListener('abort', giveUp);
        resolve(result);
      };
      this.#receivers.push(take);
      signal?.addEventListener('abort', giveUp, { once: true });
    });
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    for (const sender of this.#senders.splice(0)) sender.settle(false);
    for (const receiver of this.#receivers.splice(0)) receiver({ value: undefined, done: true });
  }

  [Symbol.asyncIterator](): AsyncIterator<T, undefined> {
    return { next: () => this.receive() };
  }
}
