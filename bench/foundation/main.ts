import { Leash } from '@drover/service-kit';
import { interleaveParts, type Progress } from '../harness/rounds.js';
import { runSuite } from '../harness/run-suite.js';
import { withOpenDirectory, withScratchPostgres } from '../harness/scratch-postgres.js';
import type { Figure } from '../harness/table.js';
import { busMeasurement } from './bus.js';
import { groupCommitMeasurement } from './group-commit.js';
import { startUpMeasurement } from './start-up.js';
import { quick, thorough, type Pace, type Surroundings } from './suite.js';

async function measure(surroundings: Surroundings, signal: AbortSignal, progress: Progress): Promise<Figure[]> {
  const parts = [groupCommitMeasurement, busMeasurement, startUpMeasurement].map((open) => () => open(surroundings));
  return await interleaveParts(parts, surroundings.pace.rounds, { signal, progress });
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
