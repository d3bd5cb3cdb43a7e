import { FakeClock, seededRandomness } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { definitionOf, responseOf } from '../bindings/definition.test.fixture.js';
import { workerLost } from '../errors.js';
import type { FunctionWorker } from '../workers/function-worker.js';
import type { InvocationCall, InvocationOutcome } from './invocation-call.js';
import { WarmUp } from './warm-up.js';

const definition = definitionOf('warm', { name: 'context', type: 'warmupTrigger', direction: 'in' });
const succeeded: InvocationOutcome = { kind: 'succeeded', invocationId: 'i', response: responseOf({}) };
const lost: InvocationOutcome = {
  kind: 'failed',
  invocationId: 'i',
  error: workerLost({ workerId: 'w', reason: 'it crashed' }),
};

/** All that a warm-up reads of a worker. */
function workerOf({ isAlive = true, refusal }: { isAlive?: boolean; refusal?: string } = {}): FunctionWorker {
  return { is: () => !isAlive, refusalOf: () => refusal } as unknown as FunctionWorker;
}

function setUp(outcome: () => Promise<InvocationOutcome>) {
  const clock = new FakeClock();
  const calls: InvocationCall[] = [];
  const warnings: string[] = [];
  const warmUp = new WarmUp({
    definition,
    invokerOn: () => ({
      invoke: (call) => {
        calls.push(call);
        return outcome();
      },
    }),
    withinMs: 60_000,
    clock,
    randomness: seededRandomness(1),
    warn: (problem) => void warnings.push(problem),
  });
  return { clock, calls, warnings, warmUp };
}

describe('a warm-up', () => {
  it('runs the function on the worker with an empty object', async () => {
    const { calls, warmUp, clock } = setUp(() => Promise.resolve(succeeded));
    await warmUp.run(workerOf());
    expect(calls[0]?.inputs({})).toEqual({
      inputData: [{ name: 'context', data: { json: '{}' } }],
      triggerMetadata: {},
    });
    expect(clock.pending).toBe(0);
  });

  it('is left out where the worker has refused the function', async () => {
    const { calls, warmUp } = setUp(() => Promise.resolve(succeeded));
    await warmUp.run(workerOf({ refusal: 'no such file' }));
    expect(calls).toEqual([]);
  });

  it('ends after its time limit, with a warning', async () => {
    const { clock, warnings, warmUp } = setUp(() => new Promise(() => undefined));
    let isOver = false;
    const run = warmUp.run(workerOf()).then(() => (isOver = true));
    await clock.advance(59_999);
    expect(isOver).toBe(false);
    await clock.advance(1);
    await run;
    expect(warnings).toEqual([expect.stringContaining('takes longer than 60000 ms')]);
  });

  it('is left out once two workers in a row have ended with it', async () => {
    let outcome: InvocationOutcome = lost;
    const { calls, warnings, warmUp } = setUp(() => Promise.resolve(outcome));
    await warmUp.run(workerOf({ isAlive: false }));
    outcome = succeeded;
    await warmUp.run(workerOf());
    outcome = lost;
    for (let n = 0; n < 5; n += 1) await warmUp.run(workerOf({ isAlive: false }));
    expect(calls).toHaveLength(4);
    expect(warnings).toEqual([expect.stringContaining('further ones start without it')]);
  });
});
