import { deadlineAfter, type Clock } from '@drover/service-kit';

/** A request without a response for this long counts as failed. */
export const requestTimeoutMs = 30_000;

/** Runs `call` with a signal that aborts after `withinMs` or with `parent`. */
export async function withDeadline<T>(
  clock: Clock,
  withinMs: number,
  parent: AbortSignal,
  call: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const deadline = deadlineAfter(clock, withinMs, parent);
  try {
    return await call(deadline.signal);
  } finally {
    deadline.cancel();
  }
}

/** Resolves when `work` does, or as soon as `signal` aborts. */
export async function untilAborted(work: Promise<void>, signal: AbortSignal): Promise<void> {
  let finish: () => void = () => undefined;
  const aborted = new Promise<void>((resolve) => (finish = resolve));
  if (signal.aborted) finish();
  signal.addEventListener('abort', finish, { once: true });
  try {
    await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', finish);
  }
}

/** Runs `call` and rejects with the reason of `signal` as soon as it aborts; the outcome of the call is then ignored. */
export async function rejectOnAbort<T>(call: () => Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  let abort: () => void = () => undefined;
  const aborted = new Promise<never>((_, reject) => (abort = () => reject(signal.reason)));
  signal.addEventListener('abort', abort, { once: true });
  try {
    return await Promise.race([call(), aborted]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
