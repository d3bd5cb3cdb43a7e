import type { TenantId } from '@drover/contracts';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { confirmWithinMs } from './durable-writer.js';
import { broken, EngineTrial, ok, refused, settled, thrown } from './testing/engine-trial.js';

const nameOf = (trial: EngineTrial): string[] => trial.runs.map(({ attempt }) => attempt.accepted.functionName);

describe('a queue', () => {
  it('is first come, first served, and full at its size', async () => {
    const trial = new EngineTrial();
    const queue = await trial.register('f', { concurrency: 1, queueSize: 2, timeoutMs: 5_000 });
    const calls = [1, 2, 3, 4].map((n) => trial.invoke(queue, { payload: { json: String(n) } }, 5_000));
    expect(calls[3]?.answers).toMatchObject([
      {
        kind: 'refused',
        refusal: { reason: 'depth', retryAfterSeconds: 1, error: { code: 'QUEUE_FULL', status: 429 } },
      },
    ]);
    for (let n = 0; n < 3; n += 1) await trial.runs[n]?.end();
    expect(trial.runs.map(({ attempt }) => attempt.accepted.payload.json)).toEqual(['1', '2', '3']);
    expect([queue.waiting, queue.inFlight]).toEqual([0, 0]);
  });

  it('answers a call that finds it full with the time until there is room', async () => {
    const trial = new EngineTrial();
    const queue = await trial.register('f', { concurrency: 1, queueSize: 3, timeoutMs: 60_000 });
    const refusedAfter = (): unknown => {
      const [answer] = trial.invoke(queue, {}, 60_000).answers;
      return answer?.kind === 'refused' ? answer.refusal.retryAfterSeconds : answer;
    };
    for (let n = 0; n < 4; n += 1) trial.invoke(queue, {}, 60_000);
    await trial.clock.advance(2_000);
    expect(refusedAfter()).toBe(2); // nothing is measured, and the first has run for two seconds
    for (let n = 0; n < 3; n += 1) {
      await trial.clock.advance(n === 0 ? 3_000 : 5_000);
      await trial.last.end();
      trial.invoke(queue, {}, 60_000);
    }
    expect(refusedAfter()).toBe(5); // one place is free every five seconds
    await trial.clock.advance(3_000);
    expect(refusedAfter()).toBe(2);
  });

  it('of several slots has room more often than one of them is free', async () => {
    const trial = new EngineTrial();
    const queue = await trial.register('f', { concurrency: 10, queueSize: 20, timeoutMs: 60_000 });
    for (let n = 0; n < 30; n += 1) trial.invoke(queue, {}, 60_000);
    for (let round = 0; round < 20; round += 1) {
      await trial.clock.advance(2_000);
      await trial.runs[round]?.end();
      trial.invoke(queue, {}, 60_000);
    }
    // Each call takes twenty seconds, but every two seconds one ends.
    expect(trial.invoke(queue, {}, 600_000).answers).toMatchObject([{ refusal: { retryAfterSeconds: 2 } }]);
  });

  it('refuses a call that would wait longer than its time limit', async () => {
    const trial = new EngineTrial();
    const queue = await trial.register('f', { concurrency: 1, queueSize: 500, timeoutMs: 60_000 });
    for (let n = 0; n < 50; n += 1) {
      trial.invoke(queue, {}, 60_000);
      await trial.clock.advance(100);
      await trial.last.end();
    }
    for (let n = 0; n < 11; n += 1) trial.invoke(queue, {}, 60_000);
    expect(trial.invoke(queue, {}, 500).answers).toMatchObject([
      { refusal: { reason: 'est_wait', retryAfterSeconds: 1 } },
    ]);
    expect(trial.invoke(queue, {}, 2_000).answers).toEqual([]);
  });

  it('gives the place of a caller that left to the next one', async () => {
    const trial = new EngineTrial();
    const queue = await trial.register('f', { concurrency: 1, queueSize: 1, timeoutMs: 5_000 });
    trial.invoke(queue, {}, 5_000);
    const { leave } = trial.invoke(queue, {}, 5_000);
    leave();
    const third = trial.invoke(queue, { payload: { json: '3' } }, 5_000);
    await trial.last.end();
    expect([trial.last.attempt.accepted.payload.json, third.answers]).toEqual(['3', []]);
  });

  it('is limited in bytes, all functions together', async () => {
    const trial = new EngineTrial({ maxBytes: 100 });
    const [one, other] = [await trial.register('f'), await trial.register('g')];
    const large = { payload: { json: JSON.stringify('x'.repeat(60)) } };
    trial.invoke(one, large);
    expect(trial.invoke(other, large).answers).toMatchObject([{ refusal: { reason: 'bytes' } }]);
    await trial.last.end();
    expect(trial.invoke(other, large).answers).toEqual([]);
  });
});

