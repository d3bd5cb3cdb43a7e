import { FakeClock } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import type { AcceptedCall } from '@drover/contracts';
import { Keeper } from './keeper.js';
import type { LiveExecution } from './live-execution.js';
import { settled } from './testing/engine-trial.js';

/** A store that keeps what it is told to keep, and says so when told. */
function trial() {
  const asked: (readonly string[])[] = [];
  const answers: { readonly keep: () => void; readonly refuse: (error: Error) => void }[] = [];
  const heard: string[] = [];
  const clock = new FakeClock();
  const keeper = new Keeper({
    clock,
    store: {
      accept: (invocations) => {
        asked.push(invocations.map(({ executionId }) => executionId));
        return new Promise((keep, refuse) => answers.push({ keep, refuse }));
      },
    },
    onKept: (executions) => heard.push(`kept ${executions.map(idOf).join(' ')}`),
    onFailed: (executions, error) => {
      heard.push(`failed ${executions.map(idOf).join(' ')}`);
      return error instanceof Error ? error : new Error(String(error));
    },
  });
  const keep = (...executions: readonly LiveExecution[]): Promise<void> => {
    const [first] = executions;
    return first ? keeper.keep(first.lane, executions) : expect.unreachable();
  };
  return { keep, clock, asked, answers, heard };
}

const idOf = ({ accepted }: LiveExecution): string => accepted.executionId;

function execution(executionId: string, partition: number, bytes = 2): LiveExecution {
  const accepted: Partial<AcceptedCall> = { executionId, payload: { json: 'x'.repeat(bytes) } };
  return { accepted, lane: { partition }, keeping: undefined } as unknown as LiveExecution; // all that is looked at
}

describe('what is to be kept', () => {
  it('goes to the store once a turn, for each partition together', async () => {
    const { keep, asked, answers, heard } = trial();
    const all = [execution('a', 1), execution('b', 2), execution('c', 1)];
    const keeping = all.map((one) => keep(one));
    expect(asked).toEqual([]);
    expect(keeping[0]).toBe(keeping[2]);
    expect(keeping[0]).not.toBe(keeping[1]);
    await settled();
    expect(asked).toEqual([['a', 'c'], ['b']]);
    const later = keep(execution('d', 1));
    await settled();
    expect(asked.slice(2)).toEqual([['d']]);
    for (const { keep } of answers) keep();
    await Promise.all([...keeping, later]);
    expect(heard).toEqual(['kept a c', 'kept b', 'kept d']);
  });

  it('fails with those of its partition, and without the others', async () => {
    const { keep, answers, heard } = trial();
    const lost = [keep(execution('a', 1)), keep(execution('b', 1))];
    const kept = keep(execution('c', 2));
    await settled();
    answers[0]?.refuse(new Error('not my partition'));
    answers[1]?.keep();
    for (const one of lost) await expect(one).rejects.toThrow('not my partition');
    await kept;
    expect(heard.toSorted()).toEqual(['failed a b', 'kept c']);
  });

  it('holds nobody up when the store is silent, and may be kept all the same', async () => {
    const { keep, clock, answers, heard } = trial();
    const one = execution('a', 1);
    const told = keep(one).catch((error: unknown) => error);
    const keeping = one.keeping;
    await clock.advance(1_500);
    expect(await told).toMatchObject({ code: 'EXECUTION_NOT_KEPT_YET' });
    answers[0]?.keep();
    await keeping;
    expect(heard).toEqual(['kept a']);
    expect(clock.pending).toBe(0);
  });

  it('does not wait for others when it is large', () => {
    const { keep, asked } = trial();
    void keep(execution('a', 1));
    void keep(execution('b', 1, 300_000));
    void keep(execution('c', 1));
    expect(asked).toEqual([['a', 'b']]);
  });

  it('is kept whole when it comes together, however large it is', async () => {
    const { keep, asked, answers } = trial();
    const many = ['a', 'b', 'c'].map((id) => execution(id, 1, 200_000));
    const kept = keep(...many);
    expect(asked).toEqual([['a', 'b', 'c']]);
    answers[0]?.refuse(new Error('no'));
    await expect(kept).rejects.toThrow('no');
  });

  it('is heard of before whoever waits is told', async () => {
    const { keep, answers, heard } = trial();
    const told = keep(execution('a', 1)).then(() => heard.push('told'));
    await settled();
    answers[0]?.keep();
    await told;
    expect(heard).toEqual(['kept a', 'told']);
  });
});
