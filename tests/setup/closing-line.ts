import type { Reporter, TestModule } from 'vitest/node';

const slowestFiles = 10;

/** Ends a test run with its ten slowest files and one plain line of totals, which `.ci/run` adds up. */
export default class ClosingLine implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[]): void {
    process.stdout.write(`${slowest(modules)}\n${totals(modules, errors.length)}\n`);
  }
}

function slowest(modules: readonly TestModule[]): string {
  const files = modules
    .map((module) => ({ file: module.relativeModuleId, seconds: secondsOf(module) }))
    .toSorted((one, other) => other.seconds - one.seconds)
    .slice(0, slowestFiles);
  return ['', `Slowest ${files.length} files:`, ...files.map(({ file, seconds }) => `${seconds.toFixed(1)} s  ${file}`)]
    .map((line) => `${line}\n`)
    .join('');
}

/** Loading the file, its hooks and its tests. */
function secondsOf(module: TestModule): number {
  const { prepareDuration, environmentSetupDuration, setupDuration, collectDuration, duration } = module.diagnostic();
  return (prepareDuration + environmentSetupDuration + setupDuration + collectDuration + duration) / 1_000;
}

function totals(modules: readonly TestModule[], errors: number): string {
  const count = { passed: 0, failed: errors, skipped: 0, pending: 0 };
  for (const module of modules) {
    for (const test of module.children.allTests()) count[test.result().state] += 1;
    // A file that could not be loaded has no tests to count.
    if (module.state() === 'failed' && [...module.children.allTests('failed')].length === 0) count.failed += 1;
  }
  const skipped = count.skipped + count.pending;
  return `${count.passed} passed, ${count.failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`;
}
