import { describe, expect, it } from 'vitest';
import type { TenantId } from '@drover/contracts';
import { broken, EngineTrial, ok, settled, thrown } from './testing/engine-trial.js';

const key = { idempotencyKey: 'k' };

// One test for each thing that the public system behind seed 002 learned the hard way.
describe('idempotency', () => {
  it('a replay whose result was evicted is refused, and does not run the function again', async () => {
    const trial = new EngineTrial({ storeBytes: 2_000 });
    const queue = await trial.register('f');
    const first = trial.invoke(queue, key);
    await settled();
    await trial.last.end();
    expect(first.answers).toMatchObject([{ kind: 'ended', outcome: { status: 'success' } }]);
    for (let n = 0; n < 40; n += 1) {
      await trial.enqueue(queue, { payload: { json: JSON.stringify('x'.repeat(500)) } });
      await trial.last.end();
    }
    const runs = trial.runs.length;
    const again = trial.invoke(queue, key);
    await settled();
    expect(again.answers).toMatchObject([{ kind: 'evicted' }]);
    expect(trial.runs.length).toBe(runs);
  });

  it('there is no moment between running and ended in which the key is free', async () => {
    const trial = new EngineTrial();
    const queue = await trial.register('f');
    let free = 0;
    let checks = 0;
    const check = (): void => {
      checks += 1;
      if (!trial.engine.keyed.index.find(queue, 'k', trial.clock.now())) free += 1;
    };
    trial.invoke(queue, key);
    await settled();
    const ending = trial.last.end();
    // Whatever becomes of it, at every turn of the event loop in between the key stands for it.
    for (let turn = 0; turn < 30; turn += 1) {
      check();
      await Promise.resolve();
    }
    await ending;
    check();
    expect([checks, free]).toEqual([31, 0]);
  });

  it('the end of one wait is not the end of the execution that others wait for', async () => {
    const trial = new EngineTrial();
    const queue = await trial.register('f', { timeoutMs: 10_000 });
    const patient = trial.invoke(queue, key, 5_000);
    const hasty = trial.invoke(queue, key, 50);
    await trial.clock.advance(60);
    expect(hasty.answers).toMatchObject([{ kind: 'overdue', state: 'running' }]);
    expect([patient.answers, trial.runs.length]).toEqual([[], 1]);
    await trial.last.end();
    expect(patient.answers).toMatchObject([{ kind: 'ended', outcome: { status: 'success' } }]);
  });

  it('a budget of one key is one key, however many claim at once', async () => {
    const trial = new EngineTrial({ maxKeys: 1 });
    const queue = await trial.register('f', { concurrency: 100, queueSize: 100 });
    const calls = Array.from({ length: 16 }, (_, n) => trial.invoke(queue, { idempotencyKey: `k${n}` }));
    await settled();
    expect(trial.runs).toHaveLength(1);
    expect(calls.filter(({ answers }) => answers[0]?.kind === 'refused')).toHaveLength(15);
    expect(calls[1]?.answers).toMatchObject([
      { refusal: { error: { code: 'IDEMPOTENCY_KEYS_EXHAUSTED', status: 429 } } },
    ]);
  });

  it('each tenant has a budget of its own, and the refusal says when a key expires', async () => {
    const trial = new EngineTrial({ maxKeys: 1, ttlMs: 60_000 });
    const queue = await trial.register('f');
    const other = await trial.register('f', {}, 'other' as TenantId);
    trial.invoke(queue, key);
    await settled();
    await trial.last.end();
    await trial.clock.advance(45_500);
    expect(trial.invoke(queue, { idempotencyKey: 'l' }).answers).toMatchObject([
      { refusal: { error: { code: 'IDEMPOTENCY_KEYS_EXHAUSTED' }, retryAfterSeconds: 15 } },
    ]);
    expect(trial.invoke(other, { idempotencyKey: 'l' }).answers).toEqual([]);
    await trial.clock.advance(14_500);
    expect(trial.invoke(queue, { idempotencyKey: 'l' }).answers).toEqual([]);
  });

  it.each([
    ['an endpoint that breaks', broken],
    ['a time-out', { kind: 'timeout', code: 'POOL_TIMEOUT', message: 'late' }],
  ] as const)('%s is not remembered: the same call runs again', async (_, result) => {
    const trial = new EngineTrial();
    const queue = await trial.register('f', { maxRetries: 0 });
    const first = trial.invoke(queue, key);
    await settled();
    await trial.last.end(result);
    expect(first.answers).toMatchObject([{ kind: 'ended', outcome: { isTransient: true } }]);
    // Nor does another replica remember it.
    expect((await trial.store.recover([queue.partition])).keys).toEqual([]);
    const again = trial.invoke(queue, key);
    await settled();
    await trial.last.end();
    expect(again.answers).toMatchObject([{ kind: 'ended', outcome: { status: 'success' } }]);
    expect(trial.runs).toHaveLength(2);
  });

  it('an error of the handler, a success and a cancellation are remembered', async () => {
    const trial = new EngineTrial();
    const queue = await trial.register('f');
    for (const [name, result] of [
      ['a', thrown],
      ['b', ok],
    ] as const) {
      trial.invoke(queue, { idempotencyKey: name });
      await settled();
      await trial.last.end(result);
    }
    const id = await trial.enqueue(queue, { idempotencyKey: 'c' });
    const live = trial.engine.live.get(id);
    if (live) await trial.engine.cancel(live);
    const answers = ['a', 'b', 'c'].map((idempotencyKey) => trial.invoke(queue, { idempotencyKey }).answers);
    await settled();
    expect(answers.map(([answer]) => (answer?.kind === 'ended' ? answer.outcome.status : answer?.kind))).toEqual([
      'error',
      'success',
      'cancelled',
    ]);
    expect([trial.runs.length, (await trial.store.recover([queue.partition])).keys.length]).toEqual([3, 3]);
  });

  it('the same key with another input is refused, while the execution lives and after it has ended', async () => {
    const trial = new EngineTrial();
    const queue = await trial.register('f');
    const order = { ...key, payload: { json: '{"a":1,"b":[2]}' } };
    const same = { ...key, payload: { json: '{ "b": [2.0], "a": 1 }' } };
    const another = { ...key, payload: { json: '{"a":2,"b":[2]}' } };
    const first = trial.invoke(queue, order);
    await settled();
    const reused = { refusal: { error: { code: 'IDEMPOTENCY_KEY_REUSED', status: 422 } } };
    const waiting = trial.invoke(queue, same);
    expect(trial.invoke(queue, another).answers).toMatchObject([reused]);
    expect(await trial.engine.enqueue(queue, another)).toMatchObject(reused);
    await trial.last.end();
    expect([first.answers.length, waiting.answers.length]).toEqual([1, 1]);
    const [late, again] = [trial.invoke(queue, another), trial.invoke(queue, same)];
    await settled();
    expect(late.answers).toMatchObject([reused]);
    expect(again.answers).toMatchObject([{ kind: 'ended', outcome: { status: 'success' } }]);
    expect(await trial.engine.enqueue(queue, another)).toMatchObject(reused);
    expect(trial.runs).toHaveLength(1);
  });

  it('a replay takes the key over, and the key answers with its result', async () => {
    const trial = new EngineTrial();
    const queue = await trial.register('f');
    const failed = await trial.enqueue(queue, key);
    await trial.last.end(thrown);
    const replay = { ...key, replayOf: failed };
    const replayed = await trial.enqueue(queue, replay);
    expect(replayed).not.toBe(failed);
    // A second replay would run the call twice.
    expect(await trial.engine.enqueue(queue, { payload: { json: '1' }, ...replay })).toMatchObject({
      refusal: { error: { code: 'IDEMPOTENCY_KEY_TAKEN', status: 409 } },
    });
    const joined = trial.invoke(queue, key);
    await trial.last.end();
    expect(joined.answers).toMatchObject([{ kind: 'ended', accepted: { executionId: replayed } }]);
    expect((await trial.store.recover([queue.partition])).keys).toMatchObject([{ executionId: replayed }]);
    expect(await trial.enqueue(queue, key)).toBe(replayed);
    expect(trial.runs).toHaveLength(2);
  });

  it('a slot is released once, by the attempt that holds it', async () => {
    const trial = new EngineTrial();
    const queue = await trial.register('f', { concurrency: 1, maxRetries: 0, timeoutMs: 100 });
    trial.invoke(queue, {}, 5_000);
    trial.invoke(queue, {}, 5_000);
    await trial.clock.advance(100);
    expect(trial.runs.map(({ abandoned }) => abandoned)).toEqual([['timeout'], []]);
    // The first is over; whatever it says now is not about the slot of the second.
    await trial.runs[0]?.end(ok);
    trial.engine.complete(trial.runs[0]?.attempt.accepted.executionId ?? '', 1, ok);
    expect([queue.inFlight, trial.runs.length]).toEqual([1, 2]);
    await trial.last.end();
    expect(queue.inFlight).toBe(0);
  });

  it('a late answer of a removed function does not touch the new one of its name', async () => {
    const trial = new EngineTrial();
    const old = await trial.register('f');
    trial.invoke(old, key);
    await settled();
    trial.remove(old);
    const queue = await trial.register('f');
    expect(queue).not.toBe(old);
    const mine = trial.invoke(queue, key);
    await settled();
    expect(trial.runs).toHaveLength(2);
    await trial.runs[0]?.end(thrown);
    expect([queue.inFlight, queue.metrics.failed, queue.metrics.latency.count]).toEqual([1, 0, 0]);
    await trial.last.end();
    expect(mine.answers).toMatchObject([{ kind: 'ended', outcome: { status: 'success' } }]);
    expect([queue.metrics.succeeded, queue.inFlight, old.inFlight]).toEqual([1, 0, 0]);
  });

  it('metrics include the calls that overload or removal ended', async () => {
    const trial = new EngineTrial();
    const queue = await trial.register('f', { concurrency: 1, queueSize: 2, timeoutMs: 10_000 });
    trial.invoke(queue, {}, 10_000);
    trial.invoke(queue, {}, 200); // ends in the queue
    trial.invoke(queue, {}, 10_000); // is ended by the removal
    trial.invoke(queue, {}, 10_000); // is refused
    await trial.clock.advance(200);
    trial.remove(queue);
    await settled();
    expect(queue.metrics).toMatchObject({ enqueued: 3, rejected: 1, timedOut: 1, failed: 2 });
    expect(queue.metrics.endToEnd.count).toBe(2);
    const sum = [...queue.metrics.endToEnd.samples('', 1)].find(({ suffix }) => suffix === '_sum');
    expect(sum?.value).toBeGreaterThanOrEqual(400);
  });

  it('nothing is left of removed functions', async () => {
    const trial = new EngineTrial();
    for (let n = 0; n < 50; n += 1) {
      const queue = await trial.register(`f${n}`);
      trial.invoke(queue, {});
      await trial.last.end();
      trial.remove(queue);
    }
    expect([trial.engine.queues.size, trial.engine.live.size]).toEqual([0, 0]);
    expect(trial.dispatcher.forgotten).toHaveLength(50);
  });
});
