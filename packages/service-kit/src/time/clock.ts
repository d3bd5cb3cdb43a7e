/** Time as an input. Durations and deadlines use `monotonicMs`; only what people read uses `now`. */
export interface Clock {
  /** Wall-clock milliseconds since the epoch; may jump. */
  now(): number;
  /** Milliseconds that only ever grow, from an arbitrary start. */
  monotonicMs(): number;
  /** Calls `action` once after `delayMs`; the returned function takes that back. */
  after(delayMs: number, action: () => void): () => void;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonicMs: () => performance.now(),
  after(delayMs, action) {
    const timer = setTimeout(action, delayMs);
    return () => clearTimeout(timer);
  },
};

/** Resolves after `delayMs`, or rejects with the signal's reason as soon as it aborts. */
export function sleep(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const giveUp = (): void => {
      cancel();
      reject(signal?.reason);
    };
    const cancel = clock.after(delayMs, () => {
      signal?.removeEventListener('abort', giveUp);
      resolve();
    });
    signal?.addEventListener('abort', giveUp, { once: true });
  });
}

/** A signal that aborts after `delayMs`, or with `parent`; `cancel` ends the wait without aborting. */
export function deadlineAfter(
  clock: Clock,
  delayMs: number,
  parent?: AbortSignal,
): { readonly signal: AbortSignal; cancel(): void } {
  const controller = new AbortController();
  const cancelTimer = clock.after(delayMs, () => controller.abort(new DOMException('deadline passed', 'TimeoutError')));
  const follow = (): void => controller.abort(parent?.reason);
  if (parent?.aborted) follow();
  parent?.addEventListener('abort', follow, { once: true });
  return {
    signal: controller.signal,
    cancel() {
      cancelTimer();
      parent?.removeEventListener('abort', follow);
    },
  };
}
