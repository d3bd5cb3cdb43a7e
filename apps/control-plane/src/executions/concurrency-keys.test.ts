import { describe, expect, it } from 'vitest';
import { broken, EngineTrial, settled } from './testing/engine-trial.js';

const of = (concurrencyKey: string, n: number) => ({ concurrencyKey, payload: { json: String(n) } });
const started = (trial: EngineTrial): string[] => trial.runs.map(({ attempt }) => attempt.accepted.payload.json);

describe('executions with a concurrency key', () => {
  it('run one after the other, in the order of acceptance, beside those with other keys and with none', async () => {
    const trial = new EngineTrial();
    const queue = await trial.register('f', { concurrency: 10, queueSize: 10 });
    for (const [key, n] of [
      ['a', 1],
      ['a', 2],
      ['b', 3],
      ['a', 4],
    ] as const)
      await trial.enqueue(queue, of(key, n));
    await trial.enqueue(queue, { payload: { json: '5' } });
    expect([started(trial), queue.waiting]).toEqual([['1', '3', '5'], 2]);
    await trial.runs[0]?.end();
    expect([started(trial).slice(3), queue.waiting]).toEqual([['2'], 1]);
    await trial.last.end();
    await trial.last.end();
    expect(started(trial)).toEqual(['1', '3', '5', '2', '4']);
    for (const run of trial.runs) await run.end();
    expect([queue.heldKeys.size, queue.inFlight, queue.waiting]).toEqual([0, 0, 0]);
  });

  it('wait while the one before them is retried', async () => {
    const trial = new EngineTrial();
    const queue = await trial.register('f', { concurrency: 10 });
    await trial.enqueue(queue, of('a', 1));
    await trial.enqueue(queue, of('a', 2));
    await trial.last.end(broken);
    expect(started(trial)).toEqual(['1']);
    await trial.clock.advance(20);
    await trial.last.end();
    expect(started(trial)).toEqual(['1', '1', '2']);
  });

  it('may be synchronous, and go on when one is cancelled, leaves or is dropped', async () => {
    const trial = new EngineTrial();
    const queue = await trial.register('f', { concurrency: 10 });
    const running = await trial.enqueue(queue, of('a', 1));
    const { leave } = trial.invoke(queue, of('a', 2));
    const cancelled = trial.engine.live.get(await trial.enqueue(queue, of('a', 3)));
    const last = trial.invoke(queue, of('a', 4));
    leave();
    if (cancelled) await trial.engine.cancel(cancelled);
    const live = trial.engine.live.get(running);
    if (live) trial.engine.drop(live);
    expect(started(trial)).toEqual(['1', '4']);
    await trial.last.end();
    expect(last.answers).toMatchObject([{ kind: 'ended' }]);
    await settled();
    expect([queue.heldKeys.size, queue.waiting, queue.inFlight]).toEqual([0, 0, 0]);
  });

  it('that waited for their key longer than the lifetime of an execution expire', async () => {
    const trial = new EngineTrial({ ttlMs: 10_000_000, lifetimeMs: 10_000 });
    await trial.engine.start();
    const queue = await trial.register('f', { concurrency: 10, timeoutMs: 60_000, maxRetries: 0 });
    await trial.enqueue(queue, of('a', 1));
    const waiting = await trial.enqueue(queue, of('a', 2));
    await trial.clock.advance(12_000);
    expect((await trial.store.find(queue.tenantId, waiting))?.outcome.error?.code).toBe('EXECUTION_EXPIRED');
    await trial.last.end();
    expect([started(trial), queue.waiting]).toEqual([['1'], 0]);
    await trial.engine.stop();
  });
});