describe('slots', () => {
  it('are limited by the definition of the function, also after it has changed', async () => {
    const trial = new EngineTrial();
    const queue = await trial.register('f', { concurrency: 2 });
    for (let n = 0; n < 6; n += 1) trial.invoke(queue, {}, 5_000);
    expect(trial.runs).toHaveLength(2);
    trial.patch(queue, { concurrency: 4 });
    expect(trial.runs).toHaveLength(4);
    trial.patch(queue, { concurrency: 1 });
    await trial.runs[0]?.end();
    expect(trial.runs).toHaveLength(4);
  });

  it('of the platform go to tenants in turn, and to each tenant’s functions in turn', async () => {
    const trial = new EngineTrial({ maxInFlight: 1 });
    const queues = [
      await trial.register('a1', { queueSize: 50 }),
      await trial.register('a2', { queueSize: 50 }),
      await trial.register('b1', { queueSize: 50 }, 'other' as TenantId),
    ];
    for (const queue of queues) for (let n = 0; n < 4; n += 1) trial.invoke(queue, {}, 60_000);
    for (let n = 0; n < 12; n += 1) await trial.runs[n]?.end();
    expect(nameOf(trial)).toEqual(['a1', 'a2', 'b1', 'a1', 'b1', 'a2', 'b1', 'a1', 'b1', 'a2', 'a1', 'a2']);
  });

  it('are never more than allowed, and every execution ends, in any order of events', async () => {
    const step = fc.oneof(
      fc.record({ do: fc.constant('call' as const), queue: fc.nat(2), durable: fc.boolean(), key: fc.nat(2) }),
      fc.record({ do: fc.constant('end' as const), run: fc.nat(30), how: fc.nat(4) }),
      fc.record({ do: fc.constant('wait' as const), ms: fc.nat(300) }),
      fc.record({ do: fc.constant('limit' as const), queue: fc.nat(2), concurrency: fc.integer({ min: 1, max: 4 }) }),
      fc.record({ do: fc.constant('cancel' as const), nth: fc.nat(20) }),
      fc.record({ do: fc.constant('drop' as const) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 80 }), async (steps) => {
        const trial = new EngineTrial({ maxInFlight: 5, maxBytes: 1_000_000, maxScheduled: 1 });
        const queues = await Promise.all(
          ['a', 'b', 'c'].map((name) => trial.register(name, { concurrency: 2, queueSize: 6 })),
        );
        const sent: ReturnType<EngineTrial['invoke']>[] = [];
        const ids: string[] = [];
        const dropped = new Set<string>();
        for (const one of steps) {
          const queue = 'queue' in one ? queues[one.queue] : undefined;
          const call = 'key' in one && one.key > 0 ? { concurrencyKey: String(one.key) } : {};
          if (one.do === 'call' && queue && one.durable)
            await trial.enqueue(queue, call).then(
              (id) => ids.push(id),
              () => undefined,
            );
          else if (one.do === 'call' && queue) sent.push(trial.invoke(queue, call, 500));
          else if (one.do === 'end') await trial.runs[one.run]?.end([ok, broken, thrown, ok, refused(50)][one.how]);
          else if (one.do === 'wait') await trial.clock.advance(one.ms);
          else if (one.do === 'limit' && queue) trial.patch(queue, { concurrency: one.concurrency });
          else if (one.do === 'drop') {
            const live = [...trial.engine.live.all()];
            for (const { accepted } of live) dropped.add(accepted.executionId);
            trial.engine.dropAll(live);
          } else if (one.do === 'cancel') {
            const live = trial.engine.live.get(ids[one.nth] ?? '');
            if (live) await trial.engine.cancel(live);
          }
          expect(trial.engine.runner.inFlight).toBeLessThanOrEqual(5);
          expect(trial.engine.runner.inFlight).toBe(queues.reduce((sum, { inFlight }) => sum + inFlight, 0));
          for (const { waiting, inFlight } of queues) expect(Math.min(waiting, inFlight)).toBeGreaterThanOrEqual(0);
        }
        for (let round = 0; round < 200 && trial.engine.live.size > 0; round += 1) {
          for (const run of trial.runs) await run.end(ok);
          await trial.clock.advance(1_000);
        }
        expect(trial.engine.live.size).toBe(0);
        const [empty] = queues;
        if (!empty) return expect.unreachable();
        // All bytes and the only place in the schedule are free again.
        for (const isDelayed of [false, true])
          expect(trial.engine.live.refusalOf(empty, { bytes: 1_000_000, isDelayed })).toBeUndefined();
        for (const { waiting, inFlight, heldKeys } of queues)
          expect([waiting, inFlight, heldKeys.size]).toEqual([0, 0, 0]);
        for (const { answers } of sent) expect(answers).toHaveLength(1);
        // Another replica runs what was dropped.
        for (const id of ids.filter((each) => !dropped.has(each)))
          expect(await trial.store.find(queues[0]?.tenantId ?? ('' as TenantId), id)).toBeDefined();
      }),
      { numRuns: 60 },
    );
  });
});

