/** Time as an input. Durations and deadlines use `monotonicMs`; only what people read uses `now`. */
export interface Clock {
  /** Wall-clock milliseconds since the epoch; may jump. */
  now(): number;
  /** Milliseconds that only ever grow, from an arbitrary start. */
  monotonicMs(): number;
  /** Calls `action` once after `delayMs`; the returned function takes that back. */
  after(delayMs: number, action: () => void): () => void;
}

/** What a 32-bit timer can wait; `setTimeout` turns anything longer into one millisecond. */
const longestTimerMs = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonicMs: () => performance.now(),
  after(delayMs, action) {
    if (delayMs > longestTimerMs) return afterLong(delayMs, action);
    const timer = setTimeout(action, delayMs);
    return () => clearTimeout(timer);
  },
};

function afterLong(delayMs: number, action: () => void): () => void {
  let cancel = systemClock.after(longestTimerMs, () => {
    cancel = systemClock.after(delayMs - longestTimerMs, action);
  });
  return () => cancel();
}

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

/**
 * A signal that aborts after `delayMs`, or with `parent`; `cancel` ends the wait without aborting. Once it has aborted
 * it holds neither a timer nor a place among the parent's listeners.
 */
export function deadlineAfter(
  clock: Clock,
  delayMs: number,
  parent?: AbortSignal,
): { readonly signal: AbortSignal; cancel(): void } {
  if (parent?.aborted) return { signal: AbortSignal.abort(parent.reason), cancel: () => undefined };
  const controller = new AbortController();
  const cancel = (): void => {
    cancelTimer();
    parent?.removeEventListener('abort', follow);
  };
  const abort = (reason: unknown): void => {
    cancel();
    controller.abort(reason);
  };
  const follow = (): void => abort(parent?.reason);
  const cancelTimer = clock.after(delayMs, () => abort(new DOMException('deadline passed', 'TimeoutError')));
  parent?.addEventListener('abort', follow, { once: true });
  return { signal: controller.signal, cancel };
}
