/**
 * The actions for each signal, which share one listener: callers pass one signal to many requests, and Node warns about a
 * possible leak from the eleventh listener on.
 */
const sharedListeners = new WeakMap<AbortSignal, AbortListener>();

/** Runs `action` when the signal aborts. Returns a function that releases it; without that, the signal keeps it in memory. */
export function onAbort(signal: AbortSignal, action: () => void): () => void {
  let listener = sharedListeners.get(signal);
  if (!listener) {
    listener = new AbortListener(signal);
    sharedListeners.set(signal, listener);
  }
  return listener.add(action);
}

class AbortListener {
  readonly #signal: AbortSignal;
  readonly #actions = new Set<() => void>();

  constructor(signal: AbortSignal) {
    this.#signal = signal;
    signal.addEventListener('abort', this.#run, { once: true });
  }

  add(action: () => void): () => void {
    this.#actions.add(action);
    return () => {
      if (!this.#actions.delete(action) || this.#actions.size > 0) return;
      // A signal with a listener is not collected.
      this.#signal.removeEventListener('abort', this.#run);
      if (sharedListeners.get(this.#signal) === this) sharedListeners.delete(this.#signal);
    };
  }

  readonly #run = (): void => {
    sharedListeners.delete(this.#signal);
    for (const action of this.#actions) action();
  };
}
