import type { RunTotals } from '../setup/totals.js';

/** With more failed files than this something is broken: a second run would only take longer to say so. */
const mostFilesToRepeat = 12;

/** The files to run once more after the first run: none if too many failed. */
export function filesToRepeat({ failedFiles }: Pick<RunTotals, 'failedFiles'>): readonly string[] {
  return failedFiles.length <= mostFilesToRepeat ? failedFiles : [];
}

export interface Verdict {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  /** The first error of each test that failed and then passed, by the test's name. */
  readonly flaky: ReadonlyMap<string, string>;
}

/**
 * Decides what a run and the second run of its failed files come to. A test that passes in the second run is flaky and counts as
 * passed; one that fails there counts as failed, also if it had passed before.
 */
export function verdictOf(first: RunTotals, second: RunTotals | undefined): Verdict {
  const { passed, skipped, failures } = first;
  if (!second) return { passed, failed: failures.size, skipped, flaky: new Map() };
  const flaky = new Map([...failures].filter(([name]) => !second.failures.has(name)));
  const failedOnlyThen = [...second.failures.keys()].filter((name) => !failures.has(name)).length;
  return {
    passed: passed + flaky.size - failedOnlyThen,
    failed: second.failures.size,
    skipped,
    flaky,
  };
}

/** One line per flaky test with the first line of its first error, and their number. Empty without any. */
export function flakyLines({ flaky }: Pick<Verdict, 'flaky'>): readonly string[] {
  if (flaky.size === 0) return [];
  const lines = [...flaky].map(([name, error]) => `flaky: ${name}: ${error.split('\n', 1)[0] ?? ''}`);
  return [...lines, `${flaky.size} flaky`];
}
