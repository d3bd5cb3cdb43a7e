import { mkdtemp, chmod, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Leash } from '@drover/service-kit';
import { Generator } from '../functions-api/generator.js';
import { interleave } from '../harness/rounds.js';
import { runSuite } from '../harness/run-suite.js';
import { figuresOf } from './figures.js';
import { openRoutes } from './routes.js';
import { quick, thorough, type Pace } from './pace.js';

await runSuite<Pace>({
  name: 'functions-http',
  quick,
  thorough,
  async measure(pace, signal, progress) {
    const leash = new Leash();
    const directory = await mkdtemp(path.join(tmpdir(), 'drover-functions-http-'));
    await chmod(directory, 0o711); // as root, PostgreSQL runs as another user, which has to get there
    const generator = new Generator(leash);
    try {
      const { cells, load, close } = await openRoutes({ directory, leash, generator });
      try {
        for (const cell of cells) {
          signal.throwIfAborted();
          await load(cell, { requests: pace.warmUpRequests });
        }
        const contenders = cells.map((cell) => ({
          name: cell.name,
          run: () => load(cell, { durationMs: pace.loadMs }),
        }));
        return figuresOf(cells, await interleave(contenders, pace.rounds, { signal, progress }));
      } finally {
        await close();
      }
    } finally {
      await generator.close();
      await leash.stop();
      await rm(directory, { recursive: true, force: true });
    }
  },
});
