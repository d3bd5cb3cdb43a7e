import { retryDefaults } from '../functions/resolve-function.js';
import { describe, expect, it } from 'vitest';
import { away, broken, EngineTrial, ok, refused, settled } from './testing/engine-trial.js';

/** Answers as an endpoint that is away until `backMs`, behind a breaker that opens after five failures for 500 ms, then for longer. */
function goAway(trial: EngineTrial, backMs: number): { readonly refusals: () => number } {
  let [failures, openUntilMs, pauseMs, refusals] = [0, 0, 500, 0];
  trial.dispatcher.respond = () => {
    const nowMs = trial.clock.monotonicMs();
    if (nowMs < openUntilMs) {
      refusals += 1;
      return refused(openUntilMs - nowMs);
    }
    if (nowMs >= backMs) return ok;
    failures += 1;
    if (failures >= 5) [openUntilMs, pauseMs] = [nowMs + pauseMs, Math.min(15_000, pauseMs * 2)];
    return away;
  };
  return { refusals: () => refusals };
}

describe('asynchronous work whose endpoint is away', () => {
  it.each([1_000, 5_000, 15_000, 3_600_000])('for %i ms succeeds, every one of it', async (awayMs) => {
    const trial = new EngineTrial({ ttlMs: 86_400_000, storeBytes: 10_000_000, lifetimeMs: 86_400_000 });
    const queue = await trial.register('f', { concurrency: 4, queueSize: 200, maxRetries: 3, retry: retryDefaults });
    const { refusals } = goAway(trial, awayMs);
    const ids = [];
    for (let n = 0; n < 100; n += 1) ids.push(await trial.enqueue(queue));
    for (let minute = 0; minute < 70 && trial.engine.live.size > 0; minute += 1) await trial.clock.advance(60_000);
    const ends = await Promise.all(ids.map((id) => trial.store.find(queue.tenantId, id)));
    expect(ends.filter((end) => end?.outcome.status !== 'success')).toEqual([]);
    expect(refusals()).toBeGreaterThan(0);
    // An attempt that the breaker refused is neither counted nor recorded.
    for (const end of ends) expect(end?.outcome.attempts).toBe((end?.outcome.failures.length ?? 0) + 1);
    expect([queue.waiting, queue.inFlight]).toEqual([0, 0]);
  });

  it('keeps its place at the head of the queue, which asks once per pause', async () => {
    const trial = new EngineTrial();
    const queue = await trial.register('f', { concurrency: 1, queueSize: 10 });
    let calls = 0;
    trial.dispatcher.respond = () => ((calls += 1), refused(1_000));
    const first = await trial.enqueue(queue);
    const second = await trial.enqueue(queue);
    await trial.clock.advance(4_500);
    expect(calls).toBe(5);
    expect([queue.waiting, queue.inFlight, trial.engine.live.get(first)?.attempts]).toEqual([2, 0, 0]);
    trial.dispatcher.respond = undefined;
    await trial.clock.advance(1_000);
    expect(trial.last.attempt).toMatchObject({ number: 1, accepted: { executionId: first } });
    await trial.last.end();
    expect(trial.last.attempt.accepted.executionId).toBe(second);
  });

  it('goes on as soon as one attempt is answered', async () => {
    const trial = new EngineTrial();
    const queue = await trial.register('f', { concurrency: 2 });
    await trial.enqueue(queue);
    trial.dispatcher.respond = () => refused(60_000);
    await trial.enqueue(queue);
    trial.dispatcher.respond = undefined;
    await trial.enqueue(queue);
    expect([trial.runs.length, queue.waiting]).toEqual([1, 2]);
    await trial.runs[0]?.end();
    expect([trial.runs.length, queue.waiting]).toEqual([3, 0]);
  });

  it('goes on at once when the function is changed, for example gets another endpoint', async () => {
    const trial = new EngineTrial();
    const queue = await trial.register('f');
    trial.dispatcher.respond = () => refused(15_000);
    await trial.enqueue(queue);
    trial.dispatcher.respond = undefined;
    trial.patch(queue, { endpointUrl: 'http://other.test/' });
    expect([trial.runs.length, queue.waiting]).toEqual([1, 0]);
  });

  it('ends as a dead letter when its retry window is over, waiting or not', async () => {
    const trial = new EngineTrial({ ttlMs: 10_000_000 });
    await trial.engine.start();
    const retry = { ...retryDefaults, windowMs: 60_000 };
    const unreachable = await trial.register('f', { concurrency: 2, retry });
    trial.dispatcher.respond = () => away;
    const ids = [await trial.enqueue(unreachable), await trial.enqueue(unreachable)];
    const held = await trial.register('g', { concurrency: 1, retry });
    trial.dispatcher.respond = ({ definition }) => (definition.name === 'g' ? refused(15_000) : away);
    ids.push(await trial.enqueue(held), await trial.enqueue(held));
    await trial.clock.advance(80_000);
    const ends = await Promise.all(ids.map((id) => trial.store.find(held.tenantId, id)));
    expect(ends.map((end) => [end?.outcome.status, end?.outcome.deadLetter])).toEqual(ids.map(() => ['error', true]));
    expect(trial.engine.live.size).toBe(0);
    await trial.engine.stop();
  });

  it('counts attempts that the endpoint may have seen, also after a restart', async () => {
    const trial = new EngineTrial();
    const queue = await trial.register('f', { maxRetries: 1 });
    const id = await trial.enqueue(queue);
    for (const result of [away, away, away, broken]) {
      await trial.last.end(result);
      await trial.clock.advance(20);
    }
    // Another replica adopts it: one failure counts, three do not.
    const [unfinished] = (await trial.store.recover([queue.partition])).unfinished;
    if (!unfinished) return expect.unreachable();
    trial.engine.dropAll([...trial.engine.live.all()]);
    trial.engine.adopt(unfinished, queue);
    await trial.last.end(away);
    await trial.clock.advance(20);
    expect(await trial.store.find(queue.tenantId, id)).toBeUndefined();
    await trial.last.end(broken);
    expect((await trial.store.find(queue.tenantId, id))?.outcome).toMatchObject({ status: 'error', deadLetter: true });
  });

  it('with no retries reaches its endpoint once, whatever went before, and shows one attempt', async () => {
    const trial = new EngineTrial();
    const queue = await trial.register('f', { maxRetries: 0 });
    const id = await trial.enqueue(queue);
    for (let n = 0; n < 16; n += 1) {
      await trial.last.end({ ...away, wasNotSent: true });
      await trial.clock.advance(20);
    }
    expect([trial.runs.length, trial.last.attempt.number]).toEqual([17, 1]);
    await trial.last.end(broken);
    expect((await trial.store.find(queue.tenantId, id))?.outcome).toMatchObject({ status: 'error', attempts: 1 });
  });

  it.each([
    ['whose breaker is open', refused(15_000)],
    ['that asks for a long pause', { ...away, retryAfterMs: 30_000 }],
  ])('does not let a synchronous caller wait for an endpoint %s', async (_, result) => {
    const trial = new EngineTrial();
    const queue = await trial.register('f', { maxRetries: 3, retry: retryDefaults });
    trial.dispatcher.respond = () => result;
    const { answers } = trial.invoke(queue, {}, 30_000);
    await settled();
    expect(answers).toMatchObject([
      { kind: 'ended', outcome: { status: 'error', error: { code: 'POOL_ERROR' }, attempts: 1 } },
    ]);
  });

  it('does not let a synchronous caller wait longer than before', async () => {
    const trial = new EngineTrial();
    const queue = await trial.register('f', { maxRetries: 2, retry: retryDefaults });
    trial.dispatcher.respond = () => away;
    const { answers } = trial.invoke(queue);
    for (let n = 0; n < 3; n += 1) {
      await settled();
      await trial.clock.advance(10);
    }
    expect(answers).toMatchObject([{ kind: 'ended', outcome: { status: 'error', attempts: 3 } }]);
  });
});
