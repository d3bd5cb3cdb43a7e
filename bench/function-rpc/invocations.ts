import { median, medianRatio, percentile } from '../harness/statistics.js';
import { atLeast, below, times, type Figure } from '../harness/table.js';
import { echo, runtimeWithWorkers, type Contestant } from './contestants.js';
import type { LoadResult } from './load.js';
import { memoryFigure } from './starts.js';
import type { Measurement, Surroundings } from './suite.js';

/** At 32 in flight, of the grpc-js echo. */
const leastOfEcho = 1.5;
/** At 1 in flight: the median of the grpc-js echo, so many times. */
const mostOfEchoLatency = 2;
const several = 32;
const crowd = 256;
const inFlights = [1, several, crowd];

interface Cell {
  readonly contestant: Contestant;
  readonly inFlight: number;
  /** Whom it is compared with. */
  readonly yardstick: Contestant | undefined;
}

/** Invocations a second through runtime and workers, beside messages that are only sent there and back. */
export async function invocationsMeasurement({ pace, leash, signal }: Surroundings): Promise<Measurement<LoadResult>> {
  const opened: Contestant[] = [];
  const closeAll = (): Promise<unknown> => Promise.allSettled(opened.map((contestant) => contestant.close()));
  const open = async (opening: Promise<Contestant>): Promise<Contestant> => {
    const contestant = await opening;
    opened.push(contestant);
    signal.throwIfAborted();
    return contestant;
  };
  try {
    const grpc = await open(echo('grpc', 'grpc-js echo', leash));
    const stream = await open(echo('stream', 'function-rpc echo', leash));
    const one = await open(runtimeWithWorkers({ name: 'runtime + 1 worker', workers: 1, concurrency: crowd }, leash));
    const two = await open(runtimeWithWorkers({ name: 'runtime + 2 workers', workers: 2, concurrency: crowd }, leash));
    const four = await open(runtimeWithWorkers({ name: 'runtime + 4 workers', workers: 4, concurrency: crowd }, leash));
    const usual = await open(runtimeWithWorkers({ name: 'runtime + 1 worker, usual limit', workers: 1 }, leash));
    const cells: Cell[] = [
      ...inFlights.map((inFlight) => ({ contestant: grpc, inFlight, yardstick: undefined })),
      ...[stream, one].flatMap((contestant) =>
        inFlights.map((inFlight) => ({ contestant, inFlight, yardstick: grpc })),
      ),
      ...[two, four, usual].map((contestant) => ({ contestant, inFlight: crowd, yardstick: one })),
    ];
    for (const { contestant, inFlight } of cells) {
      signal.throwIfAborted();
      await contestant.load({ inFlight, durationMs: pace.warmUpMs });
    }
    return {
      contenders: cells.map(({ contestant, inFlight }) => ({
        name: `${contestant.name}, ${inFlight} in flight`,
        run: () => contestant.load({ inFlight, durationMs: pace.loadMs }),
      })),
      figures: (samples) => figuresOf({ cells, samples, one }),
      close: closeAll,
    };
  } catch (error) {
    await closeAll();
    throw error;
  }
}

interface Measured {
  readonly cells: readonly Cell[];
  readonly samples: readonly (readonly LoadResult[])[];
  readonly one: Contestant;
}

function figuresOf({ cells, samples, one }: Measured): Figure[] {
  const roundsOf = (contestant: Contestant, inFlight: number): readonly LoadResult[] =>
    samples[cells.findIndex((cell) => cell.contestant === contestant && cell.inFlight === inFlight)] ?? [];
  return cells.flatMap(({ contestant, inFlight, yardstick }) => {
    const what = `${contestant.name}, ${inFlight} in flight`;
    return [
      ...loadFigures(what, roundsOf(contestant, inFlight), {
        name: yardstick?.name ?? '',
        rounds: yardstick && roundsOf(yardstick, inFlight),
        least: contestant === one && inFlight === several ? leastOfEcho : undefined,
        mostLatency: contestant === one && inFlight === 1 ? mostOfEchoLatency : undefined,
      }),
      ...(inFlight === several ? cpuFigures(what, roundsOf(contestant, inFlight)) : []),
      ...(contestant === one && inFlight === crowd ? memoryFigures(roundsOf(contestant, inFlight)) : []),
    ];
  });
}

/** What a contestant is compared with; the grpc-js echo with nothing. */
interface Yardstick {
  readonly name: string;
  readonly rounds: readonly LoadResult[] | undefined;
  readonly least: number | undefined;
  readonly mostLatency: number | undefined;
}

function loadFigures(what: string, rounds: readonly LoadResult[], yardstick: Yardstick): Figure[] {
  const all = rounds.flatMap(({ latenciesUs }) => latenciesUs);
  const { name, rounds: theirs, least, mostLatency } = yardstick;
  const faster = theirs && medianRatio(ratesOf(rounds), ratesOf(theirs));
  const slower = theirs && medianRatio(mediansOf(rounds), mediansOf(theirs));
  return [
    {
      what,
      value: median(ratesOf(rounds)),
      unit: 'calls/s',
      ...(faster !== undefined && { ratio: times(faster, name) }),
      ...(faster !== undefined && least !== undefined && { goal: atLeast(faster, least, 'x') }),
    },
    {
      what: `${what}: p50`,
      value: percentile(all, 0.5),
      unit: 'us',
      ...(slower !== undefined && { ratio: times(slower, name) }),
      ...(slower !== undefined && mostLatency !== undefined && { goal: below(slower, mostLatency, 'x') }),
    },
    { what: `${what}: p99`, value: percentile(all, 0.99), unit: 'us' },
  ];
}

function ratesOf(rounds: readonly LoadResult[]): number[] {
  return rounds.map(({ perSecond }) => perSecond);
}

function mediansOf(rounds: readonly LoadResult[]): number[] {
  return rounds.map(({ latenciesUs }) => percentile(latenciesUs, 0.5));
}

/** Over all rounds: the system counts the CPU of others in steps of 10 ms. */
function cpuFigures(what: string, rounds: readonly LoadResult[]): Figure[] {
  const sum = (of: (round: LoadResult) => number): number => rounds.reduce((total, round) => total + of(round), 0);
  const calls = sum((round) => round.calls);
  const each = (ms: number): number => (ms * 1_000) / calls;
  const figures = [{ what: `${what}: CPU of the host`, value: each(sum(({ ownCpuMs }) => ownCpuMs)), unit: 'us/call' }];
  if (rounds.some(({ peerCpuMs }) => peerCpuMs === undefined)) return figures;
  const peers = each(sum(({ peerCpuMs }) => peerCpuMs ?? 0));
  return [...figures, { what: `${what}: CPU of the peers`, value: peers, unit: 'us/call' }];
}

function memoryFigures(rounds: readonly LoadResult[]): Figure[] {
  return [
    ...memoryFigure(
      'memory of the runtime after its load',
      rounds.map(({ memory }) => memory[0]),
    ),
    ...memoryFigure(
      'memory of its worker after its load',
      rounds.map(({ memory }) => memory[1]),
    ),
  ];
}
