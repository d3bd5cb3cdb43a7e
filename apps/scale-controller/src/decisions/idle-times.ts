/** Idle times that are remembered; a third of that must be there before they count. */
const remembered = 24;
const enough = 8;

/** Shorter ones say nothing about zero. */
const shortestSeconds = 10;

/** Quantiles as in the hybrid histogram policy of "Serverless in the Wild" (ATC 2020): be ready at the 5th, give up at the 99th. */
const early = 0.05;
const late = 0.99;

export function recordIdleTime(idleTimes: readonly number[], idleMs: number): readonly number[] {
  const seconds = idleMs / 1_000;
  return seconds < shortestSeconds ? idleTimes : [...idleTimes.slice(1 - remembered), Math.round(seconds)];
}

/** When a worker shall be ready again, as offsets from the last event. */
export interface WarmTime {
  readonly fromMs: number;
  readonly untilMs: number;
}

/**
 * Finds the time in which the next event is to be expected. Returns undefined with too few idle times, or if they differ so much that
 * the worker would be idle for longer than the policy keeps one anyway.
 */
export function warmTime(idleTimes: readonly number[], idleMs: number): WarmTime | undefined {
  if (idleTimes.length < enough) return undefined;
  const sorted = idleTimes.toSorted((a, b) => a - b);
  const at = (quantile: number): number => (sorted[Math.floor(quantile * (sorted.length - 1) + 0.5)] ?? 0) * 1_000;
  const fromMs = at(early);
  const untilMs = at(late) * 1.05;
  return untilMs - fromMs <= Math.max(idleMs, fromMs / 5) ? { fromMs, untilMs } : undefined;
}

/** Keep-alive that saves a cold start: the late quantile, if it is over the idle time by not more than that time again. Else 0. */
export function keepAliveMs(idleTimes: readonly number[], idleMs: number): number {
  if (idleTimes.length < enough) return 0;
  const longest = Math.max(...idleTimes) * 1_050;
  return longest > idleMs && longest <= 2 * idleMs ? longest : 0;
}
