import { median, medianRatio, percentile } from '../harness/statistics.js';
import { atLeast, below, times, type Figure } from '../harness/table.js';
import { crowd, type Cell, type CellSample } from './cells.js';
import { serverNames, type ServerKind } from './servers.js';

const leastOfHandWritten = 1;
const leastThroughGateway = 0.65;
const mostAddedUs = 150;
const leastOfPlatformatic = 1.2;
const leastOfDirectus = 20;
/** It is not started: it reached 0.02 to 0.07 of such an endpoint, the more the less a request does; this is the middle. */
const directusOfHandWritten = 0.045;

/** Requests per second, latency and CPU of each cell; those of the collection beside the peers'. */
export function figuresOf(cells: readonly Cell[], samples: readonly (readonly CellSample[])[]): Figure[] {
  return cells.flatMap((cell, index) => {
    const rounds = samples[index] ?? [];
    const roundsOf = (kind: ServerKind): readonly CellSample[] | undefined =>
      samples[
        cells.findIndex(
          ({ line, server, inFlight }) => line === cell.line && inFlight === cell.inFlight && server.kind === kind,
        )
      ];
    if (cell.server.kind === 'collection') return collectionFigures(cell, rounds, roundsOf);
    if (cell.server.kind === 'gateway') return gatewayFigures(cell, rounds, roundsOf);
    return cell.server.kind === 'bareProxy' ? proxyFigures(cell, rounds, roundsOf) : cellFigures(cell, rounds);
  });
}

type RoundsOf = (kind: ServerKind) => readonly CellSample[] | undefined;
const rate = ({ perSecond }: CellSample): number => perSecond;
const p50 = ({ latenciesUs }: CellSample): number => percentile(latenciesUs, 0.5);

function ratioTo(rounds: readonly CellSample[], peer: readonly CellSample[] | undefined): number | undefined {
  return peer && medianRatio(rounds.map(rate), peer.map(rate));
}

function collectionFigures(cell: Cell, rounds: readonly CellSample[], roundsOf: RoundsOf): Figure[] {
  const [requests, ...others] = cellFigures(cell, rounds);
  const handWritten = ratioTo(rounds, roundsOf('handWritten')) ?? Number.NaN;
  const platformatic = ratioTo(rounds, roundsOf('platformatic'));
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

/** With what the gateway adds to a request that is alone: waiting for others would hide it. */
function gatewayFigures(cell: Cell, rounds: readonly CellSample[], roundsOf: RoundsOf): Figure[] {
  const [requests, ...others] = cellFigures(cell, rounds);
  if (requests === undefined) return others;
  const handWritten = ratioTo(rounds, roundsOf('handWritten')) ?? Number.NaN;
  const first = { ...requests, ratio: times(handWritten, 'hand-written') };
  if (cell.inFlight === crowd) return [{ ...first, goal: atLeast(handWritten, leastThroughGateway, 'x') }, ...others];
  const addedUs = addedTo(roundsOf('collection'), rounds);
  const p50Us = addedUs(0.5);
  const bareUs = addedTo(roundsOf('collection'), roundsOf('bareProxy') ?? [])(0.5);
  return [
    first,
    ...others,
    {
      what: `${requests.what}: p50 added`,
      value: p50Us,
      unit: 'us',
      ratio: times(p50Us / bareUs, 'bare proxy'),
      goal: below(p50Us, mostAddedUs, ' us'),
    },
    // Requests that other programs of a busy machine did not interrupt.
    { what: `${requests.what}: p10 added`, value: addedUs(0.1), unit: 'us' },
  ];
}

/** What any reverse proxy of Node.js adds. */
function proxyFigures(cell: Cell, rounds: readonly CellSample[], roundsOf: RoundsOf): Figure[] {
  const figures = cellFigures(cell, rounds);
  const addedUs = addedTo(roundsOf('collection'), rounds);
  const what = `${figures[0]?.what}: p50 added`;
  return [...figures, { what, value: addedUs(0.5), unit: 'us' }];
}

/** Returns the time that is added to a direct request, at a share of the latencies of each round. */
function addedTo(direct: readonly CellSample[] | undefined, rounds: readonly CellSample[]): (share: number) => number {
  return (share) =>
    median(
      rounds.map(
        ({ latenciesUs }, n) => percentile(latenciesUs, share) - percentile(direct?.[n]?.latenciesUs ?? [], share),
      ),
    );
}

function cellFigures({ line, server, inFlight }: Cell, rounds: readonly CellSample[]): Figure[] {
  const what = `${line.name}, ${inFlight} in flight: ${serverNames[server.kind]}`;
  const calls = rounds.reduce((sum, round) => sum + round.calls, 0);
  const cpuFigure = (name: string, cpuMs: (round: CellSample) => number): Figure[] => {
    const total = rounds.reduce((sum, round) => sum + cpuMs(round), 0);
    return Number.isNaN(total)
      ? []
      : [{ what: `${what}: ${name}`, value: (total * 1_000) / calls, unit: 'us/request' }];
  };
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
    ...cpuFigure('CPU', ({ cpuMs }) => cpuMs),
    ...(server.behind ? cpuFigure('CPU of the workers', ({ behindCpuMs }) => behindCpuMs) : []),
  ];
}

const leastImportRate = 20_000;
const mostDefinitionMs = { worker: 200, gateway: 500 };

/** Milliseconds from a definition to its first 200. */
export interface DefinitionTimes {
  readonly worker: readonly number[];
  readonly gateway: readonly number[];
}

/** Figures of what is not a load of requests: imports per second, and the times of definitions. */
export function wholeRunFigures(importRates: readonly number[], definitionMs: DefinitionTimes): Figure[] {
  const rate = median(importRates);
  return [
    { what: 'bulk import of CSV', value: rate, unit: 'rows/s', goal: atLeast(rate, leastImportRate, ' rows/s') },
    ...definitionFigures('definition to first 200', definitionMs.worker, mostDefinitionMs.worker),
    ...definitionFigures('definition to first 200 through the gateway', definitionMs.gateway, mostDefinitionMs.gateway),
  ];
}

function definitionFigures(what: string, valuesMs: readonly number[], mostMs: number): Figure[] {
  const slowest = percentile(valuesMs, 0.95);
  return [
    { what: `${what}: p50`, value: median(valuesMs), unit: 'ms' },
    { what: `${what}: p95`, value: slowest, unit: 'ms', goal: below(slowest, mostMs, ' ms') },
  ];
}
