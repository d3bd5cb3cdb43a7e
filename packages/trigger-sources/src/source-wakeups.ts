/** Wakes listeners of this process when an output of this process writes to their source. */
export class SourceWakeups {
  readonly #listeners = new Map<string, Set<(news: unknown) => void>>();

  /** Calls `wake` after each write to the source at `address`, with what the output says about it. Returns the function that unsubscribes. */
  listen(address: string, wake: (news: unknown) => void): () => void {
    const listeners = this.#listeners.get(address) ?? new Set();
    this.#listeners.set(address, listeners.add(wake));
    return () => {
      listeners.delete(wake);
      if (listeners.size === 0 && this.#listeners.get(address) === listeners) this.#listeners.delete(address);
    };
  }

  wake(address: string, news?: unknown): void {
    for (const wake of this.#listeners.get(address) ?? []) wake(news);
  }
}
