import type { RuleId, ScaleFacts, ScalePolicy, ScaleProposal, Vote } from './types.js';

/** One row of the tables in docs/scaling.md, and the function that evaluates it. */
export interface ScalingRule {
  /** Where it comes from. */
  readonly origin: string;
  readonly metric: string;
  /** Condition for more and for fewer workers, as in the tables of seed 000. */
  readonly up: string;
  readonly down: string;
  /** How the number is computed. */
  readonly size: string;
  /** Returns undefined where the rule has no opinion: the metric is unknown, or neither condition can hold. */
  readonly propose: (facts: ScaleFacts, policy: ScalePolicy) => ScaleProposal | undefined;
  /** Says for people what was compared. */
  readonly say: (facts: ScaleFacts, policy: ScalePolicy) => string;
}

/** Rounds up, forgiving what floating point adds. */
export function wholeWorkers(needed: number): number {
  return Math.max(0, Math.ceil(needed - 1e-9));
}

export function proposal(rule: RuleId, vote: Vote, needed: number, lasting: number = needed): ScaleProposal {
  return { rule, vote, needed, workers: wholeWorkers(needed), lasting: wholeWorkers(lasting) };
}

/** Proposal of a rule that computes the number itself: it votes for wherever that number is. */
export function sizedProposal(
  rule: RuleId,
  needed: number,
  facts: ScaleFacts,
  lasting: number = needed,
): ScaleProposal {
  const workers = wholeWorkers(needed);
  const vote = workers > facts.desired ? 'up' : workers < facts.desired ? 'down' : 'keep';
  return proposal(rule, vote, needed, lasting);
}

/** Events that a worker could take now: more workers than that would stay idle. */
export function eventsAtHand(facts: ScaleFacts): number {
  return facts.backlog + facts.waiting + facts.inFlight;
}

/**
 * Concurrent invocations that take what waits within the times of the policy. Until a service time is known, each call that waits counts
 * for one.
 */
export function catchUpLoad({ serviceMs, waiting, backlog }: ScaleFacts, policy: ScalePolicy): number {
  if (serviceMs === undefined) return waiting;
  return waitingLoad(waiting, serviceMs, policy) + backlog * (serviceMs / policy.drainBacklogMs);
}

/** The part of it that waits in runtimes. */
export function waitingLoad(waiting: number, serviceMs: number | undefined, policy: ScalePolicy): number {
  return serviceMs === undefined ? waiting : waiting * Math.min(1, serviceMs / policy.drainWaitingMs);
}

/** One decimal, without a trailing zero. */
export const decimalText = (value: number | undefined): string => String(Math.round((value ?? 0) * 10) / 10);
export const percentText = (value: number | undefined): string => `${Math.round((value ?? 0) * 100)} %`;
export const secondsText = (ms: number | undefined): string => `${decimalText((ms ?? 0) / 1_000)} s`;
