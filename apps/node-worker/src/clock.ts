/** Time as an input. */
export interface Clock {
  /** Milliseconds that only ever grow, from an arbitrary start. */
  monotonicMs(): number;
  /** Calls `action` once after `delayMs`; the returned function takes that back. */
  after(delayMs: number, action: () => void): () => void;
}

export const systemClock: Clock = {
  monotonicMs: () => performance.now(),
  after(delayMs, action) {
    const timer = setTimeout(action, delayMs);
    return () => clearTimeout(timer);
  },
};

/** Settles as `work` does, or resolves to undefined once `delayMs` have passed. */
export function within<T>(clock: Clock, delayMs: number, work: Promise<T>): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const cancel = clock.after(delayMs, () => resolve(undefined));
    work.then(resolve, reject).finally(cancel);
  });
}
