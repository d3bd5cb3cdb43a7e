import { getEventListeners } from 'node:events';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { LateDriver, type ScriptedConnection } from '../scripted-driver.test.fixture.js';
import { kind } from '../../types/wire-message.js';
import { SerializationError } from '../../types/errors.js';
import type { PoolOptions, WorkerPool } from '../../types/pool.js';
import { createPool } from './create-pool.js';

type Messages = Record<string, { payload?: unknown; result: unknown }>;

let pools: WorkerPool<Messages>[] = [];
// Not setImmediate: the end of a turn is what some tests are about.
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance'] });
});
afterEach(async () => {
  vi.useRealTimers();
  await Promise.all(pools.map((pool) => pool.close()));
  pools = [];
});

/** A pool whose workers the test plays. */
async function open(options: Partial<PoolOptions<Messages>> = {}) {
  const driver = new LateDriver();
  const pool = await createPool<Messages>({
    script: new URL('../../../fixtures/pool-worker.mjs', import.meta.url),
    driver,
    size: 1,
    minIdle: 0,
    concurrencyPerWorker: 4,
    idleTimeoutMs: 0,
    timeout: 0,
    logLevel: 'silent',
    ...options,
  });
  pools.push(pool);
  const call = (type: string) => {
    const request = pool.request(type);
    const outcome: { value?: unknown; error?: unknown } = {};
    request.answer.then(
      (value) => (outcome.value = value),
      (error: unknown) => (outcome.error = error),
    );
    return Object.assign(outcome, { cancel: (reason?: unknown) => request.cancel(reason) });
  };
  return { pool, driver, call };
}

/** Lets promises and the end of this turn of the event loop pass. */
const turn = async (): Promise<void> => {
  for (let step = 0; step < 3; step += 1) await new Promise((resolve) => setImmediate(resolve));
};
const types = ({ requests }: ScriptedConnection): string[] => requests.map(({ type }) => type);
const acknowledge = (connection: ScriptedConnection, type: string): void =>
  connection.say([kind.cancelled, connection.idOf(type)]);

describe('a pool that batches', () => {
  it('sends the requests of one turn together, at its end', async () => {
    const { driver, call } = await open({ batch: true });
    call('first');
    await turn();
    expect(types(driver.last)).toEqual(['first']);
    call('second');
    call('third');
    expect(types(driver.last)).toEqual(['first']);
    await turn();
    expect(types(driver.last)).toEqual(['first', 'second', 'third']);
  });

  it('never sends a request that was cancelled in the same turn, or while it waited for a worker', async () => {
    const { pool, driver, call } = await open({ batch: true });
    driver.startsByItself = false;
    const early = call('early');
    early.cancel('never mind');
    call('kept');
    driver.last.say([kind.ready]);
    await turn();
    const late = call('late');
    late.cancel();
    await turn();
    expect(types(driver.last)).toEqual(['kept']);
    expect([early.error, late.error]).toEqual(['never mind', expect.objectContaining({ name: 'AbortError' })]);
    driver.last.answer('kept', 1);
    await turn();
    expect(pool.stats()).toMatchObject({ idle: 1, busy: 0, pending: 0, abandoned: 0 });
  });
});

