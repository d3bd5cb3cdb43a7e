import type { DesiredChange, ScaleState, SlopeForecast } from './types.js';

const noSlope: SlopeForecast = Object.freeze({ forMs: 0, predicted: 0, lastValue: 0, error: 0, lastValueError: 0 });
const nothing: readonly never[] = Object.freeze([]);

/**
 * State of an application that is decided about for the first time, or that a new leader adopts with the number that is stored. It counts
 * as active now, so that nothing is given up because of what the leader before knew.
 */
export function initialScaleState(desired: number, nowMs: number): ScaleState {
  return {
    desired,
    decidedAtMs: nowMs,
    sampleAtMs: 0,
    activeAtMs: nowMs,
    lowSinceMs: undefined,
    loads: nothing,
    proposals: desired > 0 ? [desired] : nothing,
    proposalsAtMs: nowMs,
    catchUpWorkers: 0,
    catchUpUntilMs: 0,
    changes: nothing,
    serviceMs: undefined,
    bestServiceMs: undefined,
    concurrency: undefined,
    fastArrivals: 0,
    slowArrivals: 0,
    lastingArrivals: 0,
    completions: 0,
    panicUntilMs: 0,
    panicWorkers: 0,
    warmUntilMs: 0,
    lookAgainAtMs: 0,
    growth: undefined,
    plateau: undefined,
    isRuntimeMemoryCritical: false,
    lastChange: undefined,
    slope: noSlope,
    pattern: undefined,
    idleTimes: nothing,
  };
}

/** Forgets the windows of an application at zero: they would be outdated when it wakes, and it shall cost next to nothing. */
export function asleep(state: ScaleState): ScaleState {
  return {
    ...state,
    lowSinceMs: undefined,
    loads: nothing,
    proposals: nothing,
    catchUpWorkers: 0,
    catchUpUntilMs: 0,
    changes: nothing,
    fastArrivals: 0,
    slowArrivals: 0,
    lastingArrivals: 0,
    completions: 0,
    panicUntilMs: 0,
    panicWorkers: 0,
    growth: undefined,
    plateau: undefined,
    slope: noSlope,
  };
}

/** Changes that a slew limit may look at are kept for this long. */
const changesKeptMs = 60_000;

export function recordChange(
  changes: readonly DesiredChange[],
  before: number,
  change: DesiredChange,
): readonly DesiredChange[] {
  const oldest = change.atMs - changesKeptMs;
  const known = changes.length === 0 ? [{ atMs: 0, desired: before }] : changes;
  // The last change before the kept time says what the number was at its beginning.
  const firstKept = known.findLastIndex(({ atMs }) => atMs <= oldest);
  return [...known.slice(Math.max(0, firstKept)), change];
}

/** Lowest and highest number of workers within the last `periodMs`. */
export function extremes(state: ScaleState, nowMs: number, periodMs: number): { lowest: number; highest: number } {
  let lowest = state.desired;
  let highest = state.desired;
  for (let index = state.changes.length - 1; index >= 0; index -= 1) {
    const change = state.changes[index];
    if (!change) break;
    lowest = Math.min(lowest, change.desired);
    highest = Math.max(highest, change.desired);
    if (change.atMs <= nowMs - periodMs) break;
  }
  return { lowest, highest };
}

const bucketsOfStabilization = 10;

/** Takes what is wanted lastingly into the buckets of the stabilization window. */
export function recordProposal(
  state: ScaleState,
  wanted: number,
  nowMs: number,
  windowMs: number,
): Pick<ScaleState, 'proposals' | 'proposalsAtMs'> {
  const bucketMs = windowMs / bucketsOfStabilization;
  const passed = Math.floor((nowMs - state.proposalsAtMs) / bucketMs);
  if (passed <= 0 && state.proposals.length > 0) {
    const last = state.proposals.at(-1) ?? 0;
    if (wanted <= last) return { proposals: state.proposals, proposalsAtMs: state.proposalsAtMs };
    return { proposals: [...state.proposals.slice(0, -1), wanted], proposalsAtMs: state.proposalsAtMs };
  }
  // One bucket more than the window has: the oldest one is partly outside, and a reduction must not come early.
  const kept = Math.max(0, bucketsOfStabilization + 1 - Math.max(1, passed));
  const proposals = kept === 0 ? [] : state.proposals.slice(-kept);
  return { proposals: [...proposals, wanted], proposalsAtMs: state.proposalsAtMs + Math.max(0, passed) * bucketMs };
}

/** Keeps what was wanted to work off a backlog: a number counts for one stable window after it was wanted last. */
export function recordCatchUp(
  state: ScaleState,
  wanted: number,
  nowMs: number,
  windowMs: number,
): Pick<ScaleState, 'catchUpWorkers' | 'catchUpUntilMs'> {
  const { catchUpWorkers, catchUpUntilMs } = state;
  if (wanted < catchUpWorkers && nowMs < catchUpUntilMs) return { catchUpWorkers, catchUpUntilMs };
  return { catchUpWorkers: wanted, catchUpUntilMs: nowMs + windowMs };
}
