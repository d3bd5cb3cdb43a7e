import path from 'node:path';
import { Leash } from '@drover/service-kit';
import { measureRounds } from '../harness/rounds.js';
import { runSuite } from '../harness/run-suite.js';
import { withOpenDirectory } from '../harness/scratch-directory.js';
import { decisionsContender } from './decisions.js';
import { figuresOf } from './figures.js';
import { growthContender, idleContender } from './growth.js';
import { quick, thorough, type Pace } from './pace.js';
import { Reports } from './reports.js';
import { ScaledPlatform } from './scaled-platform.js';
import { forkContender, WakeUps } from './wake-ups.js';

/** All cold starts of a platform find a warm placeholder, or none does. */
const pools = {
  warm: { DROVER_PLACEHOLDERS_MIN: '3' },
  none: { DROVER_PLACEHOLDERS_MIN: '0', DROVER_PLACEHOLDERS_MAX: '0' },
};

await runSuite<Pace>({
  name: 'cold-start',
  quick,
  thorough,
  measure: (pace, run) =>
    withOpenDirectory(async (directory) => {
      const leash = new Leash();
      const reports = Reports.open(directory);
      const opened: { close(): Promise<void> }[] = [];
      const open = async (pool: keyof typeof pools): Promise<[ScaledPlatform, WakeUps]> => {
        const dataDirectory = path.join(directory, pool);
        const request = { dataDirectory, leash, environment: pools[pool], reports: reports.file };
        const platform = await ScaledPlatform.start(request);
        opened.push({ close: () => platform.stop() });
        const wakeUps = await WakeUps.open(platform, reports, pace);
        opened.push(wakeUps);
        return [platform, wakeUps];
      };
      try {
        const [platform, warm] = await open('warm');
        const [, none] = await open('none');
        await platform.deploy('growing');
        const contenders = [
          forkContender(pace),
          { name: 'HTTP, placeholder', run: () => warm.http(pace.coldStarts) },
          { name: 'Service Bus, placeholder', run: () => warm.bus(pace.coldStarts) },
          { name: 'HTTP, no placeholder', run: () => none.http(pace.coldStarts) },
          { name: 'Service Bus, no placeholder', run: () => none.bus(pace.coldStarts) },
          growthContender(platform),
          idleContender(platform, pace),
          decisionsContender(),
        ];
        return await measureRounds({ contenders, figures: figuresOf }, pace.rounds, run);
      } finally {
        for (const part of opened.toReversed()) await part.close();
        reports.close();
        await leash.stop();
      }
    }),
});
