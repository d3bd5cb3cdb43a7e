import type { OwnershipListener } from './owner-directory.js';

/**
 * Passes the events of ownership on to listeners that are added before it starts. A listener hears of an acquisition and of a
 * release when those added before it are done, and of a loss at once. When one rejects, those behind it are not called.
 */
export class OwnershipListeners implements OwnershipListener {
  readonly #listeners: OwnershipListener[] = [];
  readonly #onReplicaGone: ((url: string) => void)[] = [];

  add(listener: OwnershipListener): void {
    this.#listeners.push(listener);
  }

  /** Calls `listener` with the URL of every replica that is gone for good. */
  onReplicaGone(listener: (url: string) => void): void {
    this.#onReplicaGone.push(listener);
  }

  async acquired(partitions: readonly number[]): Promise<void> {
    for (const listener of this.#listeners) await listener.acquired(partitions);
  }

  async releasing(partitions: readonly number[], deadline: AbortSignal): Promise<void> {
    for (const listener of this.#listeners) await listener.releasing(partitions, deadline);
  }

  lost(partitions: readonly number[]): void {
    for (const listener of this.#listeners) listener.lost(partitions);
  }

  replicaGone(url: string): void {
    for (const listener of this.#onReplicaGone) listener(url);
  }
}
