import type { PoolInput, PoolOutcome, PoolPolicy, PoolState } from './fleet-types.js';

const minutes = 60_000;

/** Bounds of the pool; placement ends and replaces single placeholders by age. */
export const defaultPoolPolicy: PoolPolicy = Object.freeze({
  minPlaceholders: 1,
  maxPlaceholders: 10,
  quantile: 0.99,
  missHalfLifeMs: 10 * minutes,
});

/** Peaks are remembered for half an hour, one for each minute. */
const peakIntervalMs = minutes;
const rememberedPeaks = 30;
const rateMs = 10 * minutes;

/**
 * Sizes the placeholder pool: as many as are taken within one replenish time in all but 1 % of the cases, both by the mean rate (Poisson)
 * and by what was seen. A cold start because the pool was empty raises the target at once; it falls slowly, as peaks are forgotten.
 */
export function sizePool(before: PoolState | undefined, input: PoolInput, policy: PoolPolicy): PoolOutcome {
  const state = advance(before ?? emptyPool(input.nowMs), input, policy);
  const expected = poissonQuantile((state.rate * input.replenishMs) / 1_000, policy.quantile);
  const demand = Math.max(expected, quantileOf(state.peaks, policy.quantile));
  const missed = Math.ceil(state.missed - 0.5);
  const wanted = Math.max(demand, policy.minPlaceholders) + Math.max(0, missed);
  const inBounds = Math.min(wanted, policy.maxPlaceholders);
  // Placeholders are the first to be given up when applications need the workers.
  const target = Math.max(0, Math.min(inBounds, input.headroom));
  return { state: { ...state, target }, target, cause: causeOf({ wanted, demand, missed, inBounds, target }, policy) };
}

function causeOf(
  sizes: { wanted: number; demand: number; missed: number; inBounds: number; target: number },
  policy: PoolPolicy,
): PoolOutcome['cause'] {
  if (sizes.target < sizes.inBounds) return 'headroom';
  if (sizes.wanted > policy.maxPlaceholders) return 'maximum';
  if (sizes.missed > 0) return 'misses';
  return sizes.demand > policy.minPlaceholders ? 'demand' : 'minimum';
}

function emptyPool(nowMs: number): PoolState {
  return { target: 0, decidedAtMs: nowMs, peaks: [], peaksAtMs: nowMs, rate: 0, missed: 0 };
}

function advance(state: PoolState, input: PoolInput, policy: PoolPolicy): PoolState {
  const elapsedMs = Math.max(0, input.nowMs - state.decidedAtMs);
  const used = input.taken + input.missed;
  const decay = Math.exp(-elapsedMs / rateMs);
  return {
    target: state.target,
    decidedAtMs: input.nowMs,
    ...advancePeaks(state, input),
    // Each use adds its share of the mean, however long the interval between two decisions is.
    rate: state.rate * decay + used / (rateMs / 1_000),
    missed: state.missed * 0.5 ** (elapsedMs / policy.missHalfLifeMs) + input.missed,
  };
}

function advancePeaks(state: PoolState, { nowMs, peakTaken }: PoolInput): Pick<PoolState, 'peaks' | 'peaksAtMs'> {
  const passed = Math.floor((nowMs - state.peaksAtMs) / peakIntervalMs);
  if (passed <= 0 && state.peaks.length > 0) {
    const last = state.peaks.at(-1) ?? 0;
    const peaks = peakTaken > last ? [...state.peaks.slice(0, -1), peakTaken] : state.peaks;
    return { peaks, peaksAtMs: state.peaksAtMs };
  }
  const empty = Array.from({ length: Math.min(Math.max(0, passed - 1), rememberedPeaks) }, () => 0);
  const peaks = [...state.peaks, ...empty, peakTaken].slice(-rememberedPeaks);
  return { peaks, peaksAtMs: state.peaksAtMs + Math.max(0, passed) * peakIntervalMs };
}

function quantileOf(values: readonly number[], quantile: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(quantile * sorted.length))] ?? 0;
}

/** The smallest number that a Poisson variable does not exceed with this probability. */
function poissonQuantile(mean: number, quantile: number): number {
  // Far from zero the normal approximation is close, and the sum below would underflow.
  if (mean > 100) return Math.ceil(mean + 2.33 * Math.sqrt(mean));
  let probability = Math.exp(-mean);
  let sum = probability;
  let count = 0;
  while (sum < quantile) {
    count += 1;
    probability *= mean / count;
    sum += probability;
  }
  return count;
}
