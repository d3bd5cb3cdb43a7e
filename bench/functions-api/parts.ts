import { Leash } from '@drover/service-kit';
import { measureRounds, type Run } from '../harness/rounds.js';
import { runSuite } from '../harness/run-suite.js';
import { withOpenDirectory } from '../harness/scratch-directory.js';
import type { Figure } from '../harness/table.js';
import { acceptsMeasurement } from './accepts.js';
import { batchesMeasurement } from './batches.js';
import { callsMeasurement } from './calls.js';
import { durableMeasurement } from './durable.js';
import { Generator } from './generator.js';
import { memoryMeasurement } from './memory.js';
import { overloadMeasurement } from './overload.js';
import { quick, thorough, type Measurement, type Pace, type Surroundings } from './suite.js';

type Part = (surroundings: Surroundings, run: Run) => Promise<readonly Figure[]>;

/** In the order of the table. */
export const parts: Readonly<Record<string, Part>> = {
  calls: (surroundings, run) => measured(callsMeasurement, surroundings, run),
  jobs: (surroundings, run) => measured(durableMeasurement, surroundings, run),
  accepts: (surroundings, run) => measured(acceptsMeasurement, surroundings, run),
  batches: (surroundings, run) => measured(batchesMeasurement, surroundings, run),
  overload: (surroundings, run) => measured(overloadMeasurement, surroundings, run),
  memory: (surroundings, run) => measured(memoryMeasurement, surroundings, run),
};

/** One part after the other, each with rounds of its own: the processes of one are not to disturb the next. */
export async function runParts(chosen: readonly Part[]): Promise<void> {
  await runSuite<Pace>({
    name: 'functions-api',
    quick,
    thorough,
    measure: (pace, run) =>
      withOpenDirectory(async (directory) => {
        const leash = new Leash();
        const generator = new Generator(leash);
        try {
          const figures: Figure[] = [];
          for (const part of chosen)
            figures.push(...(await part({ pace, leash, signal: run.signal, directory, generator }, run)));
          return figures;
        } finally {
          await generator.close();
          await leash.stop();
        }
      }),
  });
}

async function measured<Sample>(
  open: (surroundings: Surroundings) => Promise<Measurement<Sample>>,
  surroundings: Surroundings,
  run: Run,
): Promise<readonly Figure[]> {
  const measurement = await open(surroundings);
  try {
    return await measureRounds(measurement, surroundings.pace.rounds, run);
  } finally {
    await measurement.close();
  }
}
