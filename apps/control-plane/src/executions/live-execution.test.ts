import { describe, expect, it } from 'vitest';
import type { LiveExecution } from './live-execution.js';
import { EngineTrial, settled } from './testing/engine-trial.js';

function live(trial: EngineTrial, executionId: string): LiveExecution {
  const execution = trial.engine.live.get(executionId);
  if (!execution) throw new Error(`${executionId} is not live`);
  return execution;
}

interface Gate {
  open(): Promise<void>;
  fail(): Promise<void>;
}

/** The store answers `accept` or `finish` when the test says so. */
function gate(trial: EngineTrial, method: 'accept' | 'finish'): Gate {
  const { store } = trial;
  const [accept, finish] = [store.accept.bind(store), store.finish.bind(store)];
  let resolve: () => void = () => undefined;
  let reject: (error: Error) => void = () => undefined;
  const answer = new Promise<void>((succeed, fail) => {
    resolve = succeed;
    reject = fail;
  });
  if (method === 'accept') store.accept = (calls) => answer.then(() => accept(calls));
  else store.finish = (...end) => answer.then(() => finish(...end));
  return {
    async open() {
      resolve();
      await settled();
    },
    async fail() {
      reject(new Error('no disk'));
      await settled();
    },
  };
}

describe('a live execution', () => {
  it('passes accepting, queued, running and ending, and shows three states of them', async () => {
    const trial = new EngineTrial();
    const queue = await trial.register('f');
    const [accepted, finished] = [gate(trial, 'accept'), gate(trial, 'finish')];
    void trial.enqueue(queue);
    const [execution] = trial.engine.live.all();
    if (!execution) return expect.unreachable();
    const seen = [`${execution.state} ${execution.status}`];
    await settled();
    await accepted.open();
    seen.push(`${execution.state} ${execution.status}`);
    await trial.last.end();
    seen.push(`${execution.state} ${execution.status}`);
    await finished.open();
    seen.push(`${execution.state} ${execution.status}`);
    expect(seen).toEqual(['accepting queued', 'running running', 'ending running', 'ended success']);
    expect([queue.waiting, queue.inFlight, trial.engine.live.size]).toEqual([0, 0, 0]);
  });

  it('that is cancelled while it is being stored never runs', async () => {
    const trial = new EngineTrial();
    const queue = await trial.register('f');
    const accepted = gate(trial, 'accept');
    const enqueued = trial.enqueue(queue);
    await settled();
    const [execution] = trial.engine.live.all();
    if (!execution) return expect.unreachable();
    const cancelled = trial.engine.cancel(execution);
    expect([execution.state, queue.waiting]).toEqual(['withdrawn', 0]);
    expect(await cancelled).toMatchObject({ kind: 'ended', outcome: { status: 'cancelled' } });
    await accepted.open();
    await enqueued;
    expect([execution.state, trial.runs.length, queue.waiting]).toEqual(['ended', 0, 0]);
  });

  it('that is dropped while it is being stored releases its place once', async () => {
    const trial = new EngineTrial();
    const queue = await trial.register('f');
    const accepted = gate(trial, 'accept');
    const refusal = trial.enqueue(queue).catch((error: unknown) => error);
    await settled();
    trial.engine.dropAll([...trial.engine.live.all()]);
    expect(queue.waiting).toBe(0);
    await accepted.fail();
    expect(await refusal).toMatchObject({ code: 'EXECUTION_NOT_KEPT' });
    expect([queue.waiting, trial.runs.length]).toEqual([0, 0]);
  });

  it('that is dropped while its end is being stored is ended when the store confirms it', async () => {
    const trial = new EngineTrial();
    const queue = await trial.register('f');
    const execution = live(trial, await trial.enqueue(queue));
    const finished = gate(trial, 'finish');
    await trial.last.end();
    trial.engine.drop(execution);
    expect(execution.state).toBe('dropped');
    await finished.open();
    expect([execution.state, queue.metrics.succeeded]).toEqual(['ended', 1]);
  });

  it('that waits for its time or its retry holds no place, and is dropped without a trace', async () => {
    const trial = new EngineTrial();
    const queue = await trial.register('f', {
      retry: { handlerErrors: true, delayMs: 500, backOffFactor: 1, maxDelayMs: 500, windowMs: 600_000 },
    });
    const delayed = live(trial, await trial.enqueue(queue, { runAt: trial.clock.now() + 5_000 }));
    const failed = live(trial, await trial.enqueue(queue));
    await trial.last.end({ kind: 'failed', code: 'EXECUTION_FAILED', message: 'boom', transient: false });
    expect([delayed.state, failed.state, queue.waiting]).toEqual(['scheduled', 'retrying', 0]);
    trial.engine.dropAll([delayed, failed]);
    await trial.clock.advance(10_000);
    expect([trial.runs.length, queue.waiting, trial.engine.live.size, trial.clock.pending]).toEqual([1, 0, 0, 0]);
  });
});
