import { setMaxListeners } from 'node:events';
/** Time as a dependency. Durations and deadlines use `monotonicMs`; only displayed and stored times use `now`. */
export interface Clock {
  /** Wall-clock milliseconds since the epoch; may jump. */
  now(): number;
  /** Milliseconds since an arbitrary start; never decreases. */
  monotonicMs(): number;
  /** Calls `action` once after `delayMs`. The returned function cancels it. */
  after(delayMs: number, action: () => void): () => void;
}

/** Limit of a 32-bit timer; `setTimeout` turns longer delays into one millisecond. */
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

/** Resolves after `delayMs`; rejects with the signal's reason when it aborts. */
export function sleep(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const abort = (): void => {
      cancel();
      reject(signal?.reason);
    };
    const cancel = clock.after(delayMs, () => {
      signal?.removeEventListener('abort', abort);
      resolve();
    });
    signal?.addEventListener('abort', abort, { once: true });
  });
}

/**
 * Returns a signal that aborts after `delayMs` or together with `parent`. `cancel` clears the timer without aborting. After
 * an abort no timer and no listener on `parent` remains.
 */
export function deadlineAfter(
  clock: Clock,
  delayMs: number,
  parent?: AbortSignal,
): { readonly signal: AbortSignal; cancel(): void } {
  if (parent?.aborted) return { signal: AbortSignal.abort(parent.reason), cancel: () => undefined };
  const controller = new AbortController();
  // What runs until the deadline listens to it: the drains of all triggers of an app, for example.
  setMaxListeners(0, controller.signal);
  const cancel = (): void => {
    cancelTimer();
    parent?.removeEventListener('abort', follow);
  };
  const abort = (reason: unknown): void => {
    cancel();
    controller.abort(reason);
  };
  const follow = (): void => abort(parent?.reason);
  const cancelTimer = clock.after(delayMs, () => abort(new DOMException('the deadline passed', 'TimeoutError')));
  if (parent) {
    // Every listener is removed again; the warning at the eleventh would tell users of a leak that is none.
    setMaxListeners(0, parent);
    parent.addEventListener('abort', follow, { once: true });
  }
  return { signal: controller.signal, cancel };
}
