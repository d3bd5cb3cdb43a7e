import path from 'node:path';
import { median, percentile } from '../harness/statistics.js';
import { atLeast, below, times, type Figure } from '../harness/table.js';
import { callBody } from './contestants/calls.js';
import { startProgram } from './contestants/contestant.js';
import { Platform } from './contestants/platform.js';
import type { OpenLoadResult } from './load/open-loop.js';
import { Opened, type Measurement, type Surroundings } from './suite.js';

/** Four at a time of 10 ms each: 400 calls a second, and an eighth of a second's worth may wait. */
const limits = { concurrency: 4, queueSize: 50 };
/** Enough that a slot is never empty, and nobody is refused. */
const peakConnections = 32;
const connections = 256;
const overload = 3;
const leastOfPeak = 0.95;
const mostRefusalMs = 5;
/** What callers who were refused come back to; with them it is still less than can be served. */
const calmShare = 0.8;
const calmMs = 2_500;
/** At three times the capacity, two thirds are refused: one in twenty of them is a tenth of the capacity. */
const oneInComesBack = 20;
const leastServedAfterWait = 0.95;

export interface OverloadResult {
  readonly peakPerSecond: number;
  readonly load: OpenLoadResult;
}

/** A function that is called three times as often as it can take. */
export async function overloadMeasurement(surroundings: Surroundings): Promise<Measurement<OverloadResult>> {
  const { pace, leash, directory, generator } = surroundings;
  const opened = new Opened();
  try {
    const endpoint = await opened.add(startProgram('endpoint', {}, leash));
    const platform = await opened.add(Platform.start(path.join(directory, 'overload'), leash));
    await platform.register({
      name: 'pool-slow',
      executionMode: 'POOL',
      endpointUrl: `http://127.0.0.1:${endpoint.port}/slow`,
      ...limits,
    });
    const { port } = platform;
    const request = platform.request('pool-slow', 'invoke', callBody);
    const peak = async (durationMs: number): Promise<number> => {
      const load = { port, request, connections: peakConnections, until: { durationMs }, expectedStatus: 200 };
      return (await generator.closed(load)).perSecond;
    };
    await peak(pace.warmUpMs);
    const run = async (): Promise<OverloadResult> => {
      const peakPerSecond = await peak(pace.overloadMs / 2);
      const phases = [
        { perSecond: overload * peakPerSecond, durationMs: pace.overloadMs },
        { perSecond: calmShare * peakPerSecond, durationMs: calmMs },
      ];
      return { peakPerSecond, load: await generator.open({ port, request, phases, connections, oneInComesBack }) };
    };
    return {
      contenders: [{ name: 'overload', run }],
      figures: ([rounds = []]) => figuresOf(rounds),
      close: () => opened.closeAll(),
    };
  } catch (error) {
    await opened.closeAll();
    throw error;
  }
}

function figuresOf(rounds: readonly OverloadResult[]): Figure[] {
  const phaseOf = (index: number) => rounds.flatMap(({ load }) => load.phases[index] ?? []);
  const [over, calm] = [phaseOf(0), phaseOf(1)];
  const succeeded = over.map(({ succeededPerSecond }) => succeededPerSecond);
  const ofPeak = median(succeeded.map((perSecond, round) => perSecond / (rounds[round]?.peakPerSecond ?? Number.NaN)));
  const what = `at ${overload}x`;
  return [
    {
      what: `capacity of ${limits.concurrency} x 10 ms, closed loop`,
      value: median(rounds.map(({ peakPerSecond }) => peakPerSecond)),
      unit: 'calls/s',
    },
    {
      what: `${what}: served`,
      value: median(succeeded),
      unit: 'calls/s',
      ratio: times(ofPeak, 'closed loop'),
      goal: atLeast(ofPeak, leastOfPeak, 'x'),
    },
    ...refusalFigures(
      what,
      over.map(({ refusedUs }) => refusedUs),
    ),
    ...otherFigures(rounds),
    ...retryAfterFigures(rounds, calm, over),
  ];
}

/** Medians of the rounds: a moment in which the machine was busy with something else is not to spoil all of them. */
function refusalFigures(what: string, rounds: readonly (readonly number[])[]): Figure[] {
  if (rounds.some((refusedUs) => refusedUs.length === 0))
    return [{ what: `${what}: refused`, value: 0, unit: 'calls', goal: { text: '> 0', reached: false } }];
  const ms = (share: number): number => median(rounds.map((refusedUs) => percentile(refusedUs, share))) / 1_000;
  return [
    { what: `${what}: 429 p50`, value: ms(0.5), unit: 'ms' },
    { what: `${what}: 429 p99`, value: ms(0.99), unit: 'ms', goal: below(ms(0.99), mostRefusalMs, ' ms') },
  ];
}

/** Only there when something is wrong: answers that are neither a result nor a 429, or a generator that is too small. */
function otherFigures(rounds: readonly OverloadResult[]): Figure[] {
  const others = rounds
    .flatMap(({ load }) => load.phases.flatMap(({ served }) => Object.entries(served)))
    .reduce((sum, [status, count]) => (status === '200' ? sum : sum + count), 0);
  const unsent = rounds.reduce((sum, { load }) => sum + load.unsent, 0);
  const wrong = (what: string, value: number): Figure[] =>
    value === 0 ? [] : [{ what, value, unit: 'calls', goal: { text: '0', reached: false } }];
  return [
    ...wrong('overload: answers that are neither 200 nor 429', others),
    ...wrong('overload: not sent for want of a connection', unsent),
  ];
}

/**
 * Whether `Retry-After` is true: who waits exactly as long as it says, and then finds the function called no more often than
 * it can take, is served. Who comes back while it is still called three times as often has no better luck than others.
 */
function retryAfterFigures(
  rounds: readonly OverloadResult[],
  calm: readonly CameBack[],
  over: readonly CameBack[],
): Figure[] {
  const shareOf = (phases: readonly CameBack[]): number => {
    const shares = phases.flatMap(({ cameBack, cameBackServed }) => (cameBack > 0 ? cameBackServed / cameBack : []));
    return shares.length === 0 ? Number.NaN : median(shares);
  };
  const said = rounds.flatMap(({ load }) => load.retryAfterS);
  const known = said.filter((seconds) => !Number.isNaN(seconds));
  const served = shareOf(calm);
  const missing = said.length - known.length;
  return [
    { what: 'Retry-After: median', value: known.length === 0 ? Number.NaN : median(known), unit: 's' },
    ...(missing > 0
      ? [{ what: '429 without Retry-After', value: missing, unit: 'calls', goal: { text: '0', reached: false } }]
      : []),
    {
      what: `came back after Retry-After to ${calmShare}x of the capacity: served`,
      value: served * 100,
      unit: '%',
      goal: atLeast(served * 100, leastServedAfterWait * 100, '%'),
    },
    { what: `came back after Retry-After to ${overload}x: served`, value: shareOf(over) * 100, unit: '%' },
  ];
}

interface CameBack {
  readonly cameBack: number;
  readonly cameBackServed: number;
}
