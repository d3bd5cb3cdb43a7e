import path from 'node:path';
import { median, percentile } from '../harness/statistics.js';
import { below, type Figure } from '../harness/table.js';
import { callBody } from './contestants/calls.js';
import { Platform } from './contestants/platform.js';
import type { OpenLoadResult } from './load/open-loop.js';
import { Opened, type Measurement, type Surroundings } from './suite.js';

const perSecond = 1_000;
const connections = 64;
const mostMs = 25;

/** How long callers wait until their job is kept, at a rate that leaves room: what is promised to everybody, not the most. */
export async function acceptsMeasurement(surroundings: Surroundings): Promise<Measurement<OpenLoadResult>> {
  const { pace, leash, directory, generator } = surroundings;
  const opened = new Opened();
  try {
    const platform = await opened.add(Platform.start(path.join(directory, 'accepts'), leash));
    const limits = { concurrency: 64, queueSize: 100_000 };
    await platform.register({ name: 'local-noop', executionMode: 'LOCAL', handler: 'noop.js', ...limits });
    const request = platform.request('local-noop', 'enqueue', callBody);
    const { port } = platform;
    const run = (durationMs: number): Promise<OpenLoadResult> =>
      generator.open({ port, request, connections, phases: [{ perSecond, durationMs }] });
    await run(pace.warmUpMs);
    return {
      contenders: [{ name: 'accepts', run: () => run(pace.acceptMs) }],
      figures: ([rounds = []]) => figuresOf(rounds),
      close: () => opened.closeAll(),
    };
  } catch (error) {
    await opened.closeAll();
    throw error;
  }
}

function figuresOf(rounds: readonly OpenLoadResult[]): Figure[] {
  const phases = rounds.flatMap((round) => round.phases);
  const ms = (share: number): number => median(phases.map(({ servedUs }) => percentile(servedUs, share))) / 1_000;
  const what = `accept, ${perSecond} jobs/s`;
  const wrong = phases.reduce((sum, { sent, served }) => sum + sent - (served['202'] ?? 0), 0);
  const unsent = rounds.reduce((sum, round) => sum + round.unsent, 0);
  return [
    { what: `${what}: p50`, value: ms(0.5), unit: 'ms' },
    { what: `${what}: p99`, value: ms(0.99), unit: 'ms', goal: below(ms(0.99), mostMs, ' ms') },
    ...(wrong + unsent > 0
      ? [{ what: `${what}: not accepted`, value: wrong + unsent, unit: 'jobs', goal: { text: '0', reached: false } }]
      : []),
  ];
}
