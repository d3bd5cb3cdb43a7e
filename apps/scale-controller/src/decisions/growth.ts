import type { StateDraft } from './state.js';
import type { GrowthTrial, ScaleFacts, ScaleInput, ScalePolicy, ScaleState } from './types.js';

/** Time that added workers have to show an effect, beside their start. */
const judgeAfterMs = 15_000;

/** Smaller growth could not show a gain that is worth a judgement. */
const leastGrowth = 1.25;

/** Remembers the completions before a growth, unless one is being judged already. */
export function trialOf(state: ScaleState, facts: ScaleFacts, desired: number): GrowthTrial | undefined {
  if (state.growth || desired < facts.ready * leastGrowth || facts.ready === 0) return state.growth;
  if (desired <= facts.desired || state.completions <= 0) return undefined;
  return {
    fromWorkers: facts.ready,
    toWorkers: desired,
    completionsBefore: state.completions,
    judgeAtMs: facts.nowMs + facts.startMs + judgeAfterMs,
  };
}

/**
 * Judges a growth when its time has come: with all workers at work and events still waiting, completions must have risen. If not, the
 * bottleneck is elsewhere and more workers would make it worse.
 */
export function judgeGrowth(draft: StateDraft, input: ScaleInput, policy: ScalePolicy): void {
  const { growth } = draft;
  if (draft.plateau && input.nowMs >= draft.plateau.untilMs) draft.plateau = undefined;
  if (!growth || input.nowMs < growth.judgeAtMs) return;
  draft.growth = undefined;
  const isSaturated = isAnyWaiting(input) && input.workers.ready >= growth.toWorkers;
  const hasGained = draft.completions >= growth.completionsBefore * (1 + policy.leastGain);
  if (isSaturated && !hasGained) draft.plateau = { workers: growth.toWorkers, untilMs: input.nowMs + policy.plateauMs };
}

function isAnyWaiting({ sample }: ScaleInput): boolean {
  return sample !== undefined && (sample.waiting > 0 || sample.triggers.some(({ waiting = 0 }) => waiting > 0));
}
