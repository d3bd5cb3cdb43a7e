import os from 'node:os';
import { parseArgs } from 'node:util';
import { interleave, type Progress } from '../harness/rounds.js';
import { formatTable, type Figure } from '../harness/table.js';
import { crashesMeasurement } from './crashes.js';
import { largeMessagesMeasurement } from './large-messages.js';
import { roundTripsMeasurement } from './round-trips.js';
import { quick, thorough, type Measurement, type Pace } from './suite.js';

const { values: flags } = parseArgs({
  options: { json: { type: 'boolean', default: false }, quick: { type: 'boolean', default: false } },
});

async function measure(pace: Pace, signal: AbortSignal, progress: Progress): Promise<Figure[]> {
  const figures: Figure[] = [];
  // One part after the other, each with rounds of its own: the processes of one are not to disturb the next.
  for (const open of [roundTripsMeasurement, largeMessagesMeasurement, crashesMeasurement]) {
    const measurement: Measurement = await open(pace);
    try {
      const samples = await interleave(measurement.contenders, pace.rounds, { signal, progress });
      figures.push(...measurement.figures(samples));
    } finally {
      await measurement.close();
    }
  }
  return figures;
}

async function main(pace: Pace): Promise<void> {
  const interrupted = new AbortController();
  process.once('SIGINT', () => interrupted.abort(new Error('interrupted')));
  const loadBefore = os.loadavg()[0] ?? 0;
  const progress: Progress = (round, name) =>
    void process.stderr.write(`round ${round + 1} of ${pace.rounds}: ${name}\n`);
  const figures = await measure(pace, interrupted.signal, progress);
  const machine = {
    node: process.versions.node,
    platform: `${process.platform}-${process.arch}`,
    cpus: os.availableParallelism(),
    loadBefore,
    quick: flags.quick,
  };
  if (flags.json) process.stdout.write(`${JSON.stringify({ suite: 'isolated-workers', machine, figures })}\n`);
  else {
    const described = `Node ${machine.node}, ${machine.platform}, ${machine.cpus} CPUs, load ${loadBefore.toFixed(2)} before`;
    process.stdout.write(
      `${formatTable(figures)}\n\n${described}; ${pace.rounds} interleaved rounds, medians of them\n`,
    );
  }
}

await main(flags.quick ? quick : thorough);
