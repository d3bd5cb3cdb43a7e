import { scalingRules } from './scaling-rules.js';
import { thresholds } from './seed-rules.js';
import { waitingLoad, wholeWorkers } from './rule.js';
import { workersForCalls, workersForCores } from './useful-workers.js';
import type {
  ClampId,
  RuleId,
  ScaleClamp,
  ScaleDecision,
  ScaleFacts,
  ScalePolicy,
  ScaleProposal,
  SlewLimit,
} from './types.js';

/** A decision without its place in time, and what of it the next ones have to remember. */
export interface Conclusion extends Pick<ScaleDecision, 'desired' | 'cause' | 'isPanic' | 'clamps'> {
  readonly proposals: readonly ScaleProposal[];
  /** What the rules want, before anything delays or bounds it, and how much of it lasts when nothing waits any more. */
  readonly wanted: number;
  readonly lasting: number;
  /** A reason for panic holds now, so that it lasts for another stable window. */
  readonly isPanicCause: boolean;
}

const ruleIds = Object.keys(scalingRules) as readonly RuleId[];

/** Bounds what the rules want, in the order in which the bounds stand in docs/scaling.md, and keeps what changed the number. */
class BoundedNumber {
  readonly clamps: ScaleClamp[] = [];
  workers: number;

  constructor(workers: number) {
    this.workers = workers;
  }

  atLeast(workers: number, clamp: ClampId): void {
    if (workers > this.workers) this.#set(workers, clamp);
  }

  atMost(workers: number, clamp: ClampId): void {
    if (workers < this.workers) this.#set(workers, clamp);
  }

  #set(to: number, clamp: ClampId): void {
    this.clamps.push({ clamp, from: this.workers, to });
    this.workers = to;
  }
}

/** Makes a decision of facts alone: a recorded decision can be made again. */
export function conclude(facts: ScaleFacts, policy: ScalePolicy): Conclusion {
  const proposals = proposalsOf(facts, policy);
  const isIdle = proposals.some(isIdleVote);
  const highest = leadingProposal(proposals);
  const isPanicCause = wantsPanic(facts, policy);
  const isPanic = !isIdle && (isPanicCause || facts.nowMs < facts.panicUntilMs);
  const bounded = new BoundedNumber(highest?.workers ?? 0);

  if (!isIdle && isWithinTolerance(proposals, facts.desired, policy)) hold(bounded, facts.desired, 'tolerance');
  const wanted = bounded.workers;
  if (facts.isStale || facts.problem !== undefined) bounded.atLeast(facts.desired, 'unknown');
  // Without a sample a panic only holds: it does not take back what was reduced for another reason.
  if (isPanic) bounded.atLeast(facts.isStale ? facts.desired : Math.max(facts.desired, facts.panicWorkers), 'panic');
  if (!isIdle) bounded.atLeast(Math.min(facts.desired, facts.stabilizedWorkers), 'stabilization');
  boundUse(bounded, facts);
  boundMemory(bounded, facts);
  boundSlew(bounded, facts, { policy, isPanic, isIdle });
  bounded.atLeast(policy.minWorkers, 'min');
  bounded.atMost(policy.maxWorkers, 'max');

  return {
    desired: bounded.workers,
    cause: bounded.clamps.at(-1)?.clamp ?? highest?.rule ?? 'steady',
    isPanic,
    proposals,
    clamps: bounded.clamps,
    wanted,
    lasting: lastingOf(proposals, isIdle),
    isPanicCause,
  };
}

function proposalsOf(facts: ScaleFacts, policy: ScalePolicy): ScaleProposal[] {
  const proposals: ScaleProposal[] = [];
  for (const rule of ruleIds) {
    const proposed = scalingRules[rule].propose(facts, policy);
    if (proposed) proposals.push(proposed);
  }
  return proposals;
}

const isIdleVote = ({ rule, vote }: ScaleProposal): boolean => rule === 'depth' && vote === 'down';

