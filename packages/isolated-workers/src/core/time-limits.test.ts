import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { RequestTimeoutError, WorkerCrashedError } from '../types/errors.js';
import type { PoolOptions } from '../types/pool.js';
import { createWorker } from './create-worker.js';
import { createPool } from './pool/create-pool.js';
import { LateDriver } from './scripted-driver.test.fixture.js';
import { fixture, type Loose } from './test-bench.test.fixture.js';

let driver: LateDriver;
const opened: { close(): Promise<void> }[] = [];

beforeEach(() => {
  driver = new LateDriver();
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance'] });
});
afterEach(async () => {
  await Promise.all(opened.splice(0).map((client) => client.close()));
  vi.useRealTimers();
});

const clients = [
  { name: 'worker', create: createWorker<Loose> },
  { name: 'pool', create: (options: PoolOptions<Loose>) => createPool<Loose>({ size: 1, ...options }) },
];

/** Opens a client whose worker the test plays, with up to three attempts. */
async function open({ create }: (typeof clients)[number], timeout: PoolOptions<Loose>['timeout'] = 100) {
  const options = {
    script: fixture('worker.mjs'),
    driver,
    logLevel: 'silent',
    restart: { delayMs: 1 },
    timeout,
  } as const;
  const client = await create({ ...options, unexpectedShutdown: { strategy: 'retry', attempts: 3 } });
  opened.push(client);
  return client;
}

/** Collects how a request ends. */
function watch(answer: Promise<unknown>): { value?: unknown; error?: unknown } {
  const outcome: { value?: unknown; error?: unknown } = {};
  answer.then(
    (value) => (outcome.value = value),
    (error: unknown) => (outcome.error = error),
  );
  return outcome;
}

/** Kills the worker while it runs 'work', and waits for the next one to have it. */
async function crash(): Promise<void> {
  const lives = driver.connections.length;
  driver.last.start('work');
  driver.last.die();
  for (let step = 0; step < 3; step += 1) {
    await new Promise((resolve) => setImmediate(resolve)); // a restart that is due at once begins in the next turn
    await vi.advanceTimersByTimeAsync(1); // a second restart is due after `delayMs`
  }
  expect(driver.connections.slice(lives).at(-1)?.requests).toMatchObject([{ type: 'work' }]);
}

describe.each(clients)('the time limit of a request of a $name', (kind) => {
  it('counts anew for every attempt', async () => {
    const outcome = watch((await open(kind)).send('work'));
    await vi.advanceTimersByTimeAsync(80);
    await crash();
    await vi.advanceTimersByTimeAsync(80);
    expect(outcome).toEqual({});
    await crash();
    await vi.advanceTimersByTimeAsync(80);
    driver.last.answer('work', 'late, but in time');
    await vi.advanceTimersByTimeAsync(0);
    expect(outcome).toEqual({ value: 'late, but in time' });
  });

  it('ends an attempt that takes too long, the second one as well', async () => {
    const client = await open(kind, { request: 1_000, byType: { work: 100 } });
    const outcome = watch(client.send('work'));
    await vi.advanceTimersByTimeAsync(80);
    await crash();
    await vi.advanceTimersByTimeAsync(90);
    expect(outcome).toEqual({});
    await vi.advanceTimersByTimeAsync(10);
    expect(outcome.error).toBeInstanceOf(RequestTimeoutError);
    expect(outcome.error).toMatchObject({ messageType: 'work', timeoutMs: 100, limit: 'attempt' });
  });

  it('of the call itself counts anew as well', async () => {
    const outcome = watch((await open(kind)).send('work', undefined, { timeout: 50 }));
    await vi.advanceTimersByTimeAsync(40);
    await crash();
    await vi.advanceTimersByTimeAsync(40);
    expect(outcome).toEqual({});
    await vi.advanceTimersByTimeAsync(20);
    expect(outcome.error).toMatchObject({ timeoutMs: 50, limit: 'attempt' });
  });

  it.each([
    ['of the client', { request: 100, total: 150 }, {}],
    ['of the call', { request: 100, total: 10_000 }, { totalTimeout: 150 }],
  ])('in all covers every attempt: %s', async (_, timeout, options) => {
    const outcome = watch((await open(kind, timeout)).send('work', undefined, options));
    await vi.advanceTimersByTimeAsync(80);
    await crash();
    await vi.advanceTimersByTimeAsync(60);
    expect(outcome).toEqual({});
    await vi.advanceTimersByTimeAsync(20);
    expect(outcome.error).toBeInstanceOf(RequestTimeoutError);
    expect(outcome.error).toMatchObject({ timeoutMs: 150, limit: 'total' });
    expect((outcome.error as Error).message).toBe("'work' was not answered within 150 ms in all attempts");
  });

  it('does not end a request whose attempts are used up before', async () => {
    const outcome = watch((await open(kind, { request: 100, total: 5_000 })).send('work'));
    await crash();
    await crash();
    driver.last.start('work');
    driver.last.die();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(outcome.error).toBeInstanceOf(WorkerCrashedError);
    expect(outcome.error).toMatchObject({ attempt: 3, maxAttempts: 3 });
    await Promise.all(opened.splice(0).map((client) => client.close()));
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe('the time limit of a request that waits in the queue of a pool', () => {
  const [, pool] = clients as [(typeof clients)[0], (typeof clients)[1]];

  it('counts from send, and anew for the second attempt', async () => {
    const client = await open(pool);
    watch(client.send('first'));
    const outcome = watch(client.send('work'));
    await vi.advanceTimersByTimeAsync(80);
    driver.last.answer('first', 1);
    await vi.advanceTimersByTimeAsync(10);
    await crash(); // 10 of its 100 ms are left
    await vi.advanceTimersByTimeAsync(90);
    expect(outcome).toEqual({});
    await vi.advanceTimersByTimeAsync(20);
    expect(outcome.error).toMatchObject({ timeoutMs: 100, limit: 'attempt' });
  });

  it('ends it in the queue: by the limit of an attempt, and by the total', async () => {
    const client = await open(pool, { request: 100, total: 60 });
    watch(client.send('first', undefined, { totalTimeout: 0 }));
    const byTotal = watch(client.send('second'));
    const byAttempt = watch(client.send('third', undefined, { totalTimeout: 0 }));
    await vi.advanceTimersByTimeAsync(61);
    expect([byTotal.error, byAttempt.error]).toMatchObject([{ timeoutMs: 60, limit: 'total' }, undefined]);
    await vi.advanceTimersByTimeAsync(40);
    expect(byAttempt.error).toMatchObject({ timeoutMs: 100, limit: 'attempt' });
  });

  it('may be longer than a timer can wait', async () => {
    const client = await open(pool, Number.POSITIVE_INFINITY);
    watch(client.send('first'));
    const outcome = watch(client.send('work'));
    await vi.advanceTimersByTimeAsync(1_000_000);
    expect(outcome).toEqual({});
  });
});
