import {
  decimalText,
  eventsAtHand,
  percentText,
  proposal,
  secondsText,
  sizedProposal,
  waitingLoad,
  wholeWorkers,
  type ScalingRule,
} from './rule.js';
import type { RuleId, ScaleFacts, ScalePolicy, ScaleProposal } from './types.js';

const rulesTable = 'seed 000, scaling rules';
const triggersTable = 'seed 000, scaling triggers';

/** Thresholds of the tables in seed 000. */
export const thresholds = {
  cpu: { up: 0.7, down: 0.2 },
  memory: { up: 0.8 },
  rate: { up: 1, down: 0.1 },
  utilization: { up: 0.7, down: 0.2, lowForMs: 300_000 },
  runtimeMemory: { elevated: 0.7, critical: 0.9, recovered: 0.85 },
} as const;

/**
 * A reduction leaves each metric at most here, well under its threshold for growth. Between the two nothing happens, so that a constant
 * load never moves the number back and forth.
 */
const restAfterReduction = 0.6;

/** Steps of rules that know "more" but not how many, by how long the workers before have been at work. */
const ageStepMs = 15_000;
const quickStepMs = 1_000;

/** Compares a share with its thresholds. `total` is the share times the workers that it is of. */
function thresholdProposal(
  rule: RuleId,
  facts: ScaleFacts,
  { isAbove, isBelow, total, target }: { isAbove: boolean; isBelow: boolean; total: number; target: number },
): ScaleProposal {
  // CPU is not explained by arrivals, so that all of it counts as lasting.
  const lasting = rule === 'cpu' ? total : facts.lastingLoad / facts.concurrency;
  if (isAbove) return proposal(rule, 'up', Math.max(1, total / target), Math.max(1, lasting / target));
  const rest = Math.max(1, Math.min(facts.desired, wholeWorkers(total / restAfterReduction)));
  const vote = isBelow && rest < facts.desired ? 'down' : 'keep';
  return proposal(rule, vote, rest, Math.max(1, Math.min(rest, lasting / restAfterReduction)));
}

function eventsWaiting({ backlog, waiting, wakes }: ScaleFacts): number {
  return backlog + waiting + (wakes.length === 0 ? 0 : wakes.filter((wake) => wake === 'event').length);
}

const depth: ScalingRule = {
  origin: rulesTable,
  metric: 'queue depth',
  up: '`depth > 0 && instances == 0`',
  down: '`depth == 0 && idle_time > 5 min` (`idleMs`)',
  size: 'one worker; none when idle',
  propose(facts, policy) {
    const events = eventsWaiting(facts);
    if (events > 0 && facts.ready + facts.starting === 0) return proposal('depth', 'up', 1);
    if (facts.isStale) return undefined;
    const isIdle = events === 0 && facts.inFlight === 0 && facts.idleForMs > Math.max(policy.idleMs, facts.keepAliveMs);
    if (isIdle) return proposal('depth', 'down', 0);
    return proposal('depth', 'keep', Math.min(1, facts.desired));
  },
  say(facts) {
    const events = eventsWaiting(facts);
    return events > 0 ? `${events} events wait` : `no event waits, idle for ${secondsText(facts.idleForMs)}`;
  },
};

const age: ScalingRule = {
  origin: rulesTable,
  metric: 'message age',
  up: '`oldest_message_age > 30 s` (`ageLimitMs`)',
  down: 'never',
  size: 'workers × min(2, age / limit), not more than events at hand; again after 15 s',
  propose(facts, policy) {
    if (facts.isStale || facts.oldestAgeMs <= policy.ageLimitMs) return undefined;
    const isStepDue = facts.settledForMs >= ageStepMs || facts.desired === 0;
    if (!isStepDue) return proposal('age', 'keep', facts.desired, 0);
    const grown = Math.max(1, facts.desired) * Math.min(2, facts.oldestAgeMs / policy.ageLimitMs);
    const needed = Math.min(Math.max(grown, facts.desired + 1), Math.max(eventsAtHand(facts), facts.desired));
    return sizedProposal('age', needed, facts, 0);
  },
  say: ({ oldestAgeMs }, { ageLimitMs }) =>
    `the oldest message waits for ${secondsText(oldestAgeMs)}, limit ${secondsText(ageLimitMs)}`,
};

const cpu: ScalingRule = {
  origin: rulesTable,
  metric: 'worker CPU',
  up: '`avg_cpu > 70 %`',
  down: '`avg_cpu < 20 % && instances > 1`',
  size: 'ready × CPU / 70 % up, / 60 % down',
  propose(facts) {
    if (facts.isStale || facts.cpu === undefined || facts.ready === 0) return undefined;
    const isAbove = facts.cpu > thresholds.cpu.up;
    const isBelow = facts.cpu < thresholds.cpu.down && facts.ready > 1;
    const total = facts.cpu * facts.ready;
    return thresholdProposal('cpu', facts, { isAbove, isBelow, total, target: thresholds.cpu.up });
  },
  say: (facts) => `workers use ${percentText(facts.cpu)} CPU`,
};

