import os from 'node:os';
import { parseArgs } from 'node:util';
import type { Progress } from './rounds.js';
import { formatTable, type Figure } from './table.js';

export interface Suite<Pace extends { readonly rounds: number }> {
  readonly name: string;
  readonly quick: Pace;
  readonly thorough: Pace;
  readonly measure: (pace: Pace, signal: AbortSignal, progress: Progress) => Promise<readonly Figure[]>;
}

/** Runs one suite from the command line: `--quick` and `--json`, rounds on standard error, one table on standard output. */
export async function runSuite<Pace extends { readonly rounds: number }>(suite: Suite<Pace>): Promise<void> {
  const { values: flags } = parseArgs({
    options: { json: { type: 'boolean', default: false }, quick: { type: 'boolean', default: false } },
  });
  const pace = flags.quick ? suite.quick : suite.thorough;
  const interrupted = new AbortController();
  process.once('SIGINT', () => interrupted.abort(new Error('interrupted')));
  const loadBefore = os.loadavg()[0] ?? 0;
  const progress: Progress = (round, name) =>
    void process.stderr.write(`round ${round + 1} of ${pace.rounds}: ${name}\n`);
  const figures = await suite.measure(pace, interrupted.signal, progress);
  const machine = {
    node: process.versions.node,
    platform: `${process.platform}-${process.arch}`,
    cpus: os.availableParallelism(),
    loadBefore,
    quick: flags.quick,
  };
  if (flags.json) {
    process.stdout.write(`${JSON.stringify({ suite: suite.name, machine, figures })}\n`);
    return;
  }
  const described = `Node ${machine.node}, ${machine.platform}, ${machine.cpus} CPUs, load ${loadBefore.toFixed(2)} before`;
  process.stdout.write(`${formatTable(figures)}\n\n${described}; ${pace.rounds} interleaved rounds, medians of them\n`);
}