describe('a failed attempt', () => {
  it('is retried when it was transient, with a higher number, and every failure is recorded', async () => {
    const trial = new EngineTrial();
    const queue = await trial.register('f', { maxRetries: 2 });
    const id = await trial.enqueue(queue);
    for (let n = 0; n < 3; n += 1) {
      await trial.last.end(broken);
      await trial.clock.advance(20);
    }
    expect(trial.runs.map(({ attempt }) => attempt.number)).toEqual([1, 2, 3]);
    const stored = await trial.store.find(queue.tenantId, id);
    expect(stored?.outcome).toMatchObject({
      status: 'error',
      attempts: 3,
      deadLetter: true,
      error: { code: 'POOL_ERROR' },
    });
    expect(stored?.outcome.failures.map(({ attempt }) => attempt)).toEqual([1, 2, 3]);
    expect(queue.metrics).toMatchObject({ retried: 2, failed: 1 });
  });

  it('of the handler is not retried unless the function asks for it', async () => {
    const trial = new EngineTrial();
    const plain = await trial.register('f');
    const eager = await trial.register('g', { retry: { ...plain.definition.retry, handlerErrors: true } });
    await trial.enqueue(plain);
    await trial.last.end(thrown);
    await trial.clock.advance(50);
    expect(nameOf(trial)).toEqual(['f']);
    await trial.enqueue(eager);
    await trial.last.end(thrown);
    await trial.clock.advance(50);
    expect(nameOf(trial)).toEqual(['f', 'g', 'g']);
  });

  it('that timed out is over: its late answer is not taken for that of the next', async () => {
    const trial = new EngineTrial();
    const queue = await trial.register('f', { timeoutMs: 100 });
    const id = await trial.enqueue(queue);
    await trial.clock.advance(150);
    expect(trial.runs.map(({ attempt }) => attempt.number)).toEqual([1, 2]);
    await trial.runs[0]?.end({ kind: 'success', output: { json: '"late"' } });
    expect(trial.engine.complete(id, 1, { kind: 'success', output: { json: '"late"' } })).toBe(false);
    await trial.runs[1]?.end({ kind: 'success', output: { json: '"right"' } });
    expect((await trial.store.find(queue.tenantId, id))?.outcome.output).toEqual({ json: '"right"' });
  });

  it('whose time limit passed while the process was paused is ended by an answer that arrived meanwhile', async () => {
    const trial = new EngineTrial();
    const queue = await trial.register('f', { timeoutMs: 1_000, concurrency: 2, maxRetries: 0 });
    const [answered, silent] = [await trial.enqueue(queue), await trial.enqueue(queue)];
    trial.clock.pause(20_000);
    await trial.clock.advance(0);
    await trial.runs[0]?.end();
    await trial.clock.advance(1_000);
    const ends = await Promise.all([answered, silent].map((id) => trial.store.find(queue.tenantId, id)));
    expect(ends.map((end) => end?.outcome.status)).toEqual(['success', 'timeout']);
  });

  it('is not retried for a caller that has left', async () => {
    const trial = new EngineTrial();
    const queue = await trial.register('f', { timeoutMs: 100 });
    const { answers } = trial.invoke(queue, {}, 100);
    await trial.clock.advance(500);
    expect(answers).toMatchObject([{ kind: 'overdue' }]);
    expect([trial.runs.length, trial.engine.live.size]).toEqual([1, 0]);
    expect([...trial.engine.recent.all()]).toMatchObject([{ status: 'timeout' }]);
  });
});

