import { Program } from '../harness/program.js';
import { median, percentile } from '../harness/statistics.js';
import { below, type Figure } from '../harness/table.js';
import { runtimeVariablesOf } from './contestants.js';
import type { FreshRequest, FreshWorker } from './programs/fresh-worker.js';
import type { Specialized, SpecializeRequest } from './programs/placeholder.js';
import type { Measurement, Surroundings } from './suite.js';

const mostSpecializationMs = 25;
const mostIdleMebibytes = 55;

/** What became of the workers that were started in one round. */
export type Started = readonly FreshWorker[] | readonly Specialized[];

/** How soon a worker takes invocations, started for an app or specialized from a placeholder, and what it then weighs. */
export async function startsMeasurement({ pace, leash }: Surroundings): Promise<Measurement<Started>> {
  const program = (name: string): URL => new URL(`./programs/${name}.js`, import.meta.url);
  const freshWorkers = new Program<FreshRequest, FreshWorker>(program('fresh-worker'), leash);
  const placeholders = new Program<SpecializeRequest, Specialized>(program('placeholder'), leash);
  const { restMs, starts } = pace;
  const variables = runtimeVariablesOf(1);
  const startFresh = (): Promise<FreshWorker> => freshWorkers.ask({ variables, restMs });
  const specialize = (): Promise<Specialized> => placeholders.ask({ restMs });
  const repeat = async <T>(start: () => Promise<T>): Promise<T[]> => {
    const all: T[] = [];
    for (let n = 0; n < starts; n += 1) all.push(await start());
    return all;
  };
  return {
    contenders: [
      { name: 'fresh worker', run: () => repeat(startFresh) },
      { name: 'placeholder', run: () => repeat(specialize) },
    ],
    figures: ([fresh = [], specialized = []]) => [
      ...freshFigures(fresh.flat() as FreshWorker[]), // in the contenders' order
      ...placeholderFigures(specialized.flat() as Specialized[]),
    ],
    close: () => Promise.all([freshWorkers.end(), placeholders.end()]),
  };
}

function freshFigures(workers: readonly FreshWorker[]): Figure[] {
  const ms = (what: string, samples: readonly number[]): Figure[] => [
    { what: `${what}: p50`, value: percentile(samples, 0.5), unit: 'ms' },
    { what: `${what}: p99`, value: percentile(samples, 0.99), unit: 'ms' },
  ];
  return [
    ...ms(
      'fresh worker, spawn to StartStream',
      workers.map(({ connectedMs }) => connectedMs),
    ),
    ...ms(
      'fresh worker, spawn to ready',
      workers.map(({ readyMs }) => readyMs),
    ),
    ...memoryFigure(
      'memory of a fresh worker with an app',
      workers.map(({ memory }) => memory),
    ),
  ];
}

function placeholderFigures(workers: readonly Specialized[]): Figure[] {
  const ready = workers.map(({ readyMs }) => readyMs);
  const first = workers.map(({ firstResultMs }) => firstResultMs);
  const p50 = percentile(ready, 0.5);
  return [
    {
      what: 'placeholder, request to ready: p50',
      value: p50,
      unit: 'ms',
      goal: below(p50, mostSpecializationMs, ' ms'),
    },
    { what: 'placeholder, request to ready: p99', value: percentile(ready, 0.99), unit: 'ms' },
    { what: 'placeholder, request to first result: p50', value: percentile(first, 0.5), unit: 'ms' },
    ...memoryFigure(
      'memory of an idle worker without an app',
      workers.map(({ placeholder }) => placeholder),
      mostIdleMebibytes,
    ),
    ...memoryFigure(
      'memory of a specialized worker',
      workers.map(({ withApp }) => withApp),
    ),
  ];
}

/** None where the system does not tell. */
export function memoryFigure(what: string, samples: readonly (number | undefined)[], most?: number): Figure[] {
  const known = samples.filter((sample) => sample !== undefined);
  if (known.length === 0) return [];
  const value = median(known);
  return [{ what, value, unit: 'MiB', ...(most !== undefined && { goal: below(value, most, ' MiB') }) }];
}