describe('a cancelled request', () => {
  it('occupies its worker until the handler has ended, but leaves its room to others', async () => {
    const { pool, driver, call } = await open({ concurrencyPerWorker: 1 });
    const given = call('given');
    await turn();
    given.cancel('late');
    await turn();
    expect(given.error).toBe('late');
    expect(driver.last.sent.at(-1)).toEqual([kind.cancel, driver.last.idOf('given')]);
    expect(pool.stats()).toMatchObject({ idle: 0, busy: 0, abandoned: 1 });
    const next = call('next');
    await turn();
    driver.last.answer('next', 2);
    driver.last.answer('given', 1);
    await turn();
    expect(next.value).toBe(2);
    expect(pool.stats()).toMatchObject({ idle: 1, abandoned: 0 });
  });

  it('does not delay a drain', async () => {
    const { pool, driver, call } = await open();
    call('given').cancel();
    const wanted = call('wanted');
    await turn();
    let isDrained = false;
    void pool.drain().then(() => (isDrained = true));
    await turn();
    expect(isDrained).toBe(false);
    driver.last.answer('wanted', 1);
    await turn();
    expect([isDrained, wanted.value]).toEqual([true, 1]);
  });

  it('retires its worker when the handler goes on for too long; wanted requests are answered first', async () => {
    const { driver, call } = await open({ cancellation: { finishMs: 1_000 } });
    const ignoring = call('ignoring');
    const wanted = call('wanted');
    await turn();
    const [old] = driver.connections;
    ignoring.cancel();
    acknowledge(driver.last, 'ignoring');
    await vi.advanceTimersByTimeAsync(1_000);
    const next = call('next');
    await turn();
    expect(driver.connections).toHaveLength(2);
    old?.answer('wanted', 1);
    await turn();
    expect(wanted.value).toBe(1);
    expect(old?.isOver).toBe(true);
    driver.last.answer('next', 2);
    await turn();
    expect(next.value).toBe(2);
  });

  it('leaves its worker alone when the handler ends in time', async () => {
    const { driver, call, pool } = await open({ cancellation: { acknowledgeMs: 100, finishMs: 1_000 } });
    call('given').cancel();
    await turn();
    call('again').cancel();
    await turn();
    acknowledge(driver.last, 'again');
    driver.last.answer('again', 1);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(pool.stats()).toMatchObject({ size: 1, idle: 1, restarts: 0 });
  });
});

describe('a worker that does not acknowledge a cancellation', () => {
  it('is killed and restarted; what it had not begun runs again, the rest fails as after a crash', async () => {
    const onUnresponsive = vi.fn();
    const { driver, call } = await open({ cancellation: { acknowledgeMs: 100 }, events: { onUnresponsive } });
    const spinning = call('spinning');
    const begun = call('begun');
    const behind = call('behind');
    await turn();
    const [old] = driver.connections;
    old?.start('spinning', 'begun');
    spinning.cancel();
    await vi.advanceTimersByTimeAsync(99);
    expect(old?.killed).toBe(0);
    await vi.advanceTimersByTimeAsync(1);
    await turn();
    expect(old?.killed).toBe(1);
    expect(onUnresponsive).toHaveBeenCalledOnce();
    expect(begun.error).toMatchObject({ code: 'ERR_WORKER_CRASHED', endedByHost: true });
    expect(types(driver.last)).toEqual(['behind']);
    driver.last.answer('behind', 3);
    await turn();
    expect(behind.value).toBe(3);
  });

  it('is spared while an older request has its caller, but gets no others; both end with that caller', async () => {
    const { pool, driver, call } = await open({ cancellation: { acknowledgeMs: 100 } });
    const older = call('older');
    const spinning = call('spinning');
    await turn();
    const [old] = driver.connections;
    spinning.cancel();
    await vi.advanceTimersByTimeAsync(100);
    await turn();
    expect(old?.killed).toBe(0);
    call('next');
    await turn();
    expect(types(driver.last)).toEqual(['next']);
    expect(driver.connections).toHaveLength(2);
    older.cancel();
    await vi.advanceTimersByTimeAsync(100);
    await turn();
    expect(old?.killed).toBe(1);
    expect(pool.stats().abandoned).toBe(0);
  });

  it('gets requests again once it has answered', async () => {
    const { driver, call } = await open({ cancellation: { acknowledgeMs: 100 } });
    call('older');
    const slow = call('slow');
    await turn();
    slow.cancel();
    await vi.advanceTimersByTimeAsync(100);
    driver.last.answer('older', 1);
    call('next');
    await turn();
    expect(types(driver.last)).toEqual(['older', 'slow', 'next']);
    expect(driver.connections).toHaveLength(1);
  });
});

