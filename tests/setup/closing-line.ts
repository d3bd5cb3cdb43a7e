import type { Reporter, TestModule } from 'vitest/node';
import { slowestFiles } from './slowest-files.js';
import { closingLine, totalsOf } from './totals.js';

/** Ends a test run with its ten slowest files and one plain line of totals, which `.ci/parts` adds up. */
export default class ClosingLine implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[]): void {
    const { passed, failures, skipped } = totalsOf(modules, errors);
    process.stdout.write(`${slowestFiles(modules)}\n${closingLine({ passed, failed: failures.size, skipped })}\n`);
  }
}
