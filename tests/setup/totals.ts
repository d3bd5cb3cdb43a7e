import type { TestModule } from 'vitest/node';

/** What one run of some test files came to. */
export interface RunTotals {
  readonly passed: number;
  readonly skipped: number;
  /** The first error of each test that failed, by the test's full name; a file that did not load has its own name. */
  readonly failures: ReadonlyMap<string, string>;
  readonly failedFiles: readonly string[];
}

/** Counts the tests of a run. `errors` were thrown outside of all tests. */
export function totalsOf(modules: readonly TestModule[], errors: readonly unknown[]): RunTotals {
  const count = { passed: 0, failed: 0, skipped: 0, pending: 0 };
  const failures = new Map<string, string>();
  for (const module of modules) {
    for (const test of module.children.allTests()) {
      const { state, errors: thrown } = test.result();
      count[state] += 1;
      if (state === 'failed') failures.set(`${module.relativeModuleId} > ${test.fullName}`, firstOf(thrown));
    }
    const hasFailedTest = [...module.children.allTests('failed')].length > 0;
    // A file that could not be loaded has no tests to count.
    if (module.state() === 'failed' && !hasFailedTest) failures.set(module.relativeModuleId, firstOf(module.errors()));
  }
  for (const [index, error] of errors.entries()) failures.set(`outside of all tests, ${index + 1}`, firstOf([error]));
  return {
    passed: count.passed,
    skipped: count.skipped + count.pending,
    failures,
    failedFiles: modules.filter((module) => module.state() === 'failed').map((module) => module.moduleId),
  };
}

function firstOf(errors: readonly unknown[] | undefined): string {
  const [error] = errors ?? [];
  return error instanceof Object && 'message' in error ? String(error.message) : String(error);
}

/** The plain line that ends every run, which `.ci/parts` adds up. */
export function closingLine({
  passed,
  failed,
  skipped,
}: Readonly<Record<'passed' | 'failed' | 'skipped', number>>): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`;
}