describe('a pool without limits for cancelled requests', () => {
  it('replaces a worker that is stuck in one, and reports it', async () => {
    const onUnresponsive = vi.fn();
    const { driver, call } = await open({ concurrencyPerWorker: 1, events: { onUnresponsive } });
    const spinning = call('spinning');
    await turn();
    spinning.cancel();
    const behind = call('behind');
    await turn();
    expect(types(driver.last)).toEqual(['spinning', 'behind']);
    await vi.advanceTimersByTimeAsync(5_000);
    await turn();
    expect(onUnresponsive).toHaveBeenCalledOnce();
    expect(types(driver.last)).toEqual(['behind']);
    driver.last.answer('behind', 1);
    await turn();
    expect(behind.value).toBe(1);
  });
});

describe('a pool whose workers do not start', () => {
  it('rejects what waits, says for how long, and tries again then', async () => {
    const onUnavailable = vi.fn();
    const { pool, driver, call } = await open({
      replacement: { max: 0, periodMs: 1_000 },
      events: { onUnavailable },
    });
    driver.refusal = new Error('no processes left');
    const waiting = call('waiting');
    await vi.waitFor(() => expect(waiting.error).toBeDefined());
    expect(waiting.error).toMatchObject({ code: 'ERR_WORKER_UNAVAILABLE', cause: driver.refusal });
    expect(onUnavailable).toHaveBeenCalledWith(expect.objectContaining({ cause: driver.refusal }), 1_000);
    driver.refusal = undefined;
    await expect(pool.send('refused')).rejects.toMatchObject({ code: 'ERR_WORKER_UNAVAILABLE' });
    await vi.advanceTimersByTimeAsync(1_000);
    const later = call('later');
    await turn();
    driver.last.answer('later', 1);
    await turn();
    expect(later.value).toBe(1);
  });
});

describe('a pool whose worker cannot be started again', () => {
  it('replaces it later, and the request that waits is answered', async () => {
    const { driver, call } = await open({ restart: { max: 1 }, replacement: { max: 5, delayMs: 100 } });
    const first = call('first');
    await turn();
    driver.refusal = new Error('EAGAIN');
    driver.last.start('first');
    driver.last.die();
    const waiting = call('waiting');
    await turn();
    expect(first.error).toMatchObject({ code: 'ERR_WORKER_CRASHED' });
    driver.refusal = undefined;
    await vi.advanceTimersByTimeAsync(1_000);
    await turn();
    driver.last.answer('waiting', 1);
    await turn();
    expect(waiting.value).toBe(1);
  });
});

