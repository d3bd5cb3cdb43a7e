import { median, medianRatio, percentile } from '../harness/statistics.js';
import { atLeast, below, times, type Figure } from '../harness/table.js';
import { crowd, type Cell, type CellSample } from './cells.js';
import { serverNames, type ServerKind } from './servers.js';

const leastOfHandWritten = 1;
const leastOfPlatformatic = 1.2;
const leastOfDirectus = 20;
/** It is not started: it reached 0.02 to 0.07 of such an endpoint, the more the less a request does; this is the middle. */
const directusOfHandWritten = 0.045;

/** Requests per second, latency and CPU of each cell; those of the collection beside the peers'. */
export function figuresOf(cells: readonly Cell[], samples: readonly (readonly CellSample[])[]): Figure[] {
  return cells.flatMap((cell, index) => {
    const rounds = samples[index] ?? [];
    if (cell.server.kind !== 'collection') return cellFigures(cell, rounds);
    const ratioTo = (kind: ServerKind): number | undefined => {
      const peer = cells.findIndex(
        ({ line, server, inFlight }) => line === cell.line && inFlight === cell.inFlight && server.kind === kind,
      );
      const peerRounds = samples[peer];
      return peerRounds && medianRatio(rounds.map(rate), peerRounds.map(rate));
    };
    return collectionFigures(cell, rounds, ratioTo);
  });
}

const rate = ({ perSecond }: CellSample): number => perSecond;

function collectionFigures(
  cell: Cell,
  rounds: readonly CellSample[],
  ratioTo: (kind: ServerKind) => number | undefined,
): Figure[] {
  const [requests, ...others] = cellFigures(cell, rounds);
  const handWritten = ratioTo('handWritten') ?? Number.NaN;
  const platformatic = ratioTo('platformatic');
  if (requests === undefined) return others;
  const first = { ...requests, ratio: times(handWritten, 'hand-written') };
  if (cell.inFlight !== crowd) return [first, ...others];
  const beside = (name: string, ratio: number, least: number): Figure => ({
    what: `${requests.what}, beside ${name}`,
    value: ratio,
    unit: 'x',
    goal: atLeast(ratio, least, 'x'),
  });
  return [
    { ...first, goal: atLeast(handWritten, leastOfHandWritten, 'x') },
    ...others,
    ...(platformatic === undefined ? [] : [beside(serverNames.platformatic, platformatic, leastOfPlatformatic)]),
    beside('Directus (reported)', handWritten / directusOfHandWritten, leastOfDirectus),
  ];
}

function cellFigures({ line, server, inFlight }: Cell, rounds: readonly CellSample[]): Figure[] {
  const what = `${line.name}, ${inFlight} in flight: ${serverNames[server.kind]}`;
  const p50 = ({ latenciesUs }: CellSample): number => percentile(latenciesUs, 0.5);
  const calls = rounds.reduce((sum, round) => sum + round.calls, 0);
  const cpuMs = rounds.reduce((sum, round) => sum + round.cpuMs, 0);
  return [
    { what, value: median(rounds.map(rate)), unit: 'requests/s' },
    { what: `${what}: p50`, value: median(rounds.map(p50)), unit: 'us' },
    {
      what: `${what}: p99`,
      value: percentile(
        rounds.flatMap(({ latenciesUs }) => latenciesUs),
        0.99,
      ),
      unit: 'us',
    },
    ...(Number.isNaN(cpuMs) ? [] : [{ what: `${what}: CPU`, value: (cpuMs * 1_000) / calls, unit: 'us/request' }]),
  ];
}

const leastImportRate = 20_000;
const mostDefinitionMs = 200;

/** Figures of what is not a load of requests: imports per second, and milliseconds from a definition to its first 200. */
export function wholeRunFigures(importRates: readonly number[], definitionMs: readonly number[]): Figure[] {
  const rate = median(importRates);
  const slowest = percentile(definitionMs, 0.95);
  return [
    { what: 'bulk import of CSV', value: rate, unit: 'rows/s', goal: atLeast(rate, leastImportRate, ' rows/s') },
    { what: 'definition to first 200: p50', value: median(definitionMs), unit: 'ms' },
    {
      what: 'definition to first 200: p95',
      value: slowest,
      unit: 'ms',
      goal: below(slowest, mostDefinitionMs, ' ms'),
    },
  ];
}
