import {
  catchUpLoad,
  decimalText,
  percentText,
  proposal,
  secondsText,
  sizedProposal,
  type ScalingRule,
} from './rule.js';

const engine = 'reference, scaling engine';

const deployment: ScalingRule = {
  origin: 'issue 14',
  metric: 'deployment',
  up: 'a version was deployed or promoted, or the platform started',
  down: 'never',
  size: 'one worker, until the application is idle',
  propose(facts) {
    return facts.wakes.includes('deployed') ? proposal('deployment', 'up', Math.max(1, facts.desired), []) : undefined;
  },
  say: () => 'a version was deployed or the platform started',
};

const demand: ScalingRule = {
  origin: `${engine} 1 (Little)`,
  metric: 'demand',
  up: 'demand needs more workers',
  down: 'demand needs fewer',
  size: '(arrivals × service time + what waits / drain time × service time) / (concurrency × 70 %)',
  propose(facts, policy) {
    if (facts.isStale) return undefined;
    const load = facts.nowMs < facts.panicUntilMs ? Math.max(facts.stableLoad, facts.panicLoad) : facts.stableLoad;
    const backlogLoad = catchUpLoad(facts, policy);
    const perWorker = facts.concurrency * policy.plannedUtilization;
    const values = [load, backlogLoad, facts.concurrency];
    return sizedProposal('demand', (load + backlogLoad) / perWorker, facts, values, facts.lastingLoad / perWorker);
  },
  say: ([load, backlogLoad, concurrency]) =>
    `${decimalText(load)} concurrent invocations${backlogLoad ? ` and ${decimalText(backlogLoad)} for what waits` : ''}, ${decimalText(concurrency)} per worker`,
};

const target: ScalingRule = {
  origin: 'target-based scaling of Azure Functions',
  metric: 'backlog per source',
  up: 'backlog needs more workers',
  down: 'backlog needs fewer',
  size: 'sum over triggers of backlog / target per worker (table below), partitions split evenly',
  propose(facts) {
    if (facts.isStale) return undefined;
    return sizedProposal('target', facts.targetLoad, facts, [facts.backlog, facts.targetLoad], 0);
  },
  say: ([backlog, load]) =>
    `a backlog of ${backlog} is worth ${decimalText(load)} workers by the targets of its sources`,
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
    return proposal('forecast', vote, needed, [facts.forecast, facts.startMs, facts.confidence]);
  },
  say: ([arrivals, startMs, confidence]) =>
    `${decimalText(arrivals)} events/s are expected in ${secondsText(startMs)}${confidence ? `, as on ${percentText(confidence)} of the days seen` : ', by the present slope'}`,
};

const prewarm: ScalingRule = {
  origin: `${engine} 7 (idle times)`,
  metric: 'time of the next event',
  up: 'the idle times or the pattern of the week expect an event now',
  down: 'never',
  size: 'one worker',
  propose(facts) {
    if (facts.nowMs >= facts.warmUntilMs) return undefined;
    return proposal('prewarm', 'up', 1, [facts.warmUntilMs - facts.nowMs]);
  },
  say: ([ms]) => `an event is expected within ${secondsText(ms)}`,
};

/** Rules that compute a number of workers instead of comparing with a threshold. */
export const sizingRules = { deployment, demand, target, forecast, prewarm } as const;
