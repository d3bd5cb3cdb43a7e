import { describe, expect, it } from 'vitest';
import type { RunTotals } from '../setup/totals.js';
import { filesToRepeat, flakyLines, verdictOf } from './second-run.js';

const totals = (passed: number, failures: Readonly<Record<string, string>> = {}): RunTotals => ({
  passed,
  skipped: 0,
  failures: new Map(Object.entries(failures)),
  failedFiles: [],
});

describe('a second run of failed files', () => {
  it('is not needed when all tests passed', () => {
    expect(filesToRepeat({ failedFiles: [] })).toEqual([]);
    expect(verdictOf(totals(5), undefined)).toEqual({ passed: 5, failed: 0, skipped: 0, flaky: new Map() });
  });

  it('repeats a few files, and none when most are broken', () => {
    expect(filesToRepeat({ failedFiles: ['a', 'b'] })).toEqual(['a', 'b']);
    expect(filesToRepeat({ failedFiles: Array.from({ length: 13 }, (_, n) => String(n)) })).toEqual([]);
  });

  it('makes a test that passes there flaky, and names it with its first error', () => {
    const verdict = verdictOf(totals(4, { 'a > late': 'not within 120 s\n  at x' }), totals(2));
    expect(verdict).toMatchObject({ passed: 5, failed: 0 });
    expect(flakyLines(verdict)).toEqual(['flaky: a > late: not within 120 s', '1 flaky']);
  });

  it('fails a test that fails again, and one that fails only there', () => {
    const verdict = verdictOf(totals(4, { 'a > broken': 'x' }), totals(1, { 'a > broken': 'x', 'a > other': 'y' }));
    expect(verdict).toEqual({ passed: 3, failed: 2, skipped: 0, flaky: new Map() });
    expect(flakyLines(verdict)).toEqual([]);
  });

  it('fails what failed first when there was no second run', () => {
    expect(verdictOf(totals(4, { 'a > broken': 'x' }), undefined)).toMatchObject({ passed: 4, failed: 1 });
  });
});
