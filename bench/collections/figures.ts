import { median, medianRatio, percentile } from '../harness/statistics.js';
import { atLeast, below, times, type Figure } from '../harness/table.js';
import { crowd, type Cell, type CellSample } from './cells.js';
import { serverNames } from './servers.js';

const leastOfHandWritten = 1;

/** Requests per second, latency and CPU of each cell; those of the collection beside the hand-written endpoint's. */
export function figuresOf(cells: readonly Cell[], samples: readonly (readonly CellSample[])[]): Figure[] {
  return cells.flatMap((cell, index) => {
    const peer = cells.findIndex(
      ({ line, server, inFlight }) =>
        line === cell.line && inFlight === cell.inFlight && server.name === serverNames.handWritten,
    );
    return cellFigures(cell, samples[index] ?? [], samples[peer] ?? []);
  });
}

function cellFigures(
  { line, server, inFlight }: Cell,
  rounds: readonly CellSample[],
  peerRounds: readonly CellSample[],
): Figure[] {
  const isOurs = server.name === serverNames.collection;
  const what = `${line.name}, ${inFlight} in flight: ${server.name}`;
  const rate = ({ perSecond }: CellSample): number => perSecond;
  const p50 = ({ latenciesUs }: CellSample): number => percentile(latenciesUs, 0.5);
  const ratio = medianRatio(rounds.map(rate), peerRounds.map(rate));
  const calls = rounds.reduce((sum, round) => sum + round.calls, 0);
  const cpuMs = rounds.reduce((sum, round) => sum + round.cpuMs, 0);
  return [
    {
      what,
      value: median(rounds.map(rate)),
      unit: 'requests/s',
      ...(isOurs && { ratio: times(ratio, 'hand-written') }),
      ...(isOurs && inFlight === crowd && { goal: atLeast(ratio, leastOfHandWritten, 'x') }),
    },
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
