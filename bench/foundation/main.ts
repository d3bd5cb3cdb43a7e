import os from 'node:os';
import { parseArgs } from 'node:util';
import { Leash } from '@drover/service-kit';
import { interleave, type Progress } from '../harness/rounds.js';
import { withOpenDirectory, withScratchPostgres } from '../harness/scratch-postgres.js';
import { formatTable, type Figure } from '../harness/table.js';
import { busMeasurement } from './bus.js';
import { groupCommitMeasurement } from './group-commit.js';
import { startUpMeasurement } from './start-up.js';
import { quick, thorough, type Measurement, type Pace, type Surroundings } from './suite.js';

const { values: flags } = parseArgs({
  options: { json: { type: 'boolean', default: false }, quick: { type: 'boolean', default: false } },
});

async function measure(surroundings: Surroundings, signal: AbortSignal, progress: Progress): Promise<Figure[]> {
  const measurements: Measurement[] = [];
  try {
    for (const open of [groupCommitMeasurement, busMeasurement, startUpMeasurement]) {
      measurements.push(await open(surroundings));
    }
    const contenders = measurements.flatMap((measurement) => measurement.contenders);
    const samples = await interleave(contenders, surroundings.pace.rounds, { signal, progress });
    return measurements.flatMap((measurement) =>
      measurement.figures(measurement.contenders.map((contender) => samples[contenders.indexOf(contender)] ?? [])),
    );
  } finally {
    await Promise.all(measurements.map((measurement) => measurement.close()));
  }
}

async function main(pace: Pace): Promise<void> {
  const interrupted = new AbortController();
  process.once('SIGINT', () => interrupted.abort(new Error('interrupted')));
  const leash = new Leash();
  const loadBefore = os.loadavg()[0] ?? 0;
  const progress: Progress = (round, name) =>
    void process.stderr.write(`round ${round + 1} of ${pace.rounds}: ${name}\n`);
  const figures = await withScratchPostgres((url) =>
    withOpenDirectory((directory) => measure({ url, leash, directory, pace }, interrupted.signal, progress)),
  );
  await leash.stop();
  const machine = {
    node: process.versions.node,
    platform: `${process.platform}-${process.arch}`,
    cpus: os.availableParallelism(),
    loadBefore,
    quick: flags.quick,
  };
  if (flags.json) process.stdout.write(`${JSON.stringify({ suite: 'foundation', machine, figures })}\n`);
  else {
    const described = `Node ${machine.node}, ${machine.platform}, ${machine.cpus} CPUs, load ${loadBefore.toFixed(2)} before`;
    process.stdout.write(
      `${formatTable(figures)}\n\n${described}; ${pace.rounds} interleaved rounds, medians of them\n`,
    );
  }
}

await main(flags.quick ? quick : thorough);
