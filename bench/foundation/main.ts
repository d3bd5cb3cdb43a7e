import { Leash } from '@drover/service-kit';
import { interleaveParts } from '../harness/rounds.js';
import { runSuite } from '../harness/run-suite.js';
import { withOpenDirectory } from '../harness/scratch-directory.js';
import { withScratchPostgres } from '../harness/scratch-postgres.js';
import { busMeasurement } from './bus.js';
import { groupCommitMeasurement } from './group-commit.js';
import { startUpMeasurement } from './start-up.js';
import { quick, thorough, type Pace } from './suite.js';

await runSuite<Pace>({
  name: 'foundation',
  quick,
  thorough,
  measure: (pace, run) =>
    withOpenDirectory(async (directory) => {
      const leash = new Leash();
      try {
        return await withScratchPostgres(async (url) => {
          const parts = [groupCommitMeasurement, busMeasurement, startUpMeasurement].map(
            (open) => () => open({ url, leash, directory, pace }),
          );
          return await interleaveParts(parts, pace.rounds, run);
        });
      } finally {
        await leash.stop();
      }
    }),
});
