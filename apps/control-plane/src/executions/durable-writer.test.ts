import { FakeClock } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import type { AcceptedCall } from '@drover/contracts';
import { confirmWithinMs, DurableWriter } from './durable-writer.js';
import type { LiveExecution } from './live-execution.js';
import { settled } from './testing/engine-trial.js';

/** A store that answers when the test says so. */
function trial() {
  const asked: (readonly string[])[] = [];
  const answers: { readonly store: () => void; readonly refuse: (error: Error) => void }[] = [];
  const heard: string[] = [];
  const clock = new FakeClock();
  const writer = new DurableWriter({
    clock,
    store: {
      accept: (calls) => {
        asked.push(calls.map(({ executionId }) => executionId));
        return new Promise((store, refuse) => answers.push({ store, refuse }));
      },
    },
    onStored: (executions) => heard.push(`stored ${executions.map(idOf).join(' ')}`),
    onFailed: (executions, error) => {
      heard.push(`failed ${executions.map(idOf).join(' ')}`);
      return error instanceof Error ? error : new Error(String(error));
    },
  });
  const write = (...executions: readonly LiveExecution[]): Promise<boolean> => {
    const [first] = executions;
    return first ? writer.write(first.queue.partition, executions) : expect.unreachable();
  };
  return { write, clock, asked, answers, heard };
}

const idOf = ({ accepted }: LiveExecution): string => accepted.executionId;

function execution(executionId: string, partition: number, bytes = 2): LiveExecution {
  const accepted: Partial<AcceptedCall> = { executionId, payload: { json: 'x'.repeat(bytes) } };
  return { accepted, queue: { partition }, pendingWrite: undefined } as unknown as LiveExecution; // the properties that are read
}

describe('DurableWriter', () => {
  it('hands the executions of one partition to the store together, once per turn', async () => {
    const { write, asked, answers, heard } = trial();
    const all = [execution('a', 1), execution('b', 2), execution('c', 1)];
    const writing = all.map((one) => write(one));
    expect(asked).toEqual([]);
    expect(writing[0]).toBe(writing[2]);
    expect(writing[0]).not.toBe(writing[1]);
    await settled();
    expect(asked).toEqual([['a', 'c'], ['b']]);
    const later = write(execution('d', 1));
    await settled();
    expect(asked.slice(2)).toEqual([['d']]);
    for (const { store } of answers) store();
    expect(await Promise.all([...writing, later])).toEqual([true, true, true, true]);
    expect(heard).toEqual(['stored a c', 'stored b', 'stored d']);
  });

  it('rejects all executions of a partition together, and no others', async () => {
    const { write, answers, heard } = trial();
    const lost = [write(execution('a', 1)), write(execution('b', 1))];
    const stored = write(execution('c', 2));
    await settled();
    answers[0]?.refuse(new Error('not my partition'));
    answers[1]?.store();
    for (const one of lost) await expect(one).rejects.toThrow('not my partition');
    await stored;
    expect(heard.toSorted()).toEqual(['failed a b', 'stored c']);
  });

  it('answers after a time limit when the store does not, and follows its late answer', async () => {
    const { write, clock, answers, heard } = trial();
    const one = execution('a', 1);
    const notified = write(one);
    const pending = one.pendingWrite;
    await clock.advance(confirmWithinMs);
    expect(await notified).toBe(false);
    answers[0]?.store();
    await pending;
    expect(heard).toEqual(['stored a']);
    expect(clock.pending).toBe(0);
  });

  it('writes nothing a second time, and reports a late refusal', async () => {
    const { write, clock, asked, answers, heard } = trial();
    const one = execution('a', 1);
    const notified = write(one);
    one.pendingWrite?.catch(() => undefined);
    await clock.advance(confirmWithinMs);
    expect(await notified).toBe(false);
    answers[0]?.refuse(new Error('connection lost'));
    await settled();
    expect([asked, heard, clock.pending]).toEqual([[['a']], ['failed a'], 0]);
  });

  it('does not wait for the end of the turn when a group is large', () => {
    const { write, asked } = trial();
    void write(execution('a', 1));
    void write(execution('b', 1, 300_000));
    void write(execution('c', 1));
    expect(asked).toEqual([['a', 'b']]);
  });

  it('keeps executions of one write together, whatever their size', async () => {
    const { write, asked, answers } = trial();
    const many = ['a', 'b', 'c'].map((id) => execution(id, 1, 200_000));
    const stored = write(...many);
    expect(asked).toEqual([['a', 'b', 'c']]);
    answers[0]?.refuse(new Error('no'));
    await expect(stored).rejects.toThrow('no');
  });

  it('reports that executions are stored before it resolves', async () => {
    const { write, answers, heard } = trial();
    const notified = write(execution('a', 1)).then(() => heard.push('notified'));
    await settled();
    answers[0]?.store();
    await notified;
    expect(heard).toEqual(['stored a', 'notified']);
  });
});
