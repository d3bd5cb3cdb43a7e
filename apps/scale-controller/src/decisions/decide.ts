import { hasWork, lookAgainAt, noteActivity } from './activity.js';
import { conclude, type Conclusion } from './conclude.js';
import { scaleFactsOf, isKnown } from './facts.js';
import { foldSample } from './fold-sample.js';
import { judgeGrowth, trialOf } from './growth.js';
import { sleepingDecision } from './sleeping.js';
import { asleep, initialScaleState, recordCatchUp, recordChange, recordProposal } from './state.js';
import type { ScaleDecision, ScaleInput, ScaleOutcome, ScalePolicy, ScaleState } from './types.js';

/**
 * Decides how many workers an application shall have. Pure: the same state, input and policy give the same outcome. Without a state the
 * workers that are there are adopted.
 */
export function decide(before: ScaleState | undefined, input: ScaleInput, policy: ScalePolicy): ScaleOutcome {
  if (before && isAsleep(before, input, policy)) return { state: before, decision: sleepingDecision };
  const known = before ?? initialScaleState(input.workers.ready + input.workers.starting, input.nowMs);
  const noted = noteActivity(known, input, policy, isKnown(input, policy));
  const folded = foldSample(noted, input, policy);
  const state = { ...folded, ...judgeGrowth(folded, saturation(input), policy) };
  const facts = scaleFactsOf(state, input, policy);
  const conclusion = conclude(facts, policy);
  const decision = decisionOf(conclusion, state, policy);
  return { state: remember(state, conclusion, input, policy), decision };
}

/** Replaces the number of an outcome by the smaller one that the ceilings of tenants and platform leave. */
export function limitOutcome(outcome: ScaleOutcome, granted: number): ScaleOutcome {
  const { state, decision } = outcome;
  if (granted >= decision.desired) return outcome;
  const clamps = [...decision.clamps, { clamp: 'tenant-share', from: decision.desired, to: granted } as const];
  const changes = state.changes.map((change) =>
    change.atMs === decision.facts.nowMs ? { ...change, desired: granted } : change,
  );
  return {
    state: { ...state, desired: granted, changes },
    decision: { ...decision, desired: granted, cause: 'tenant-share', clamps },
  };
}

/** Nothing has happened to an application at zero, and nothing is due: most applications at most times. */
function isAsleep(
  state: ScaleState,
  { nowMs, sample, sampleAtMs, workers, wakes }: ScaleInput,
  policy: ScalePolicy,
): boolean {
  if (state.desired > 0 || policy.minWorkers > 0 || nowMs >= state.lookAgainAtMs || nowMs < state.warmUntilMs)
    return false;
  if (workers.ready > 0 || workers.starting > 0 || wakes.length > 0) return false;
  return !sample || nowMs - sampleAtMs > policy.staleAfterMs || !hasWork(sample);
}

function saturation({ nowMs, sample, workers }: ScaleInput): { nowMs: number; ready: number; waiting: number } {
  const backlog = sample ? sample.triggers.reduce((sum, trigger) => sum + (trigger.waiting ?? 0), sample.waiting) : 0;
  return { nowMs, ready: workers.ready, waiting: backlog };
}

function decisionOf(conclusion: Conclusion, state: ScaleState, policy: ScalePolicy): ScaleDecision {
  const { wanted: _, lasting: __, isPanicCause: ___, ...decision } = conclusion;
  const direction = decision.desired - decision.previous;
  const last = state.lastChange;
  const isOscillation =
    last !== undefined &&
    direction !== 0 &&
    direction > 0 !== (last.direction === 'up') &&
    decision.facts.nowMs - last.atMs < policy.downStabilizationMs;
  return { ...decision, isOscillation };
}

/** The state after a decision. */
function remember(state: ScaleState, conclusion: Conclusion, input: ScaleInput, policy: ScalePolicy): ScaleState {
  const { desired, previous, facts, isPanic, isPanicCause } = conclusion;
  const { nowMs } = facts;
  const isChange = desired !== previous;
  const next: ScaleState = {
    ...state,
    desired,
    decidedAtMs: nowMs,
    ...recordProposal(state, conclusion.lasting, nowMs, policy.downStabilizationMs),
    ...recordCatchUp(state, conclusion.wanted, nowMs, policy.stableWindowMs),
    changes: isChange ? recordChange(state.changes, previous, { atMs: nowMs, desired }) : state.changes,
    panicUntilMs: isPanicCause ? nowMs + policy.stableWindowMs : state.panicUntilMs,
    panicWorkers: isPanic ? Math.max(desired, facts.panicWorkers) : 0,
    growth: isChange ? trialOf(state, facts, desired) : state.growth,
    isRuntimeMemoryCritical: facts.isRuntimeMemoryCritical,
    lastChange: isChange ? { atMs: nowMs, direction: desired > previous ? 'up' : 'down' } : state.lastChange,
  };
  if (desired > 0) return next;
  return { ...asleep(next), lookAgainAtMs: lookAgainAt(next, input, policy) };
}
