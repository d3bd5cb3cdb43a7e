import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Leash } from '@drover/service-kit';
import { Child } from '@drover/testkit';
import { largest, median } from '../harness/statistics.js';
import { below, times } from '../harness/table.js';
import type { Measurement, Surroundings } from './suite.js';

const warmLimitS = 3;
const helpLimitMs = 200;
const drover = path.resolve(path.dirname(fileURLToPath(import.meta.resolve('@drover/cli'))), '../bin/drover.js');

/** An environment without settings of the platform, of Node.js and of npm. */
function plainEnvironment(): NodeJS.ProcessEnv {
  const others = Object.entries(process.env).filter(([name]) => !/^(DROVER_|DATABASE_|NODE_|npm_|OTEL_)/i.test(name));
  return Object.fromEntries(others);
}

/** Seconds until `drover up` says that it serves. It is stopped again, cleanly or the figure is worth nothing. */
async function secondsToReady(dataDirectory: string, leash: Leash): Promise<number> {
  const args = [drover, 'up', '--json', '--port', '0', '--data-dir', dataDirectory];
  const startedMs = performance.now();
  const up = new Child(process.execPath, args, { env: plainEnvironment() });
  const letGo = leash.hold(up.pid, { signal: 'SIGTERM', graceMs: 20_000 });
  try {
    await up.line(/^\{"event":"ready"/, 60_000);
    const seconds = (performance.now() - startedMs) / 1000;
    up.kill('SIGTERM');
    const { code } = await up.exited;
    if (code !== 0) throw new Error(`drover up ended with ${code}; it printed:\n${up.output}`);
    return seconds;
  } finally {
    await up.end();
    letGo();
  }
}

async function millisecondsToExit(args: readonly string[]): Promise<number> {
  const startedMs = performance.now();
  const child = new Child(process.execPath, args, { env: plainEnvironment() });
  const { code } = await child.exited;
  if (code !== 0) throw new Error(`node ${args.join(' ')} ended with ${code}; it printed:\n${child.output}`);
  return performance.now() - startedMs;
}

/** How long a person waits for the first sign of life. */
export async function startUpMeasurement({ directory, leash, pace }: Surroundings): Promise<Measurement> {
  const data = path.join(directory, 'data');
  const several = async (args: readonly string[]): Promise<number[]> => {
    const samples: number[] = [];
    while (samples.length < pace.helpRuns) samples.push(await millisecondsToExit(args));
    return samples;
  };
  return {
    contenders: [
      // Before the first warm one, which needs what it leaves behind.
      { name: 'up, cold', takesPartIn: (round) => round === 0, run: async () => [await secondsToReady(data, leash)] },
      { name: 'up, warm', run: async () => [await secondsToReady(data, leash)] },
      { name: 'help', run: () => several([drover, '--help']) },
      { name: 'bare node', run: () => several(['-e', '0']) },
    ],
    figures(samples) {
      const [cold = [], warm = [], help = [], bare = []] = samples.map((rounds) => rounds.flat());
      const [warmS, helpMs] = [median(warm), median(help)];
      return [
        {
          what: 'drover up, cold: until ready',
          value: median(cold),
          unit: 's',
          ratio: times(median(cold) / warmS, 'warm'),
        },
        { what: 'drover up, warm: median', value: warmS, unit: 's', goal: below(warmS, warmLimitS, ' s') },
        { what: 'drover up, warm: max', value: largest(warm), unit: 's', goal: below(largest(warm), warmLimitS, ' s') },
        {
          what: 'drover --help: median',
          value: helpMs,
          unit: 'ms',
          ratio: times(helpMs / median(bare), 'bare node'),
          goal: below(helpMs, helpLimitMs, ' ms'),
        },
        { what: 'node -e 0: median', value: median(bare), unit: 'ms', ratio: '1x' },
      ];
    },
    close: () => Promise.resolve(),
  };
}
