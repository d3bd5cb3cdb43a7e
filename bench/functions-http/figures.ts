import { median, medianRatio, percentile } from '../harness/statistics.js';
import { atLeast, below, times, type Figure, type Goal } from '../harness/table.js';
import { crowd, routeNames, type Cell, type RouteSample } from './routes.js';

/** Requests per second with a crowd, beside another route's. */
const leastOfChain = 0.9;
const leastOfPool = 0.6;
/** The median latency of one request at a time, beside the chain's. */
const mostLatency = 1.5;
const mostGatewayCpuUs = 120;

/** One row of throughput, two of latency and one of CPU per process for each cell. */
export function figuresOf(cells: readonly Cell[], samples: readonly (readonly RouteSample[])[]): Figure[] {
  return cells.flatMap((cell, index) => {
    const rounds = samples[index] ?? [];
    const peer = peerOf(cell.route.name);
    const peerRounds = samples[cells.findIndex((one) => one.route.name === peer && one.inFlight === cell.inFlight)];
    return cellFigures(cell, rounds, peer, peerRounds ?? []);
  });
}

/** What a route is compared with: the same work without us, or the fastest way we have. */
function peerOf(name: string): string {
  return name === routeNames.app ? routeNames.pool : routeNames.chain;
}

function cellFigures(
  { name, route, inFlight }: Cell,
  rounds: readonly RouteSample[],
  peer: string,
  peerRounds: readonly RouteSample[],
): Figure[] {
  const rates = rounds.map(({ perSecond }) => perSecond);
  const p50s = rounds.map(({ latenciesUs }) => percentile(latenciesUs, 0.5));
  const all = rounds.flatMap(({ latenciesUs }) => latenciesUs);
  const isPeer = route.name === peer;
  const rate = medianRatio(
    rates,
    peerRounds.map(({ perSecond }) => perSecond),
  );
  const latency = medianRatio(
    p50s,
    peerRounds.map(({ latenciesUs }) => percentile(latenciesUs, 0.5)),
  );
  const rateGoal = inFlight === crowd ? rateGoalOf(route.name, rate) : undefined;
  const isLatencyGoal = route.name === routeNames.publicPort && inFlight === 1;
  return [
    {
      what: name,
      value: median(rates),
      unit: 'requests/s',
      ...(!isPeer && { ratio: times(rate, peer) }),
      ...(rateGoal && { goal: rateGoal }),
    },
    {
      what: `${name}: p50`,
      value: median(p50s),
      unit: 'us',
      ...(!isPeer && { ratio: times(latency, peer) }),
      ...(isLatencyGoal && { goal: below(latency, mostLatency, 'x') }),
    },
    { what: `${name}: p99`, value: percentile(all, 0.99), unit: 'us' },
    ...(inFlight === crowd ? cpuFigures(name, route.name, rounds) : []),
  ];
}

function rateGoalOf(name: string, ratio: number): Goal | undefined {
  if (name === routeNames.publicPort) return atLeast(ratio, leastOfChain, 'x');
  return name === routeNames.app ? atLeast(ratio, leastOfPool, 'x') : undefined;
}

function cpuFigures(what: string, routeName: string, rounds: readonly RouteSample[]): Figure[] {
  const requests = rounds.reduce((sum, { calls }) => sum + calls, 0);
  return Object.keys(rounds[0]?.cpuMs ?? {}).flatMap((process): Figure[] => {
    const cpuMs = rounds.reduce((sum, round) => sum + (round.cpuMs[process] ?? Number.NaN), 0);
    const value = (cpuMs * 1_000) / requests;
    if (Number.isNaN(value)) return [];
    const isGoal = routeName === routeNames.publicPort && process === 'platform';
    return [
      {
        what: `${what}: CPU of the ${process}`,
        value,
        unit: 'us/request',
        ...(isGoal && { goal: below(value, mostGatewayCpuUs, ' us') }),
      },
    ];
  });
}
