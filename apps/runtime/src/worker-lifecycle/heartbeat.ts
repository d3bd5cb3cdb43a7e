/**
 * Returns the time limit for the response to a heartbeat sent now. It is counted from the last message of the worker: with
 * an interval of 15 s and 3 misses, a worker is silent 45 s after that message, however many others are checked with it.
 */
export function answerWithinMs(
  { heardMs, nowMs }: { readonly heardMs: number; readonly nowMs: number },
  intervalMs: number,
  maxMissed: number,
): number {
  return Math.max(intervalMs, heardMs + intervalMs * maxMissed - nowMs);
}

/** Whether a worker that missed its heartbeat is silent. Any other message since then counts as a sign of life. */
export function isSilent(
  { heardMs, nowMs }: { readonly heardMs: number; readonly nowMs: number },
  intervalMs: number,
  maxMissed: number,
): boolean {
  return nowMs - heardMs >= intervalMs * maxMissed;
}