describe('requests that wait for a worker of a pool', () => {
  it('fail one after the other when they cannot be serialized, and those behind them are answered', async () => {
    const { pool, driver, call } = await open({ concurrencyPerWorker: 1 });
    const good = call('good');
    await turn();
    const { last } = driver;
    const send = last.send.bind(last);
    last.send = (message) => {
      if (message[2] === 'bad') throw new SerializationError('A function cannot be cloned.');
      send(message);
    };
    const bad = Array.from({ length: 3_000 }, () => call('bad'));
    const behind = call('behind');
    last.answer('good', 1);
    await turn();
    last.answer('behind', 2);
    await turn();
    expect([good.value, behind.value]).toEqual([1, 2]);
    expect(bad.filter(({ error }) => error instanceof SerializationError)).toHaveLength(3_000);
    expect(pool.stats()).toMatchObject({ busy: 0, pending: 0 });
  });

  it('fail alone when the id or the trace context of a request cannot be made', async () => {
    const { driver, call } = await open({
      concurrencyPerWorker: 1,
      txIdGenerator: ({ type }) => {
        if (type === 'bad') throw new Error('no id');
        return type;
      },
    });
    const [good, bad, behind] = [call('good'), call('bad'), call('behind')];
    await turn();
    driver.last.answer('good', 1);
    await turn();
    driver.last.answer('behind', 2);
    await turn();
    expect([good.value, bad.error, behind.value]).toEqual([1, new Error('no id'), 2]);
  });

  it('are rejected without blocking the event loop when the pool is closed, and before it is', async () => {
    const { pool, call } = await open({ concurrencyPerWorker: 1 });
    const calls = Array.from({ length: 3_000 }, () => call('waiting'));
    const rejected = (): number => calls.filter(({ error }) => error !== undefined).length;
    const closing = pool.close();
    const drained = pool.drain();
    await new Promise((resolve) => setImmediate(resolve));
    expect(rejected()).toBeLessThanOrEqual(2_000);
    expect(pool.stats().pending).toBeGreaterThan(0);
    await Promise.all([closing, drained]);
    expect([rejected(), pool.stats().pending]).toEqual([3_000, 0]);
  });

  it('leave in the order of their priority', async () => {
    const { pool, driver } = await open({ concurrencyPerWorker: 1 });
    const send = (type: string, priority?: number): Promise<unknown> =>
      pool.send(type, undefined, priority === undefined ? {} : { priority });
    const answers = [send('first'), send('low', -1), send('normal'), send('high', 2), send('also high', 2)];
    await turn();
    for (const type of ['high', 'also high', 'first', 'normal', 'low']) {
      expect(types(driver.last).at(-1)).toBe(type);
      driver.last.answer(type, type);
      await turn();
    }
    expect(await Promise.all(answers)).toEqual(['first', 'low', 'normal', 'high', 'also high']);
  });

  it('add one listener to a signal that they share, in the queue and with a worker', async () => {
    const { pool } = await open();
    const controller = new AbortController();
    const { signal } = controller;
    const answers = Array.from({ length: 20 }, () => pool.send('shared', undefined, { signal }));
    await turn();
    const drained = pool.drain(signal);
    expect(getEventListeners(signal, 'abort')).toHaveLength(1);
    controller.abort();
    await drained;
    const settled = await Promise.allSettled(answers);
    expect(settled.every((answer) => answer.status === 'rejected' && answer.reason === signal.reason)).toBe(true);
    expect(getEventListeners(signal, 'abort')).toHaveLength(0);
  });

  it('reject with the very reason of a signal that is aborted already', async () => {
    const { pool } = await open();
    const reason = { code: 42 };
    await expect(pool.send('never', undefined, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  });
});

it('the times of a pool are those of all its workers, with the time in its queue', async () => {
  const { pool, driver, call } = await open({ size: 2, concurrencyPerWorker: 1 });
  const [first, second] = [call('first'), call('second')];
  await turn();
  const third = call('third');
  const given = call('given up');
  await vi.advanceTimersByTimeAsync(10);
  given.cancel();
  for (const connection of driver.connections) for (const type of types(connection)) connection.answer(type, 1);
  await turn();
  await vi.advanceTimersByTimeAsync(5);
  for (const connection of driver.connections) if (types(connection).includes('third')) connection.answer('third', 3);
  await turn();
  expect([first.value, second.value, third.value]).toEqual([1, 1, 3]);
  expect(pool.times.wait).toMatchObject({ count: 4, minMs: 0, meanMs: 5, maxMs: 10 });
  expect(pool.times.run).toMatchObject({ count: 3, minMs: 5, maxMs: 10 });
});

describe('the limits of a pool', () => {
  it('can be changed: waiting requests get the room at once', async () => {
    const { pool, driver, call } = await open({ concurrencyPerWorker: 1 });
    call('a');
    call('b');
    call('c');
    await turn();
    expect(pool.stats()).toMatchObject({ size: 1, busy: 1, pending: 2 });
    pool.resize({ concurrencyPerWorker: 2 });
    await turn();
    expect(types(driver.last)).toEqual(['a', 'b']);
    pool.resize({ size: 2 });
    await turn();
    expect(types(driver.last)).toEqual(['c']);
    expect(() => pool.resize({ size: 0 })).toThrow(/size is 0/);
  });

  it('keep workers alive although they are idle', async () => {
    const { pool, driver, call } = await open({ size: 2, minSize: 1, concurrencyPerWorker: 1, idleTimeoutMs: 1_000 });
    call('a');
    call('b');
    await turn();
    for (const connection of driver.connections) connection.answer(types(connection)[0] ?? '', 1);
    await turn();
    await vi.advanceTimersByTimeAsync(5_000);
    expect(pool.stats().size).toBe(1);
  });
});
