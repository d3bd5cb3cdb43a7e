import type { MessageLock } from './message.js';

/**
 * The message locks of one queue by token. Locks last equally long and a renewed lock is inserted again, so insertion order is the
 * order of expiry, until the lock duration of the entity changes: from then on every lock is looked at.
 */
export class LockTable {
  readonly #locks = new Map<string, MessageLock>();
  #isOrdered = true;

  get size(): number {
    return this.#locks.size;
  }

  get(token: string): MessageLock | undefined {
    return this.#locks.get(token);
  }

  hold(lock: MessageLock): void {
    this.#locks.set(lock.token, lock);
  }

  release(lock: MessageLock): void {
    this.#locks.delete(lock.token);
  }

  renew(lock: MessageLock, untilMs: number): void {
    lock.untilMs = untilMs;
    this.#locks.delete(lock.token);
    this.#locks.set(lock.token, lock);
  }

  durationChanged(): void {
    this.#isOrdered = this.#locks.size === 0;
  }

  firstExpired(nowMs: number): MessageLock | undefined {
    for (const lock of this.#locks.values()) {
      if (lock.untilMs <= nowMs) return lock;
      if (this.#isOrdered) return undefined;
    }
    return undefined;
  }

  nextDeadlineMs(): number {
    let next = Infinity;
    for (const lock of this.#locks.values()) {
      next = Math.min(next, lock.untilMs);
      if (this.#isOrdered) break;
    }
    return next;
  }
}
