import {
  catchUpLoad,
  decimalText,
  percentText,
  proposal,
  secondsText,
  sizedProposal,
  type ScalingRule,
} from './rule.js';
import type { ScaleFacts } from './types.js';

const engine = 'reference, scaling engine';

const deployment: ScalingRule = {
  origin: 'issue 14',
  metric: 'deployment',
  up: 'a version was deployed or promoted, or the platform started',
  down: 'never',
  size: 'one worker, until the application is idle',
  propose(facts) {
    return facts.wakes.includes('deployed') ? proposal('deployment', 'up', Math.max(1, facts.desired)) : undefined;
  },
  say: () => 'a version was deployed or the platform started',
};

function presentLoad({ nowMs, panicUntilMs, stableLoad, panicLoad }: ScaleFacts): number {
  return nowMs < panicUntilMs ? Math.max(stableLoad, panicLoad) : stableLoad;
}

const demand: ScalingRule = {
  origin: `${engine} 1 (Little)`,
  metric: 'demand',
  up: 'demand needs more workers',
  down: 'demand needs fewer',
  size: '(arrivals × service time + what waits / drain time × service time) / (concurrency × 70 %)',
  propose(facts, policy) {
    if (facts.isStale) return undefined;
    const perWorker = facts.concurrency * policy.plannedUtilization;
    const needed = (presentLoad(facts) + catchUpLoad(facts, policy)) / perWorker;
    return sizedProposal('demand', needed, facts, facts.lastingLoad / perWorker);
  },
  say(facts, policy) {
    const catchUp = catchUpLoad(facts, policy);
    const waiting = catchUp > 0 ? ` and ${decimalText(catchUp)} for what waits` : '';
    return `${decimalText(presentLoad(facts))} concurrent invocations${waiting}, ${decimalText(facts.concurrency)} per worker`;
  },
};

const target: ScalingRule = {
  origin: 'target-based scaling of Azure Functions',
  metric: 'backlog per source',
  up: 'backlog needs more workers',
  down: 'backlog needs fewer',
  size: 'sum over triggers of backlog / target per worker (table below), partitions split evenly',
  propose(facts) {
    if (facts.isStale) return undefined;
    return sizedProposal('target', facts.targetLoad, facts, 0);
  },
  say: (facts) =>
    `a backlog of ${facts.backlog} is worth ${decimalText(facts.targetLoad)} workers by the targets of its sources`,
};

const forecast: ScalingRule = {
  origin: `${engine} 7`,
  metric: 'forecast',
  up: 'arrivals expected at now + start time need more workers',
  down: 'never',
  size: 'expected arrivals × service time / (concurrency × 70 %)',
  propose(facts, policy) {
    if (facts.isStale || facts.forecast === undefined || facts.serviceMs === undefined) return undefined;
    const load = (facts.forecast * facts.serviceMs) / 1_000;
    const needed = load / (facts.concurrency * policy.plannedUtilization);
    if (needed <= 0) return undefined;
    const vote = Math.ceil(needed) > facts.desired ? 'up' : 'keep';
    return proposal('forecast', vote, needed);
  },
  say({ forecast: arrivals, startMs, confidence }) {
    const origin = confidence > 0 ? `as on ${percentText(confidence)} of the days seen` : 'by the present slope';
    return `${decimalText(arrivals)} events/s are expected in ${secondsText(startMs)}, ${origin}`;
  },
};

const prewarm: ScalingRule = {
  origin: `${engine} 7 (idle times)`,
  metric: 'time of the next event',
  up: 'the idle times or the pattern of the week expect an event now',
  down: 'never',
  size: 'one worker',
  propose(facts) {
    return facts.nowMs < facts.warmUntilMs ? proposal('prewarm', 'up', 1) : undefined;
  },
  say: (facts) => `an event is expected within ${secondsText(facts.warmUntilMs - facts.nowMs)}`,
};

/** Rules that compute a number of workers instead of comparing with a threshold. */
export const sizingRules = { deployment, demand, target, forecast, prewarm } as const;
