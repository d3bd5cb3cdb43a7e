import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Leash } from '@drover/service-kit';
import { interleave, type Progress } from '../harness/rounds.js';
import { runSuite } from '../harness/run-suite.js';
import type { Figure } from '../harness/table.js';
import { acceptsMeasurement } from './accepts.js';
import { batchesMeasurement } from './batches.js';
import { callsMeasurement } from './calls.js';
import { durableMeasurement } from './durable.js';
import { Generator } from './generator.js';
import { memoryMeasurement } from './memory.js';
import { overloadMeasurement } from './overload.js';
import { quick, thorough, type Measurement, type Pace, type Surroundings } from './suite.js';

type Part = (surroundings: Surroundings, progress: Progress) => Promise<Figure[]>;

/** In the order of the table. */
export const parts: Readonly<Record<string, Part>> = {
  calls: (surroundings, progress) => measured(callsMeasurement, surroundings, progress),
  jobs: (surroundings, progress) => measured(durableMeasurement, surroundings, progress),
  accepts: (surroundings, progress) => measured(acceptsMeasurement, surroundings, progress),
  batches: (surroundings, progress) => measured(batchesMeasurement, surroundings, progress),
  overload: (surroundings, progress) => measured(overloadMeasurement, surroundings, progress),
  memory: (surroundings, progress) => measured(memoryMeasurement, surroundings, progress),
};

/** One part after the other, each with rounds of its own: the processes of one are not to disturb the next. */
export async function runParts(chosen: readonly Part[]): Promise<void> {
  await runSuite<Pace>({
    name: 'functions-api',
    quick,
    thorough,
    async measure(pace, signal, progress) {
      const leash = new Leash();
      const directory = await mkdtemp(path.join(tmpdir(), 'drover-functions-api-'));
      await chmod(directory, 0o711); // as root, PostgreSQL runs as somebody else, who has to get there
      const generator = new Generator(leash);
      try {
        const figures: Figure[] = [];
        for (const part of chosen)
          figures.push(...(await part({ pace, leash, signal, directory, generator }, progress)));
        return figures;
      } finally {
        await generator.close();
        await leash.stop();
        await rm(directory, { recursive: true, force: true });
      }
    },
  });
}

async function measured<Sample>(
  open: (surroundings: Surroundings) => Promise<Measurement<Sample>>,
  surroundings: Surroundings,
  progress: Progress,
): Promise<Figure[]> {
  const { pace, signal } = surroundings;
  const measurement = await open(surroundings);
  try {
    return measurement.figures(await interleave(measurement.contenders, pace.rounds, { signal, progress }));
  } finally {
    await measurement.close();
  }
}
