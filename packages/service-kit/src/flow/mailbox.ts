import { mailboxFull, mailboxClosed } from '../errors.js';

/**
 * One thing at a time: jobs posted here run strictly one after the other, in the order they were posted. The mailbox is
 * bounded; a job that finds it full is refused with `MAILBOX_FULL`. `close` lets what was accepted finish. A job never
 * waits for another job of its own mailbox, nor for `close`: neither could happen before it ends.
 */
export class Mailbox {
  readonly name: string;
  readonly capacity: number;
  #waiting = 0;
  #closed = false;
  #tail: Promise<unknown> = Promise.resolve();

  constructor(name: string, capacity: number) {
    if (!Number.isInteger(capacity) || capacity < 1)
      throw new RangeError(`capacity of ${name} must be 1 or more, not ${capacity}`);
    this.name = name;
    this.capacity = capacity;
  }

  /** Jobs accepted and not yet finished. */
  get size(): number {
    return this.#waiting;
  }

  /** Runs `job` after all earlier ones; resolves or rejects with it. A failed job does not stop the next. */
  post<T>(job: () => T | Promise<T>): Promise<T> {
    if (this.#closed) return Promise.reject(mailboxClosed({ mailbox: this.name }));
    if (this.#waiting >= this.capacity) {
      return Promise.reject(mailboxFull({ mailbox: this.name, capacity: this.capacity }));
    }
    this.#waiting += 1;
    const run = this.#tail.then(job).finally(() => {
      this.#waiting -= 1;
    });
    this.#tail = run.catch(() => undefined);
    return run;
  }

  /** Takes no more jobs; resolves when the accepted ones have finished. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#tail;
  }
}