const memory: ScalingRule = {
  origin: 'seed 000, scaling inputs',
  metric: 'worker memory',
  up: 'largest share of a limit > 80 %, and invocations that can be spread',
  down: 'never',
  size: 'ready × memory / 80 %, not more than events at hand; else as many as now',
  propose(facts) {
    if (facts.isStale || facts.memory === undefined || facts.memory <= thresholds.memory.up) return undefined;
    const isStepDue = facts.settledForMs >= quickStepMs && eventsAtHand(facts) > facts.ready;
    if (!isStepDue) return proposal('memory', 'keep', facts.desired);
    const needed = Math.min((facts.ready * facts.memory) / thresholds.memory.up, eventsAtHand(facts));
    return sizedProposal('memory', Math.max(facts.desired, needed), facts);
  },
  say: (facts) => `a worker uses ${percentText(facts.memory)} of its memory limit`,
};

/** That one worker can serve. */
function eventsPerSecond({ concurrency, serviceMs = 0 }: ScaleFacts): number {
  return (concurrency * 1_000) / Math.max(serviceMs, 0.01);
}

const rate: ScalingRule = {
  origin: rulesTable,
  metric: 'event rate',
  up: '`events_per_sec > capacity`',
  down: '`events_per_sec < 10 % capacity`',
  size: 'rate × service time / concurrency / 70 % up, / 60 % down',
  propose(facts, policy) {
    if (facts.isStale || facts.serviceMs === undefined || facts.ready === 0) return undefined;
    const perWorker = eventsPerSecond(facts);
    const capacity = perWorker * facts.ready;
    const share = facts.arrivalsPerSecond / capacity;
    const isAbove = share > thresholds.rate.up;
    const isBelow = share < thresholds.rate.down && facts.ready > 1;
    const total = facts.arrivalsPerSecond / perWorker;
    const sizes = { isAbove, isBelow, total, target: policy.plannedUtilization };
    return thresholdProposal('rate', facts, sizes);
  },
  say: (facts) =>
    `${decimalText(facts.arrivalsPerSecond)} events/s arrive, capacity ${decimalText(eventsPerSecond(facts) * facts.ready)}/s`,
};

/** Invocations that run, and what it takes to serve the ones that wait in runtimes. */
function runningOf(facts: ScaleFacts, policy: ScalePolicy): number {
  const waiting = waitingLoad(facts.waiting, facts.serviceMs, policy);
  return waiting > 0 ? Math.max(facts.panicLoad, facts.inFlight) + waiting : facts.panicLoad;
}

function utilizationOf(facts: ScaleFacts, policy: ScalePolicy): number {
  return runningOf(facts, policy) / (Math.max(1, facts.ready) * facts.concurrency);
}

const utilization: ScalingRule = {
  origin: triggersTable,
  metric: 'utilization of the workers in the runtime',
  up: '`utilization > 70 %`',
  down: '`utilization < 20 %` for 5 min',
  size: '(invocations + what waits × min(1, service time / 1 s)) / concurrency / 70 % up, / 60 % down',
  propose(facts, policy) {
    const running = runningOf(facts, policy);
    if (facts.isStale || (facts.ready === 0 && running === 0)) return undefined;
    const isAbove = utilizationOf(facts, policy) > thresholds.utilization.up;
    const isBelow = facts.lowForMs >= thresholds.utilization.lowForMs;
    const total = running / facts.concurrency;
    const sizes = { isAbove, isBelow, total, target: thresholds.utilization.up };
    return thresholdProposal('utilization', facts, sizes);
  },
  say(facts, policy) {
    const low = facts.lowForMs > 0 ? `, under 20 % for ${secondsText(facts.lowForMs)}` : '';
    return `utilization ${percentText(utilizationOf(facts, policy))}${low}`;
  },
};

const backpressure: ScalingRule = {
  origin: triggersTable,
  metric: 'backpressure of the listeners',
  up: 'listeners are paused: immediately, and panic',
  down: 'never',
  size: 'a quarter more, twice as many until a service time is known, not more than events at hand; again when those are ready for 1 s',
  propose(facts) {
    if (facts.isStale || !facts.isBackpressured) return undefined;
    const isStepDue = facts.settledForMs >= quickStepMs || facts.desired === 0;
    if (!isStepDue) return proposal('backpressure', 'keep', facts.desired, 0);
    const grown = Math.max(facts.desired + 1, facts.desired * (facts.serviceMs === undefined ? 2 : 1.25));
    const needed = Math.min(grown, Math.max(eventsAtHand(facts), facts.desired, 1));
    return sizedProposal('backpressure', needed, facts, 0);
  },
  say: () => 'all workers are full and the listeners are paused',
};

const replacement: ScalingRule = {
  origin: triggersTable,
  metric: 'worker failure',
  up: 'a worker was lost: its replacement, immediately',
  down: 'never',
  size: 'as many as before',
  propose(facts) {
    return facts.wakes.includes('replace') ? proposal('replacement', 'keep', Math.max(1, facts.desired)) : undefined;
  },
  say: () => 'a worker was lost and is replaced',
};

/** Every row of the tables in seed 000. */
export const seedRules = { depth, age, cpu, memory, rate, utilization, backpressure, replacement } as const;