describe('an execution', () => {
  it('that is handed over is ended by its completion, or by its deadline', async () => {
    const trial = new EngineTrial();
    const queue = await trial.register('f', { concurrency: 2, maxRetries: 0 });
    const [one, other] = [await trial.enqueue(queue), await trial.enqueue(queue)];
    for (const run of trial.runs) await run.end({ kind: 'handed-over' });
    expect(queue.inFlight).toBe(2);
    expect(trial.engine.complete(one, 1, ok)).toBe(true);
    await trial.clock.advance(1_000);
    const ends = await Promise.all([one, other].map((id) => trial.store.find(queue.tenantId, id)));
    expect(ends.map((end) => end?.outcome.status)).toEqual(['success', 'timeout']);
    expect(trial.runs.map(({ abandoned }) => abandoned)).toEqual([['completed'], ['timeout']]);
  });

  it('starts at its time and not before, and takes no place until then', async () => {
    const trial = new EngineTrial({ maxScheduled: 1 });
    const queue = await trial.register('f', { queueSize: 1 });
    await trial.enqueue(queue, { runAt: trial.clock.now() + 5_000 });
    expect(queue.waiting).toBe(0);
    await expect(trial.enqueue(queue, { runAt: trial.clock.now() + 9_000 })).rejects.toThrow(
      /limit of 1 delayed executions/,
    );
    await trial.clock.advance(4_990);
    expect(trial.runs).toHaveLength(0);
    await trial.clock.advance(20);
    expect(trial.runs).toHaveLength(1);
    await trial.enqueue(queue, { runAt: trial.clock.now() + 9_000 });
  });

  it('can be cancelled while it waits, for its turn or its time, and while it runs', async () => {
    const trial = new EngineTrial();
    const queue = await trial.register('f', { concurrency: 1 });
    const running = await trial.enqueue(queue);
    const waiting = await trial.enqueue(queue);
    const later = await trial.enqueue(queue, { runAt: trial.clock.now() + 1_000 });
    for (const id of [later, waiting, running]) {
      const live = trial.engine.live.get(id);
      if (!live) return expect.unreachable();
      expect(await trial.engine.cancel(live)).toMatchObject({ kind: 'ended', outcome: { status: 'cancelled' } });
    }
    await trial.clock.advance(2_000);
    expect([trial.runs.length, trial.runs[0]?.abandoned, queue.waiting, queue.inFlight]).toEqual([
      1,
      ['cancelled'],
      0,
      0,
    ]);
  });

  it('that has not ended after its lifetime ends as expired', async () => {
    const trial = new EngineTrial({ ttlMs: 10_000_000 });
    await trial.engine.start();
    const queue = await trial.register('f', { concurrency: 1, timeoutMs: 290_000, maxRetries: 100, queueSize: 5 });
    const ids = [await trial.enqueue(queue), await trial.enqueue(queue), await trial.enqueue(queue)];
    await trial.clock.advance(602_000);
    const ends = await Promise.all(ids.map((id) => trial.store.find(queue.tenantId, id)));
    expect(ends.map((end) => end?.outcome.error?.code)).toEqual(['EXECUTION_EXPIRED', 'EXECUTION_EXPIRED', undefined]);
    await trial.engine.stop();
    expect(trial.clock.pending).toBe(0);
  });

  it('reports its end when it has a callback URL', async () => {
    const trial = new EngineTrial();
    const queue = await trial.register('f');
    await trial.enqueue(queue, { callbackUrl: 'http://there' });
    await trial.enqueue(queue);
    await trial.runs[0]?.end();
    await trial.last.end();
    expect(trial.results).toMatchObject([
      { accepted: { callbackUrl: 'http://there' }, outcome: { status: 'success' } },
    ]);
  });

  it('that cannot be stored is not accepted, and leaves nothing behind', async () => {
    const trial = new EngineTrial();
    const queue = await trial.register('f');
    trial.store.accept = () => Promise.reject(new Error('no disk'));
    await expect(trial.enqueue(queue, { idempotencyKey: 'k' })).rejects.toMatchObject({
      code: 'EXECUTION_NOT_KEPT',
      status: 503,
    });
    const { answers } = trial.invoke(queue, { idempotencyKey: 'k' });
    await settled();
    expect(answers).toMatchObject([{ kind: 'refused', refusal: { error: { code: 'EXECUTION_NOT_KEPT' } } }]);
    expect([trial.engine.live.size, queue.waiting, trial.engine.keyed.index.size, trial.clock.pending]).toEqual([
      0, 0, 0, 0,
    ]);
  });

  it('that is being stored is not accepted for a second caller before it is', async () => {
    const trial = new EngineTrial();
    const queue = await trial.register('f');
    const accept = trial.store.accept.bind(trial.store);
    let open: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => (open = resolve));
    trial.store.accept = (invocations) => gate.then(() => accept(invocations));
    const answered: string[] = [];
    for (const _ of [1, 2]) void trial.enqueue(queue, { idempotencyKey: 'k' }).then((id) => answered.push(id));
    await settled();
    expect(answered).toEqual([]);
    open();
    await settled();
    expect([answered.length, new Set(answered).size, trial.runs.length]).toEqual([2, 1, 1]);
  });

  it('is refused when the store does not confirm it in time, and does not run when it is stored afterwards', async () => {
    const trial = new EngineTrial();
    const queue = await trial.register('f', { concurrency: 5 });
    const stored = trial.store.accept.bind(trial.store);
    const late: (() => Promise<void>)[] = [];
    trial.store.accept = (calls) => new Promise((resolve) => late.push(() => stored(calls).then(resolve)));
    const refused = { refusal: { error: { code: 'EXECUTION_NOT_KEPT_YET', status: 503 }, retryAfterSeconds: 1 } };
    const keyed = { payload: { json: '1' }, idempotencyKey: 'k' };
    const one = trial.engine.enqueue(queue, { payload: { json: '1' } });
    const delayed = trial.engine.enqueue(queue, { payload: { json: '1' }, runAt: trial.clock.now() + 60_000 });
    const duplicate = [trial.engine.enqueue(queue, keyed), trial.engine.enqueue(queue, keyed)];
    const batch = trial.engine.enqueueAll(queue, [keyed, { payload: { json: '2' } }]).catch((error: unknown) => error);
    const waiting = trial.invoke(queue, { idempotencyKey: 'other' }, 60_000);
    await trial.clock.advance(confirmWithinMs - 1);
    expect(waiting.answers).toEqual([]);
    await trial.clock.advance(1);
    expect(await Promise.all([one, delayed, ...duplicate])).toMatchObject([refused, refused, refused, refused]);
    expect(await batch).toMatchObject(refused.refusal.error);
    expect(waiting.answers).toMatchObject([{ kind: 'refused', ...refused }]);
    // Their callers send them again, and these run.
    trial.store.accept = stored;
    for (const store of late) await store();
    await settled();
    expect(trial.runs).toEqual([]);
    const again = await trial.enqueue(queue, { idempotencyKey: 'k' });
    expect(trial.runs.map(({ attempt }) => attempt.accepted.executionId)).toEqual([again]);
    await trial.last.end();
    expect([trial.engine.live.size, queue.waiting, trial.engine.keyed.index.size]).toEqual([0, 0, 1]);
  });

  it('that was refused for one caller runs when it is confirmed in time for another with the same key', async () => {
    const trial = new EngineTrial();
    const queue = await trial.register('f', { concurrency: 5 });
    let keep: () => void = () => undefined;
    trial.store.accept = () => new Promise((resolve) => (keep = resolve));
    const first = trial.engine.enqueue(queue, { payload: { json: '1' }, idempotencyKey: 'k' });
    await trial.clock.advance(confirmWithinMs - 1);
    const second = trial.enqueue(queue, { idempotencyKey: 'k' });
    const waiting = trial.invoke(queue, { idempotencyKey: 'k' }, 60_000);
    await trial.clock.advance(1);
    expect(await first).toMatchObject({ refusal: { error: { code: 'EXECUTION_NOT_KEPT_YET' } } });
    keep();
    await settled();
    expect(trial.runs).toHaveLength(1);
    expect(await second).toBe(trial.last.attempt.accepted.executionId);
    await trial.last.end();
    expect(waiting.answers).toMatchObject([{ kind: 'ended' }]);
  });

  it('with a key is no promise to a caller whose time ends before it is stored', async () => {
    const trial = new EngineTrial();
    const queue = await trial.register('f');
    let keep: () => void = () => undefined;
    trial.store.accept = () => new Promise((resolve) => (keep = resolve));
    const { answers } = trial.invoke(queue, { idempotencyKey: 'k' }, 1_000);
    await trial.clock.advance(1_000);
    expect(answers).toMatchObject([{ kind: 'refused', refusal: { error: { code: 'EXECUTION_NOT_KEPT_YET' } } }]);
    keep();
    await settled();
    expect([trial.runs, trial.engine.live.size]).toEqual([[], 0]);
  });

  it('is known to no reader before it is stored', async () => {
    const trial = new EngineTrial();
    const queue = await trial.register('f');
    trial.store.accept = () => new Promise(() => undefined);
    void trial.engine.enqueue(queue, { payload: { json: '1' } });
    await settled();
    expect([...trial.engine.live.all()].map(({ isAccepted }) => isAccepted)).toEqual([false]);
  });

  it('of a removed function ends when it waits, and may finish when it runs', async () => {
    const trial = new EngineTrial();
    const queue = await trial.register('f', { concurrency: 1 });
    const [running, waiting] = [await trial.enqueue(queue), await trial.enqueue(queue)];
    trial.remove(queue);
    await settled();
    expect((await trial.store.find(queue.tenantId, waiting))?.outcome.error?.code).toBe('FUNCTION_REMOVED');
    await trial.last.end();
    expect((await trial.store.find(queue.tenantId, running))?.outcome.status).toBe('success');
    expect(trial.invoke(queue, {}).answers).toMatchObject([
      { refusal: { error: { code: 'FUNCTION_REMOVAL_PENDING' } } },
    ]);
  });
});