/**
 * The proposal that counts. For more workers the largest one wins; for fewer all must agree, which is the largest again. What only asks to
 * keep workers has no say about an application without any event.
 */
export function leadingProposal(proposals: readonly ScaleProposal[]): ScaleProposal | undefined {
  let leading = proposals.find(isIdleVote);
  const isIdle = leading !== undefined;
  for (const proposed of proposals) {
    if (isIdle && proposed.vote !== 'up') continue;
    if (!leading || proposed.workers > leading.workers) leading = proposed;
  }
  return leading;
}

function lastingOf(proposals: readonly ScaleProposal[], isIdle: boolean): number {
  let lasting = 0;
  for (const proposed of proposals)
    if (!isIdle || proposed.vote === 'up') lasting = Math.max(lasting, proposed.lasting);
  return lasting;
}

function isWithinTolerance(proposals: readonly ScaleProposal[], desired: number, { tolerance }: ScalePolicy): boolean {
  let needed = 0;
  for (const proposed of proposals) needed = Math.max(needed, proposed.needed);
  return desired > 0 && needed > 0 && Math.abs(needed / desired - 1) <= tolerance;
}

function hold(bounded: BoundedNumber, workers: number, clamp: ClampId): void {
  bounded.atLeast(workers, clamp);
  bounded.atMost(workers, clamp);
}

function wantsPanic(facts: ScaleFacts, policy: ScalePolicy): boolean {
  if (facts.isStale) return false;
  if (facts.isBackpressured) return true;
  const load = facts.panicLoad + waitingLoad(facts.waiting, facts.serviceMs, policy);
  const needed = load / (facts.concurrency * policy.plannedUtilization);
  return facts.ready > 0 && needed >= policy.panicRatio * facts.ready;
}

/** Growth that brings nothing: the bottleneck is elsewhere, the source has no more partitions, or no call or no core is left. */
function boundUse(bounded: BoundedNumber, facts: ScaleFacts): void {
  if (facts.plateauWorkers > 0) bounded.atMost(Math.max(facts.plateauWorkers, facts.desired), 'plateau');
  if (facts.maxUsefulWorkers !== undefined) bounded.atMost(Math.max(1, facts.maxUsefulWorkers), 'useful');
  if (!facts.isStale) bounded.atMost(Math.max(facts.desired, workersForCalls(facts)), 'calls');
  const fed = workersForCores(facts);
  if (fed !== undefined) bounded.atMost(Math.max(facts.desired, fed), 'cores');
}

/** A runtime that is short of memory gets no more workers; in need it gives up two at a time, but not the last one. */
function boundMemory(bounded: BoundedNumber, facts: ScaleFacts): void {
  if (facts.runtimeMemory === undefined || facts.runtimeMemory <= thresholds.runtimeMemory.elevated) return;
  bounded.atMost(Math.max(1, facts.desired), 'runtime-memory');
  if (facts.isRuntimeMemoryCritical) bounded.atMost(Math.max(1, facts.highestRecent - 2), 'runtime-memory');
}

function boundSlew(
  bounded: BoundedNumber,
  facts: ScaleFacts,
  { policy, isPanic, isIdle }: { policy: ScalePolicy; isPanic: boolean; isIdle: boolean },
): void {
  const up = isPanic
    ? mostAfter(facts.lowestPanicRecent, policy.slewPanic)
    : mostAfter(facts.lowestRecent, policy.slewUp);
  bounded.atMost(Math.max(up, facts.desired), 'slew-up');
  // Idle workers have nothing to lose: they all go at once.
  if (isIdle || facts.isRuntimeMemoryCritical) return;
  const { factor, add } = policy.slewDown;
  const least = Math.min(Math.floor(facts.highestRecent * factor), facts.highestRecent - add);
  bounded.atLeast(Math.min(least, facts.desired), 'slew-down');
}

function mostAfter(base: number, { factor, add }: SlewLimit): number {
  return Math.max(wholeWorkers(base * factor), base + add);
}
