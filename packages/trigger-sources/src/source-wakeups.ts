interface SourceListener {
  readonly wake: (news: unknown) => void;
  readonly announced: (() => boolean) | undefined;
}

/** Wakes listeners of this process when an output of this process writes to their source. */
export class SourceWakeups {
  readonly #listeners = new Map<string, Set<SourceListener>>();

  /**
   * Calls `wake` after each write to the source at `address`, with what the output says about it, and `announced` when a write has
   * begun: it returns whether it looks for the message at once. Returns the function that unsubscribes.
   */
  listen(address: string, wake: (news: unknown) => void, announced?: () => boolean): () => void {
    const listeners = this.#listeners.get(address) ?? new Set();
    const listener = { wake, announced };
    this.#listeners.set(address, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.#listeners.get(address) === listeners) this.#listeners.delete(address);
    };
  }

  wake(address: string, news?: unknown): void {
    for (const { wake } of this.#listeners.get(address) ?? []) wake(news);
  }

  /**
   * The source at `address` will have stored a message when it has read all that was sent to it until now. Returns whether a listener
   * looks for it.
   */
  announce(address: string): boolean {
    let isAwaited = false;
    for (const { announced } of this.#listeners.get(address) ?? []) if (announced?.()) isAwaited = true;
    return isAwaited;
  }
}
