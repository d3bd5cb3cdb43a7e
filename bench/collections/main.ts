import { Leash } from '@drover/service-kit';
import { Generator } from '../functions-api/generator.js';
import { measureRounds } from '../harness/rounds.js';
import { runSuite } from '../harness/run-suite.js';
import { withOpenDirectory } from '../harness/scratch-directory.js';
import { withScratchPostgres } from '../harness/scratch-postgres.js';
import { openSuite } from './suite.js';
import { quick, thorough, type Pace } from './pace.js';

await runSuite<Pace>({
  name: 'collections',
  quick,
  thorough,
  measure: (pace, run) =>
    withOpenDirectory(async (directory) => {
      const leash = new Leash();
      const generator = new Generator(leash);
      try {
        return await withScratchPostgres(async (url) => {
          const suite = await openSuite({ url, directory, leash, generator, pace });
          try {
            await suite.warmUp(run.signal);
            return await measureRounds(suite, pace.rounds, run);
          } finally {
            await suite.close();
          }
        });
      } finally {
        await generator.close();
        await leash.stop();
      }
    }),
});
