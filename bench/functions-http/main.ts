import { Leash } from '@drover/service-kit';
import { Generator } from '../functions-api/generator.js';
import { measureRounds } from '../harness/rounds.js';
import { runSuite } from '../harness/run-suite.js';
import { withOpenDirectory } from '../harness/scratch-directory.js';
import { figuresOf } from './figures.js';
import { openRoutes, type RouteSample } from './routes.js';
import { quick, thorough, type Pace } from './pace.js';

await runSuite<Pace>({
  name: 'functions-http',
  quick,
  thorough,
  measure: (pace, run) =>
    withOpenDirectory(async (directory) => {
      const leash = new Leash();
      const generator = new Generator(leash);
      try {
        const { cells, load, close } = await openRoutes({ directory, leash, generator });
        try {
          for (const cell of cells) {
            run.signal.throwIfAborted();
            await load(cell, { requests: pace.warmUpRequests });
          }
          const contenders = cells.map((cell) => ({
            name: cell.name,
            run: () => load(cell, { durationMs: pace.loadMs }),
          }));
          const figures = (samples: readonly (readonly RouteSample[])[]) => figuresOf(cells, samples);
          return await measureRounds({ contenders, figures }, pace.rounds, run);
        } finally {
          await close();
        }
      } finally {
        await generator.close();
        await leash.stop();
      }
    }),
});
