import path from 'node:path';
import { median, medianRatio, percentile } from '../harness/statistics.js';
import { atLeast, below, times, type Figure } from '../harness/table.js';
import { bareHttp, bareProxy, callBody, fastifyProxy, piscinaFastify } from './contestants/calls.js';
import { startProgram, type Contestant } from './contestants/contestant.js';
import { Platform } from './contestants/platform.js';
import type { ClosedLoadResult } from './load/closed-loop.js';
import { Opened, type Measurement, type Surroundings } from './suite.js';

const crowd = 64;
const inFlights = [1, crowd];
const mostCpuUs = 240;

/** Contestants that do the same, the yardstick first. */
interface Group {
  readonly contestants: readonly Contestant[];
  /** Of those that are ours, with a crowd. */
  readonly goals: ReadonlyMap<Contestant, Goal>;
}

interface Goal {
  /** How much of the yardstick we want to reach. */
  readonly least: number;
  readonly mostCpuUs?: number;
}

interface Cell {
  readonly group: Group;
  readonly contestant: Contestant;
  readonly inFlight: number;
}

/** Calls of functions that do nothing, whose callers wait for the result. */
export async function callsMeasurement(surroundings: Surroundings): Promise<Measurement<ClosedLoadResult>> {
  const { pace, signal, generator } = surroundings;
  const opened = new Opened();
  try {
    const cells = cellsOf(await openGroups(surroundings, opened));
    const load = ({ contestant: { port, pid, request }, inFlight }: Cell, durationMs: number) =>
      generator.closed({
        port,
        request,
        connections: inFlight,
        until: { durationMs },
        expectedStatus: 200,
        serverPid: pid,
      });
    for (const cell of cells) {
      signal.throwIfAborted();
      await load(cell, pace.warmUpMs);
    }
    return {
      contenders: cells.map((cell) => ({
        name: nameOf(cell),
        run: () => load(cell, pace.loadMs),
      })),
      figures: (samples) => cells.flatMap((cell) => figuresOf(cell, cells, samples)),
      close: () => opened.closeAll(),
    };
  } catch (error) {
    await opened.closeAll();
    throw error;
  }
}

async function openGroups({ leash, directory }: Surroundings, opened: Opened): Promise<Group[]> {
  const endpoint = await opened.add(startProgram('endpoint', {}, leash));
  const platform = await opened.add(Platform.start(path.join(directory, 'calls'), leash));
  // What the fast lane is worth: the same platform, with Node's server for all requests.
  const withoutLane = await opened.add(
    Platform.start(path.join(directory, 'calls-node'), leash, undefined, { DROVER_FAST_LANE: 'off' }),
  );
  const ours = await contestantsOf(platform, endpoint.port, 'drover');
  const plain = await contestantsOf(withoutLane, endpoint.port, 'drover without fast lane');
  return [
    {
      contestants: [
        await opened.add(bareProxy(endpoint.port, leash)),
        await opened.add(fastifyProxy(endpoint.port, leash)),
        ours.pool,
        plain.pool,
      ],
      goals: new Map<Contestant, Goal>([
        [ours.pool, { least: 0.8, mostCpuUs }],
        [plain.pool, { least: 0.8 }],
      ]),
    },
    {
      contestants: [
        await opened.add(bareHttp(leash)),
        await opened.add(piscinaFastify(leash)),
        ours.local,
        plain.local,
      ],
      goals: new Map<Contestant, Goal>([[ours.local, { least: 0.55 }]]),
    },
  ];
}

/** Registers the functions of this part, and returns them as contestants. */
async function contestantsOf(
  platform: Platform,
  endpointPort: number,
  name: string,
): Promise<{ readonly pool: Contestant; readonly local: Contestant }> {
  const limits = { concurrency: 2 * crowd, queueSize: 1_000 };
  const endpointUrl = `http://127.0.0.1:${endpointPort}/noop`;
  await platform.register({ name: 'pool-noop', executionMode: 'POOL', endpointUrl, ...limits });
  await platform.register({ name: 'local-noop', executionMode: 'LOCAL', handler: 'noop.js', ...limits });
  return {
    pool: platform.contestant(`${name}, POOL`, platform.request('pool-noop', 'invoke', callBody)),
    local: platform.contestant(`${name}, LOCAL`, platform.request('local-noop', 'invoke', callBody)),
  };
}

function cellsOf(groups: readonly Group[]): Cell[] {
  return groups.flatMap((group) =>
    group.contestants.flatMap((contestant) => inFlights.map((inFlight) => ({ group, contestant, inFlight }))),
  );
}

function nameOf({ contestant, inFlight }: Cell): string {
  return `call: ${contestant.name}, ${inFlight} in flight`;
}

function figuresOf(cell: Cell, cells: readonly Cell[], samples: readonly (readonly ClosedLoadResult[])[]): Figure[] {
  const { group, contestant, inFlight } = cell;
  const [yardstick] = group.contestants;
  const roundsOf = (of: Contestant | undefined): readonly ClosedLoadResult[] =>
    samples[cells.findIndex((other) => other.contestant === of && other.inFlight === inFlight)] ?? [];
  const rounds = roundsOf(contestant);
  const rates = rounds.map(({ perSecond }) => perSecond);
  const all = rounds.flatMap(({ latenciesUs }) => latenciesUs);
  const ratio = medianRatio(
    rates,
    roundsOf(yardstick).map(({ perSecond }) => perSecond),
  );
  const goal = inFlight === crowd ? group.goals.get(contestant) : undefined;
  const what = nameOf(cell);
  return [
    {
      what,
      value: median(rates),
      unit: 'calls/s',
      ...(contestant !== yardstick && { ratio: times(ratio, yardstick?.name ?? '') }),
      ...(goal && { goal: atLeast(ratio, goal.least, 'x') }),
    },
    { what: `${what}: p50`, value: percentile(all, 0.5), unit: 'us' },
    { what: `${what}: p99`, value: percentile(all, 0.99), unit: 'us' },
    ...(inFlight === crowd ? cpuFigures(what, rounds, goal?.mostCpuUs) : []),
  ];
}

/** Over all rounds: the system counts the CPU of others in steps of 10 ms. None where it does not tell. */
function cpuFigures(what: string, rounds: readonly ClosedLoadResult[], mostUs: number | undefined): Figure[] {
  if (rounds.some(({ serverCpuMs }) => serverCpuMs === undefined)) return [];
  const cpuMs = rounds.reduce((sum, { serverCpuMs = 0 }) => sum + serverCpuMs, 0);
  const calls = rounds.reduce((sum, round) => sum + round.calls, 0);
  const value = (cpuMs * 1_000) / calls;
  return [
    {
      what: `${what}: CPU of the server`,
      value,
      unit: 'us/call',
      ...(mostUs !== undefined && { goal: below(value, mostUs, ' us') }),
    },
  ];
}
