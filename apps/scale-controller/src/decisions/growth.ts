import type { GrowthTrial, ScaleFacts, ScalePolicy, ScaleState } from './types.js';

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
export function judgeGrowth(
  state: ScaleState,
  facts: { readonly nowMs: number; readonly ready: number; readonly waiting: number },
  policy: ScalePolicy,
): Pick<ScaleState, 'growth' | 'plateau'> {
  const { growth } = state;
  const plateau = state.plateau && facts.nowMs < state.plateau.untilMs ? state.plateau : undefined;
  if (!growth || facts.nowMs < growth.judgeAtMs) return { growth, plateau };
  const isSaturated = facts.waiting > 0 && facts.ready >= growth.toWorkers;
  const hasGained = state.completions >= growth.completionsBefore * (1 + policy.leastGain);
  if (!isSaturated || hasGained) return { growth: undefined, plateau };
  return { growth: undefined, plateau: { workers: growth.toWorkers, untilMs: facts.nowMs + policy.plateauMs } };
}
