import { mkdtemp, chmod, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Leash } from '@drover/service-kit';
import { Generator } from '../functions-api/generator.js';
import { interleave } from '../harness/rounds.js';
import { runSuite } from '../harness/run-suite.js';
import { withScratchPostgres } from '../harness/scratch-postgres.js';
import { openSuite } from './suite.js';
import { quick, thorough, type Pace } from './pace.js';

await runSuite<Pace>({
  name: 'collections',
  quick,
  thorough,
  async measure(pace, signal, progress) {
    const leash = new Leash();
    const directory = await mkdtemp(path.join(tmpdir(), 'drover-collections-'));
    await chmod(directory, 0o711); // as root, PostgreSQL runs as another user, which has to get there
    const generator = new Generator(leash);
    try {
      return await withScratchPostgres(async (url) => {
        const { contenders, figures, warmUp, close } = await openSuite({ url, directory, leash, generator, pace });
        try {
          await warmUp(signal);
          return figures(await interleave(contenders, pace.rounds, { signal, progress }));
        } finally {
          await close();
        }
      });
    } finally {
      await generator.close();
      await leash.stop();
      await rm(directory, { recursive: true, force: true });
    }
  },
});
