import os from 'node:os';
import { inspect, parseArgs } from 'node:util';
import type { Run } from './rounds.js';
import { formatTable, type Figure } from './table.js';

export interface Suite<Pace extends { readonly rounds: number }> {
  readonly name: string;
  readonly quick: Pace;
  readonly thorough: Pace;
  readonly measure: (pace: Pace, run: Run) => Promise<readonly Figure[]>;
}

/**
 * Runs one suite from the command line: `--quick` and `--json`, rounds and the figures so far on standard error, one table on
 * standard output. A suite that fails, while it cleans up too, ends with the figures that it had published and exit code 1.
 * Ends the process: what a failed suite left open would keep it.
 */
export async function runSuite<Pace extends { readonly rounds: number }>(suite: Suite<Pace>): Promise<never> {
  const { values: flags } = parseArgs({
    options: { json: { type: 'boolean', default: false }, quick: { type: 'boolean', default: false } },
  });
  const pace = flags.quick ? suite.quick : suite.thorough;
  const interrupted = new AbortController();
  process.once('SIGINT', () => interrupted.abort(new Error('interrupted')));
  const loadBefore = os.loadavg()[0] ?? 0;
  const published = new Map<string, Figure>();
  const run: Run = {
    signal: interrupted.signal,
    progress: (round, name) => void process.stderr.write(`round ${round + 1} of ${pace.rounds}: ${name}\n`),
    publish(figures) {
      for (const figure of figures) published.set(figure.what, figure);
      process.stderr.write(`${formatTable(figures)}\n`);
    },
  };
  const { figures, failure } = await suite.measure(pace, run).then(
    (all) => ({ figures: all, failure: undefined }),
    (error: unknown) => ({ figures: [...published.values()], failure: error }),
  );
  if (failure !== undefined) process.stderr.write(`${inspect(failure)}\n`);
  const isComplete = failure === undefined;
  const machine = {
    node: process.versions.node,
    platform: `${process.platform}-${process.arch}`,
    cpus: os.availableParallelism(),
    loadBefore,
    quick: flags.quick,
  };
  const described = `Node ${machine.node}, ${machine.platform}, ${machine.cpus} CPUs, load ${loadBefore.toFixed(2)} before`;
  const rounds = isComplete ? `${pace.rounds} interleaved rounds, medians of them` : 'incomplete: the suite failed';
  const text = flags.json
    ? JSON.stringify({ suite: suite.name, machine, isComplete, figures })
    : `${formatTable(figures)}\n\n${described}; ${rounds}`;
  await new Promise((resolve) => process.stdout.write(`${text}\n`, resolve));
  process.exit(isComplete ? 0 : 1);
}
