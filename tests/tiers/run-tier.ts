import { parseArgs } from 'node:util';
import { startVitest, type Reporter, type TestModule } from 'vitest/node';
import { slowestFiles } from '../setup/slowest-files.js';
import { closingLine, totalsOf, type RunTotals } from '../setup/totals.js';
import { filesToRepeat, flakyLines, verdictOf } from './second-run.js';

/**
 * Runs a tier of long tests: `node run-tier.js stories [file …] [-t name]`. Files with a failed test run once more, in new processes;
 * a test that passes then is printed as flaky with its first error. The last line is the sum of both runs.
 */
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { testNamePattern: { type: 'string', short: 't' } },
});
const [tier = '', ...filters] = positionals;

const first = await run(filters);
const again = filesToRepeat(first);
const second = again.length > 0 ? await run(again) : undefined;
const verdict = verdictOf(first, second);
process.stdout.write(`${[...flakyLines(verdict), closingLine(verdict)].join('\n')}\n`);
process.exit(verdict.failed > 0 ? 1 : 0);

async function run(files: readonly string[]): Promise<RunTotals> {
  let totals: RunTotals | undefined;
  const counting: Reporter = {
    onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[]) {
      totals = totalsOf(modules, errors);
      process.stdout.write(`${slowestFiles(modules)}\n`);
    },
  };
  const { testNamePattern } = values;
  const vitest = await startVitest('test', [...files], {
    project: [tier],
    watch: false,
    reporters: ['default', counting],
    ...(testNamePattern !== undefined && { testNamePattern }),
  });
  await vitest.close();
  if (!totals)
    throw new Error(`No test of the tier "${tier}" was run. Name a project of vitest.config.ts, and files of it.`);
  return totals;
}
