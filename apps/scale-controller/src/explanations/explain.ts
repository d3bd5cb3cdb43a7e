import type { ScalingDecisionView, ScalingView } from '@drover/contracts';
import { conclude, leadingProposal } from '../decisions/conclude.js';
import { scalingClamps } from '../decisions/scaling-clamps.js';
import { scalingRules } from '../decisions/scaling-rules.js';
import type { ScaleDecision, ScalePolicy, WorkerCounts } from '../decisions/types.js';
import type { DecisionRecord } from './decision-log.js';
import { replayDecision } from './replay.js';

const countOf = (workers: number): string => (workers === 1 ? '1 worker' : `${workers} workers`);

/** Says in one sentence why a decision has its number. */
export function scalingReason(decision: ScaleDecision, policy: ScalePolicy): string {
  const { desired, previous, clamps, facts } = decision;
  const change = desired === previous ? countOf(desired) : `${countOf(desired)}, before ${previous}`;
  const leading = leadingProposal(conclude(facts, policy).proposals);
  const wish = leading
    ? `${leading.rule} wants ${leading.workers} (${scalingRules[leading.rule].say(facts, policy)})`
    : 'no rule has an opinion';
  const bounds = clamps.map(({ clamp, to }) => `${to} by ${clamp}: ${scalingClamps[clamp].say(facts, policy)}`);
  return [`${change}: ${wish}`, ...bounds].join('; ');
}

/** One decision for the API. */
export function explainDecision(record: DecisionRecord): ScalingDecisionView {
  const { decision, policy } = record;
  return {
    at: new Date(record.firstAtMs).toISOString(),
    until: new Date(decision.facts.nowMs).toISOString(),
    count: record.count,
    desired: decision.desired,
    previous: decision.previous,
    cause: decision.cause,
    reason: scalingReason(decision, policy),
    isPanic: decision.isPanic,
    proposals: conclude(decision.facts, policy).proposals.map(({ rule, vote, workers }) => ({
      rule,
      vote,
      workers,
      text: scalingRules[rule].say(decision.facts, policy),
    })),
    clamps: decision.clamps.map(({ clamp, from, to }) => ({
      clamp,
      from,
      to,
      text: scalingClamps[clamp].say(decision.facts, policy),
    })),
    facts: { ...decision.facts },
    isReproducible: replayDecision(record).isSame,
  };
}

function withoutDecision(desired: number): string {
  return desired === 0 ? 'no event has come yet, and the first one starts a worker' : 'no decision was made yet';
}

/** Answers "why do I have 3 workers?" for one application, from its records, newest first. */
export function explainApplication(
  application: string,
  now: {
    readonly desired: number;
    readonly workers: WorkerCounts;
    readonly scaling: ScalingView['scaling'];
    readonly records: readonly DecisionRecord[];
  },
): ScalingView {
  const [newest] = now.records;
  return {
    application,
    workers: { desired: now.desired, ...now.workers },
    why: newest
      ? scalingReason(newest.decision, newest.policy)
      : `${countOf(now.desired)}: ${withoutDecision(now.desired)}`,
    scaling: now.scaling,
    decisions: now.records.map((record) => explainDecision(record)),
  };
}
