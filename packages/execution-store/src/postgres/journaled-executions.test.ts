import { describe, expect, it } from 'vitest';
import { acceptedCallAt } from '../testing/sample-executions.js';
import {
  JournaledExecutions,
  newOwnershipTerm,
  type JournaledExecution,
  type JournalRow,
  type OwnershipTerm,
} from './journaled-executions.js';

function setUp(count: number): {
  journaled: JournaledExecutions;
  term: OwnershipTerm;
  executions: JournaledExecution[];
  row: JournalRow;
} {
  const journaled = new JournaledExecutions();
  const term = newOwnershipTerm(3, 1);
  journaled.install(term);
  const executions = Array.from({ length: count }, () => journaled.add(term, acceptedCallAt(1_000)));
  const row = journaled.addRow(term, { token: 1, number: 1, total: count, writtenAt: 0 });
  for (const execution of executions) journaled.entryWritten(execution, row, 0);
  return { journaled, term, executions, row };
}

describe('JournaledExecutions', () => {
  it('makes a row obsolete with the end of its last execution, and knows the first end until then', () => {
    const { journaled, term, executions, row } = setUp(3);
    for (const [n, execution] of executions.entries()) {
      expect(journaled.takeObsoleteRows(10)).toEqual([]);
      journaled.finish(execution, 100 - n);
      journaled.finish(execution, 0); // has no effect
      expect(row.firstFinishedAt).toBe(100 - n);
    }
    expect(journaled.takeObsoleteRows(10)).toEqual([row]);
    expect(term.executions.size).toBe(0);
    expect(term.rows.has(row)).toBe(true);
    journaled.removeRow(row);
    expect(term.rows.size).toBe(0);
  });

  it('does not need an entry that becomes durable after the end', () => {
    const { journaled, term } = setUp(0);
    const execution = journaled.add(term, acceptedCallAt(1_000));
    journaled.finish(execution, 50);
    const row = journaled.addRow(term, { token: 1, number: 2, total: 1, writtenAt: 0 });
    journaled.entryWritten(execution, row, 99);
    expect(row).toMatchObject({ needed: 0, firstFinishedAt: 50 });
    expect(journaled.takeObsoleteRows(10)).toEqual([row]);
  });

  it('needs the latest retry only', () => {
    const { journaled, term, executions } = setUp(1);
    const [execution] = executions;
    if (!execution) return expect.unreachable();
    const retries = [2, 3].map((number) => journaled.addRow(term, { token: 1, number, total: 1, writtenAt: 0 }));
    for (const [n, retry] of retries.entries()) journaled.retryWritten(execution, { attempts: n + 1 }, retry, 0);
    expect(execution.attempts).toBe(2);
    expect(journaled.takeObsoleteRows(10)).toEqual([retries[0]]);
    journaled.releaseRetry(execution, retries[0], 0); // not the current one
    expect(journaled.takeObsoleteRows(10)).toEqual([]);
    journaled.finish(execution, 0);
    expect(journaled.takeObsoleteRows(10)).toHaveLength(2);
  });

  it('needs the latest retry only, also when it becomes durable before an earlier one', () => {
    const { journaled, term, executions } = setUp(1);
    const [execution] = executions;
    if (!execution) return expect.unreachable();
    const [early, late] = [2, 3].map((number) => journaled.addRow(term, { token: 1, number, total: 1, writtenAt: 0 }));
    if (!early || !late) return expect.unreachable();
    journaled.retryWritten(execution, { attempts: 2 }, late, 0);
    journaled.retryWritten(execution, { attempts: 1 }, early, 0);
    expect(execution.attempts).toBe(2);
    expect(journaled.takeObsoleteRows(10)).toEqual([early]);
  });

  it('forgets ended terms and their obsolete rows', () => {
    const { journaled, executions } = setUp(1);
    const [execution] = executions;
    if (!execution) return expect.unreachable();
    expect(journaled.term(3, 1)).toBeDefined();
    expect(journaled.term(3, 2)).toBeUndefined();
    expect(journaled.term(3, undefined)).toBeUndefined();
    journaled.finish(execution, 0);
    journaled.dropEndedTerms(() => false);
    expect(journaled.takeObsoleteRows(10)).toEqual([]);
    expect(journaled.find(3, execution.accepted.executionId)).toBeUndefined();
    expect(journaled.term(3, undefined)).toBeUndefined();
  });
});
