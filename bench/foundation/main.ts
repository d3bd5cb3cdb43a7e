import { Leash } from '@drover/service-kit';
import { interleave, type Progress } from '../harness/rounds.js';
import { runSuite } from '../harness/run-suite.js';
import { withOpenDirectory, withScratchPostgres } from '../harness/scratch-postgres.js';
import type { Figure } from '../harness/table.js';
import { busMeasurement } from './bus.js';
import { groupCommitMeasurement } from './group-commit.js';
import { startUpMeasurement } from './start-up.js';
import { quick, thorough, type Measurement, type Pace, type Surroundings } from './suite.js';

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

await runSuite<Pace>({
  name: 'foundation',
  quick,
  thorough,
  async measure(pace, signal, progress) {
    const leash = new Leash();
    try {
      return await withScratchPostgres((url) =>
        withOpenDirectory((directory) => measure({ url, leash, directory, pace }, signal, progress)),
      );
    } finally {
      await leash.stop();
    }
  },
});
