import { median, medianRatio } from '../harness/statistics.js';
import { atLeast, times, type Figure, type Goal } from '../harness/table.js';
import type { Echo } from './echo.js';
import type { Load, LoadName } from './loads.js';
import { ours } from './ours.js';
import { jestWorker, piscina, tinypool, workerpoolOf } from './peers.js';
import { rawIpc, rawPort, rawSocket } from './raw.js';
import { placeOf, type Place } from './floors.js';
import type { Measurement, Pace } from './suite.js';

/** How much of the floor under it we want to reach. */
const leastOfFloor: Readonly<Record<'thread' | 'process', Partial<Record<LoadName, number>>>> = {
  thread: { 'tiny, 1 in flight': 0.85, 'tiny, 64 in flight': 0.85, '1 MiB string': 0.95, '1 MiB of rows': 0.95 },
  process: { 'tiny, 1 in flight': 1, 'tiny, 64 in flight': 1, '1 MiB string': 2.5 },
};

const floorNames: Readonly<Record<Place, string>> = { thread: 'raw MessagePort', process: 'raw JSON socket' };

/**
 * Round trips a second of one load through each library and each bare transport, one worker each. Loads are measured one after
 * the other, so that what is compared runs within seconds: the speed of a shared machine changes.
 */
export async function roundTripsMeasurement(load: Load, pace: Pace): Promise<Measurement> {
  const ipc = [rawIpc('json'), rawIpc('advanced')];
  const floors: Readonly<Record<Place, Echo>> = { thread: rawPort(), process: rawSocket() };
  const echoes = [
    await ours('thread'),
    floors.thread,
    piscina(),
    tinypool('worker_threads'),
    workerpoolOf('thread'),
    jestWorker('thread'),
    await ours('process'),
    floors.process,
    ...ipc,
    tinypool('child_process'),
    workerpoolOf('process'),
    jestWorker('process'),
  ];
  for (const echo of echoes) await roundTripsPerSecond(echo, load, pace.warmUpMs);
  return {
    contenders: echoes.map((echo) => ({
      name: `${load.name}: ${echo.name}`,
      run: async () => [await roundTripsPerSecond(echo, load, pace.loadMs)],
    })),
    figures(samples) {
      const ratesOf = (echo: Echo): number[] => samples[echoes.indexOf(echo)]?.flat() ?? [];
      return [
        ...echoes.map((echo) => echoFigure(load, echo, ratesOf(echo), ratesOf(floors[placeOf(echo.kind)]))),
        ...peerFigures(load, echoes, ratesOf),
      ];
    },
    async close() {
      await Promise.all(echoes.map((echo) => echo.close()));
    },
  };
}

function echoFigure(load: Load, echo: Echo, rates: readonly number[], floorRates: readonly number[]): Figure {
  const place = placeOf(echo.kind);
  const ratio = medianRatio(rates, floorRates);
  const least = echo.kind.startsWith('our') ? leastOfFloor[place][load.name] : undefined;
  return {
    what: `${load.name}: ${echo.name}`,
    value: median(rates),
    unit: 'round trips/s',
    ratio: times(ratio, floorNames[place]),
    ...(least !== undefined && { goal: atLeast(ratio, least, 'x') }),
  };
}

/** We are never to be behind the best of the others; in processes that is no goal, but good to know. */
function peerFigures(load: Load, echoes: readonly Echo[], ratesOf: (echo: Echo) => number[]): Figure[] {
  return (['thread', 'process'] as const).map((place) => {
    const own = echoes.filter(({ kind }) => kind === `our ${place}`).flatMap(ratesOf);
    const peers = echoes
      .filter(({ kind }) => kind === `peer ${place}`)
      .map((echo) => ({ name: echo.name, ratio: medianRatio(own, ratesOf(echo)) }))
      .toSorted((a, b) => a.ratio - b.ratio);
    const { name = 'nobody', ratio = Number.NaN } = peers[0] ?? {};
    const goal: Goal | undefined = place === 'thread' ? atLeast(ratio, 1, 'x') : undefined;
    return {
      what: `${load.name}: ours against the best ${place} peer`,
      value: ratio,
      unit: 'x',
      ratio: times(ratio, name),
      ...(goal && { goal }),
    };
  });
}

async function roundTripsPerSecond({ echo }: Echo, { payload, inFlight }: Load, durationMs: number): Promise<number> {
  const startedMs = performance.now();
  let count = 0;
  const caller = async (): Promise<void> => {
    do {
      await echo(payload);
      count += 1;
    } while (performance.now() - startedMs < durationMs);
  };
  await Promise.all(Array.from({ length: inFlight }, caller));
  return count / ((performance.now() - startedMs) / 1_000);
}
