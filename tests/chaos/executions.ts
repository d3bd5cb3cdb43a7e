import { parseArgs } from 'node:util';
import { killAgainAndAgain } from '../support/execution-kills.js';
import { report } from '../support/executions.js';
import { withDataDirectory } from '../support/platform.js';
import { restartInTurn } from '../support/rolling-restart.js';
import { replicasUnderFire } from './replicas-under-fire.js';

// The long version of tests/stories/executions-kill and executions-replicas: `npm run chaos:executions`, all of it or one story:
// platform, replicas, rolling. The defaults are those of the goals: 10,000 executions and more at 100 a second, with at least 60
// kills; replicas restarted in turn for five minutes at 200 calls a second. Ends with 1 when anything was not as it has to be.
const { values } = parseArgs({
  options: {
    story: { type: 'string', default: 'all' },
    kills: { type: 'string', default: '60' },
    faults: { type: 'string', default: '60' },
    executions: { type: 'string', default: '10000' },
    'per-second': { type: 'string', default: '100' },
    // `drover up` delays the restarts of a process that lives shorter than this more and more.
    'alive-ms': { type: 'string', default: '10000' },
    'rolling-ms': { type: 'string', default: '300000' },
    'rolling-per-second': { type: 'string', default: '200' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
  },
});
const seed = Number(values.seed);
const perSecond = Number(values['per-second']);
const say = (line: string): void => void process.stdout.write(`${line}\n`);
let isInnocent = true;

/** Prints what was found; whatever is in the verdict should not have been. */
function conclude(story: string, figures: object, verdict: Readonly<Record<string, readonly string[]>>): void {
  report(story, figures);
  for (const [what, cases] of Object.entries(verdict)) {
    say(`${story}: ${cases.length} ${what}`);
    for (const one of cases.slice(0, 20)) say(`  ${one}`);
    if (cases.length > 0) isInnocent = false;
  }
}

say(`seed ${seed}`);
if (['all', 'platform'].includes(values.story))
  await withDataDirectory(async (dataDirectory, started) => {
    const { drainMs, restartMs, notFound, verdict, ...figures } = await killAgainAndAgain({
      dataDirectory,
      started,
      kills: Number(values.kills),
      executions: Number(values.executions),
      perSecond,
      aliveMs: Number(values['alive-ms']),
      seed,
      withinMs: 300_000,
      say,
    });
    const slow = drainMs.filter((ms) => ms > 3_000).map((ms) => `${ms} ms until the queue drained again`);
    const longest = { drainMs: Math.max(...drainMs), restartMs: Math.max(...restartMs) };
    conclude('platform killed', { ...figures, longest }, { ...verdict, notFound, slow });
  });
if (['all', 'replicas'].includes(values.story)) {
  const { verdict, ...figures } = await replicasUnderFire({ faults: Number(values.faults), perSecond, seed, say });
  const slow =
    figures.takeOverMs.killed > 5_000 ? [`${figures.takeOverMs.killed} ms until a killed one was replaced`] : [];
  conclude('replicas', figures, { ...verdict, slow });
}
if (['all', 'rolling'].includes(values.story)) {
  const untilMs = performance.now() + Number(values['rolling-ms']);
  const { failed, violations, exits, ...figures } = await restartInTurn({
    perSecond: Number(values['rolling-per-second']),
    isEnough: (restarts) => {
      say(`${restarts} replicas restarted`);
      return performance.now() > untilMs;
    },
  });
  const slow = figures.longestEndMs > 30_000 ? [`${figures.longestEndMs} ms until a replica had ended`] : [];
  const again = figures.repeats > 0 ? [`${figures.repeats} ran more than once`] : [];
  conclude(
    'rolling restart',
    { ...figures, restarts: exits.length },
    { failed: failed.map((reply) => JSON.stringify(reply)), violations, slow, again },
  );
}
say(isInnocent ? 'everything is as it has to be' : 'this is not as it has to be');
process.exitCode = isInnocent ? 0 : 1;
