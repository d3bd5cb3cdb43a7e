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
    calls: nothing,
    computingSinceMs: undefined,
    busyCpu: undefined,
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

/** The next state while a decision makes it. */
export type StateDraft = { -readonly [Field in keyof ScaleState]: ScaleState[Field] };

/**
 * Copies a state, to be changed by the steps of one decision. Field by field: `bench:cold-start`, decisions: spreading the object in each
 * step takes three times as long.
 */
export function draftOf(state: ScaleState): StateDraft {
  return {
    desired: state.desired,
    decidedAtMs: state.decidedAtMs,
    sampleAtMs: state.sampleAtMs,
    activeAtMs: state.activeAtMs,
    lowSinceMs: state.lowSinceMs,
    loads: state.loads,
    calls: state.calls,
    computingSinceMs: state.computingSinceMs,
    busyCpu: state.busyCpu,
    proposals: state.proposals,
    proposalsAtMs: state.proposalsAtMs,
    catchUpWorkers: state.catchUpWorkers,
    catchUpUntilMs: state.catchUpUntilMs,
    changes: state.changes,
    serviceMs: state.serviceMs,
    bestServiceMs: state.bestServiceMs,
    concurrency: state.concurrency,
    fastArrivals: state.fastArrivals,
    slowArrivals: state.slowArrivals,
    lastingArrivals: state.lastingArrivals,
    completions: state.completions,
    panicUntilMs: state.panicUntilMs,
    panicWorkers: state.panicWorkers,
    warmUntilMs: state.warmUntilMs,
    lookAgainAtMs: state.lookAgainAtMs,
    growth: state.growth,
    plateau: state.plateau,
    isRuntimeMemoryCritical: state.isRuntimeMemoryCritical,
    lastChange: state.lastChange,
    slope: state.slope,
    pattern: state.pattern,
    idleTimes: state.idleTimes,
  };
}

/** Forgets the windows of an application at zero: they would be outdated when it wakes, and it shall cost next to nothing. */
export function forgetWindows(draft: StateDraft): void {
  draft.lowSinceMs = undefined;
  draft.loads = nothing;
  draft.calls = nothing;
  draft.computingSinceMs = undefined;
  draft.proposals = nothing;
  draft.catchUpWorkers = 0;
  draft.catchUpUntilMs = 0;
  draft.changes = nothing;
  draft.fastArrivals = 0;
  draft.slowArrivals = 0;
  draft.lastingArrivals = 0;
  draft.completions = 0;
  draft.panicUntilMs = 0;
  draft.panicWorkers = 0;
  draft.growth = undefined;
  draft.plateau = undefined;
  draft.slope = noSlope;
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
export function recordProposal(draft: StateDraft, wanted: number, nowMs: number, windowMs: number): void {
  const bucketMs = windowMs / bucketsOfStabilization;
  const passed = Math.floor((nowMs - draft.proposalsAtMs) / bucketMs);
  if (passed <= 0 && draft.proposals.length > 0) {
    if (wanted > (draft.proposals.at(-1) ?? 0)) draft.proposals = [...draft.proposals.slice(0, -1), wanted];
    return;
  }
  // One bucket more than the window has: the oldest one is partly outside, and a reduction must not come early.
  const kept = Math.max(0, bucketsOfStabilization + 1 - Math.max(1, passed));
  draft.proposals = [...(kept === 0 ? [] : draft.proposals.slice(-kept)), wanted];
  draft.proposalsAtMs += Math.max(0, passed) * bucketMs;
}

/** Keeps what was wanted to work off a backlog: a number counts for one stable window after it was wanted last. */
export function recordCatchUp(draft: StateDraft, wanted: number, nowMs: number, windowMs: number): void {
  if (wanted < draft.catchUpWorkers && nowMs < draft.catchUpUntilMs) return;
  draft.catchUpWorkers = wanted;
  draft.catchUpUntilMs = nowMs + windowMs;
}
