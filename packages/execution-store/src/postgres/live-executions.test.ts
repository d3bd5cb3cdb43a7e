import { describe, expect, it } from 'vitest';
import { acceptedCallAt } from '../testing/sample-executions.js';
import { LiveExecutions, newTenure, type JournalRow, type LiveExecution, type Tenure } from './live-executions.js';

function setUp(count: number): { live: LiveExecutions; tenure: Tenure; executions: LiveExecution[]; row: JournalRow } {
  const live = new LiveExecutions();
  const tenure = newTenure(3, 1);
  live.install(tenure);
  const executions = Array.from({ length: count }, () => live.begin(tenure, acceptedCallAt(1_000)));
  const row = live.addRow(tenure, { token: 1, number: 1, total: count, writtenAt: 0 });
  for (const execution of executions) live.enter(execution, row, 0);
  return { live, tenure, executions, row };
}

describe('LiveExecutions', () => {
  it('lets a row go with the last of its executions, and knows the first end until then', () => {
    const { live, tenure, executions, row } = setUp(3);
    for (const [n, execution] of executions.entries()) {
      expect(live.takeGone(10)).toEqual([]);
      live.finish(execution, 100 - n);
      live.finish(execution, 0); // twice is once
      expect(row.firstFinishedAt).toBe(100 - n);
    }
    expect(live.takeGone(10)).toEqual([row]);
    expect(tenure.live.size).toBe(0);
    expect(tenure.rows.has(row)).toBe(true);
    live.removeRow(row);
    expect(tenure.rows.size).toBe(0);
  });

  it('counts an entry that becomes durable after the end as over', () => {
    const { live, tenure } = setUp(0);
    const execution = live.begin(tenure, acceptedCallAt(1_000));
    live.finish(execution, 50);
    const row = live.addRow(tenure, { token: 1, number: 2, total: 1, writtenAt: 0 });
    live.enter(execution, row, 99);
    expect(row).toMatchObject({ left: 0, firstFinishedAt: 50 });
    expect(live.takeGone(10)).toEqual([row]);
  });

  it('needs the latest note only', () => {
    const { live, tenure, executions } = setUp(1);
    const [execution] = executions;
    if (!execution) return expect.unreachable();
    const notes = [2, 3].map((number) => live.addRow(tenure, { token: 1, number, total: 1, writtenAt: 0 }));
    for (const [n, note] of notes.entries()) live.note(execution, { attempts: n + 1 }, note, 0);
    expect(execution.attempts).toBe(2);
    expect(live.takeGone(10)).toEqual([notes[0]]);
    live.dropNote(execution, notes[0], 0); // not the one it has
    expect(live.takeGone(10)).toEqual([]);
    live.finish(execution, 0);
    expect(live.takeGone(10)).toHaveLength(2);
  });

  it('needs the latest note only, also when it is durable before the one before it', () => {
    const { live, tenure, executions } = setUp(1);
    const [execution] = executions;
    if (!execution) return expect.unreachable();
    const [early, late] = [2, 3].map((number) => live.addRow(tenure, { token: 1, number, total: 1, writtenAt: 0 }));
    if (!early || !late) return expect.unreachable();
    live.note(execution, { attempts: 2 }, late, 0);
    live.note(execution, { attempts: 1 }, early, 0);
    expect(execution.attempts).toBe(2);
    expect(live.takeGone(10)).toEqual([early]);
  });

  it('forgets tenures that are over, and rows that wait to be deleted with them', () => {
    const { live, executions } = setUp(1);
    const [execution] = executions;
    if (!execution) return expect.unreachable();
    expect(live.tenure(3, 1)).toBeDefined();
    expect(live.tenure(3, 2)).toBeUndefined();
    expect(live.tenure(3, undefined)).toBeUndefined();
    live.finish(execution, 0);
    live.keepOnly(() => false);
    expect(live.takeGone(10)).toEqual([]);
    expect(live.find(3, execution.accepted.executionId)).toBeUndefined();
    expect(live.tenure(3, undefined)).toBeUndefined();
  });
});
