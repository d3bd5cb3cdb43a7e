/**
 * How long a worker that is asked now may take to answer. The limit counts from when it was last heard of: with 15 s and 3
 * misses, a worker that went silent is given up 45 s later, however many others did at the same time.
 */
export function answerWithinMs(
  { heardMs, nowMs }: { readonly heardMs: number; readonly nowMs: number },
  intervalMs: number,
  maxMissed: number,
): number {
  return Math.max(intervalMs, heardMs + intervalMs * maxMissed - nowMs);
}

/** Whether a worker that did not answer is silent for good: whatever else it sent shows that it lives. */
export function isSilent(
  { heardMs, nowMs }: { readonly heardMs: number; readonly nowMs: number },
  intervalMs: number,
  maxMissed: number,
): boolean {
  return nowMs - heardMs >= intervalMs * maxMissed;
}
