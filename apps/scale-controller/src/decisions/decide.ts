import { hasWork, lookAgainAt, noteActivity } from './activity.js';
import { conclude, type Conclusion } from './conclude.js';
import { isKnown, scaleFactsOf } from './facts.js';
import { foldSample } from './fold-sample.js';
import { judgeGrowth, trialOf } from './growth.js';
import { defaultScalePolicy } from './policy.js';
import { draftOf, forgetWindows, initialScaleState, recordCatchUp, recordChange, recordProposal } from './state.js';
import type { StateDraft } from './state.js';
import type { ScaleDecision, ScaleFacts, ScaleInput, ScaleOutcome, ScalePolicy, ScaleState } from './types.js';

/**
 * Decides how many workers an application shall have. Pure: the same state, input and policy give the same outcome. Without a state the
 * workers that are there are adopted.
 */
export function decide(before: ScaleState | undefined, input: ScaleInput, policy: ScalePolicy): ScaleOutcome {
  if (before && isAsleep(before, input, policy)) return { state: before, decision: sleepingDecision };
  const draft = draftOf(before ?? initialScaleState(input.workers.ready + input.workers.starting, input.nowMs));
  noteActivity(draft, input, policy, isKnown(input, policy));
  foldSample(draft, input, policy);
  judgeGrowth(draft, input, policy);
  const facts = scaleFactsOf(draft, input, policy);
  const conclusion = conclude(facts, policy);
  const decision = decisionOf(conclusion, facts, draft.lastChange, policy);
  remember(draft, conclusion, facts, policy);
  if (draft.desired === 0) {
    forgetWindows(draft);
    draft.lookAgainAtMs = lookAgainAt(draft, input, policy);
  }
  return { state: draft, decision };
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

function decisionOf(
  { desired, cause, isPanic, clamps }: Conclusion,
  facts: ScaleFacts,
  last: ScaleState['lastChange'],
  policy: ScalePolicy,
): ScaleDecision {
  const change = desired - facts.desired;
  const isOpposite = last !== undefined && change !== 0 && change > 0 !== (last.direction === 'up');
  const isOscillation = isOpposite && facts.nowMs - last.atMs < policy.downStabilizationMs;
  return { desired, previous: facts.desired, cause, isPanic, isOscillation, clamps, facts };
}

/** Takes a decision into the state that the next one starts from. */
function remember(draft: StateDraft, conclusion: Conclusion, facts: ScaleFacts, policy: ScalePolicy): void {
  const { desired, isPanic, isPanicCause } = conclusion;
  const { nowMs, desired: previous } = facts;
  if (desired !== previous) {
    draft.growth = trialOf(draft, facts, desired);
    draft.changes = recordChange(draft.changes, previous, { atMs: nowMs, desired });
    draft.lastChange = { atMs: nowMs, direction: desired > previous ? 'up' : 'down' };
  }
  recordProposal(draft, conclusion.lasting, nowMs, policy.downStabilizationMs);
  recordCatchUp(draft, conclusion.wanted, nowMs, policy.stableWindowMs);
  draft.desired = desired;
  draft.decidedAtMs = nowMs;
  if (isPanicCause) draft.panicUntilMs = nowMs + policy.stableWindowMs;
  draft.panicWorkers = isPanic ? Math.max(desired, facts.panicWorkers) : 0;
  draft.isRuntimeMemoryCritical = facts.isRuntimeMemoryCritical;
}

const restFacts = scaleFactsOf(
  initialScaleState(0, 0),
  {
    nowMs: 0,
    sample: undefined,
    sampleAtMs: 0,
    workers: { ready: 0, starting: 0, draining: 0 },
    wakes: [],
    startMs: 0,
    runtimeMemory: undefined,
    cores: undefined,
    cpuDemand: undefined,
  },
  defaultScalePolicy,
);

/** Whether a decision is that of an application at zero to which nothing happened: it has no time and no facts of its own. */
export function isSleepingDecision(decision: ScaleDecision): boolean {
  return decision === sleepingDecision;
}

/** The decision about every application at zero to which nothing happened: one object for all of them. */
const sleepingDecision: ScaleDecision = Object.freeze(
  decisionOf(conclude(restFacts, defaultScalePolicy), restFacts, undefined, defaultScalePolicy),
);
