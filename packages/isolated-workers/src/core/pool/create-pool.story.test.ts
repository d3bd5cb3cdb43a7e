import { eventually, isAlive } from '@drover/testkit';
import { afterEach, describe, expect, it } from 'vitest';
import type { Driver } from '../../types/driver.js';
import { BackpressureError, RequestTimeoutError, WorkerClosedError, WorkerCrashedError } from '../../types/errors.js';
import type { PoolOptions, WorkerPool } from '../../types/pool.js';
import { childProcess } from '../drivers/child-process/host.js';
import { workerThreads } from '../drivers/worker-threads/host.js';
import { expectNothingLeft } from '../test-bench.test.fixture.js';
import { createPool } from './create-pool.js';

interface Messages {
  whoami: { result: number };
  echo: { payload: unknown; result: unknown };
  sleep: { payload: number; result: number };
  hold: { payload: string; result: number };
  crash: { payload: string | undefined; result: number };
  crashUntil: { payload: number; result: number };
  swallow: { payload: number; result: number };
  count: { payload: number; item: number };
}
interface HostMessages {
  open: { payload: string };
}

const script = new URL('../../../fixtures/pool-worker.mjs', import.meta.url);
const brokenScript = new URL('../../../fixtures/broken-worker.mjs', import.meta.url);

expectNothingLeft();
let pools: WorkerPool<Messages>[] = [];
afterEach(async () => {
  await Promise.all(pools.map((pool) => pool.close()));
  pools = [];
});

async function open(options: Partial<PoolOptions<Messages, HostMessages>>): Promise<WorkerPool<Messages>> {
  const pool = await createPool<Messages, HostMessages>({ script, stderr: 'ignore', logLevel: 'silent', ...options });
  pools.push(pool);
  return pool;
}

/** `hold` waits in its worker until the test calls `release`. */
function heldOpen() {
  const held: string[] = [];
  let release: () => void = () => undefined;
  const opened = new Promise<void>((resolve) => (release = resolve));
  const hostHandlers = {
    open: async (name: string) => {
      held.push(name);
      await opened;
    },
  };
  return { held, release: () => release(), hostHandlers };
}

const drivers: [string, Driver][] = [
  ['processes', childProcess],
  ['threads', workerThreads],
];

describe.each(drivers)('a pool of %s', (_, driver) => {
  it('starts workers only when they are needed, up to its size', async () => {
    const { held, release, hostHandlers } = heldOpen();
    const pool = await open({ driver, size: 2, minIdle: 0, hostHandlers });
    expect(pool.stats()).toEqual({ size: 0, idle: 0, busy: 0, pending: 0, abandoned: 0, restarts: 0, recycled: 0 });
    const first = pool.send('hold', 'a');
    expect(pool.stats()).toMatchObject({ size: 1, pending: 1 });
    const others = [pool.send('hold', 'b'), pool.send('hold', 'c'), pool.send('hold', 'd')];
    expect(pool.stats()).toMatchObject({ size: 2, pending: 4 });
    await eventually(() => held.length === 2);
    expect(pool.stats()).toMatchObject({ size: 2, busy: 2, idle: 0, pending: 2 });
    release();
    const who = await Promise.all([first, ...others]);
    expect(new Set(who).size).toBe(2);
    expect(pool.stats()).toMatchObject({ size: 2, busy: 0, idle: 2, pending: 0 });
  });

  it('answers in the order of the requests', async () => {
    const { held, release, hostHandlers } = heldOpen();
    const pool = await open({ driver, size: 1, minIdle: 0, hostHandlers });
    const sent = ['a', 'b', 'c', 'd'].map((name) => pool.send('hold', name));
    release();
    await Promise.all(sent);
    expect(held).toEqual(['a', 'b', 'c', 'd']);
  });

  it('keeps warm spares beside the busy workers', async () => {
    const { held, release, hostHandlers } = heldOpen();
    const pool = await open({ driver, size: 3, minIdle: 1, hostHandlers });
    expect(pool.stats()).toMatchObject({ size: 1, idle: 1 });
    const first = pool.send('hold', 'a');
    await eventually(() => held.length === 1 && pool.stats().idle === 1);
    expect(pool.stats()).toMatchObject({ size: 2, busy: 1, idle: 1 });
    release();
    await first;
  });

  it('gives a worker requests up to its limit, the least loaded first', async () => {
    const { held, release, hostHandlers } = heldOpen();
    const pool = await open({ driver, size: 2, minIdle: 2, concurrencyPerWorker: 2, hostHandlers });
    const sent = ['a', 'b', 'c', 'd', 'e'].map((name) => pool.send('hold', name));
    await eventually(() => held.length === 4);
    expect(pool.stats()).toMatchObject({ busy: 2, pending: 1 });
    release();
    const who = await Promise.all(sent);
    const counts = who.slice(0, 4).filter((worker) => worker === who[0]).length;
    expect(counts).toBe(2);
  });

  it('answers everything while workers are recycled under load', async () => {
    const pool = await open({ driver, size: 2, minIdle: 2, maxRequestsPerWorker: 20, concurrencyPerWorker: 4 });
    const who = new Set<number>();
    let answered = 0;
    const client = async (): Promise<void> => {
      while (pool.stats().recycled < 4) {
        who.add(await pool.send('whoami'));
        answered += 1;
      }
    };
    await Promise.all(Array.from({ length: 16 }, client));
    expect(answered).toBeGreaterThan(80);
    expect(who.size).toBeGreaterThanOrEqual(4);
    expect(pool.stats().restarts).toBe(0);
    await eventually(() => pool.stats().size <= 3);
  });

  it('loses only the request that crashes its worker; the others answer meanwhile', async () => {
    const pool = await open({ driver, size: 3, minIdle: 3 });
    const crash = pool.send('crash').catch((error: unknown) => error);
    const others = await Promise.all(Array.from({ length: 40 }, (__, n) => pool.send('echo', n)));
    expect(others).toEqual(Array.from({ length: 40 }, (__, n) => n));
    expect(await crash).toBeInstanceOf(WorkerCrashedError);
    await eventually(() => pool.stats().idle === 3);
    expect(pool.stats()).toMatchObject({ size: 3, restarts: 1 });
  });

  it('retries a suspect on the worker it killed, and no other worker dies of it', async () => {
    const pool = await open({
      driver,
      size: 3,
      minIdle: 3,
      concurrencyPerWorker: 4,
      unexpectedShutdown: { strategy: 'retry', attempts: 3 },
    });
    const [attempt, ...echoes] = await Promise.all([
      pool.send('crashUntil', 3),
      ...Array.from({ length: 12 }, (__, n) => pool.send('echo', n)),
    ]);
    expect(attempt).toBe(3);
    expect(echoes).toEqual(Array.from({ length: 12 }, (__, n) => n));
    expect(pool.stats().restarts).toBe(2);
  });

  it('refuses a poisonous request after it killed three workers, wherever it would go', async () => {
    const pool = await open({ driver, size: 3, minIdle: 3 });
    for (let kill = 0; kill < 3; kill += 1)
      await expect(pool.send('crash', 'poison')).rejects.toMatchObject({ code: 'ERR_WORKER_CRASHED' });
    await expect(pool.send('crash', 'poison')).rejects.toMatchObject({ code: 'ERR_REQUEST_QUARANTINED', kills: 3 });
    await expect(pool.send('echo', 'poison')).resolves.toBe('poison');
    expect(pool.stats().restarts).toBeLessThanOrEqual(3);
  });

  it('refuses what does not fit into the queue, and names the limit', async () => {
    const { release, hostHandlers } = heldOpen();
    const pool = await open({ driver, size: 1, minIdle: 1, maxPending: 2, hostHandlers });
    const sent = ['a', 'b', 'c'].map((name) => pool.send('hold', name));
    const refused = await pool.send('hold', 'd').catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(BackpressureError);
    expect(refused).toMatchObject({ limit: 2 });
    release();
    await Promise.all(sent);
    await expect(pool.send('echo', 1)).resolves.toBe(1);
  });

  it('counts the time in the queue, and removes a request whose caller gives up there', async () => {
    const { release, hostHandlers } = heldOpen();
    const pool = await open({ driver, size: 1, minIdle: 1, hostHandlers });
    const first = pool.send('hold', 'a');
    const late = await pool.send('echo', 1, { timeout: 30 }).catch((error: unknown) => error);
    expect(late).toBeInstanceOf(RequestTimeoutError);
    expect(late).toMatchObject({ timeoutMs: 30 });
    const abort = new AbortController();
    const given = pool.send('echo', 1, { signal: abort.signal });
    abort.abort(new Error('never mind'));
    await expect(given).rejects.toThrow('never mind');
    expect(pool.stats().pending).toBe(0);
    release();
    await first;
  });

  it('streams from whichever worker is free, also after a wait in the queue', async () => {
    const pool = await open({ driver, size: 1, minIdle: 0 });
    const read = async (upTo: number): Promise<number[]> => {
      const items: number[] = [];
      for await (const item of pool.stream('count', upTo, { highWaterMark: 4 })) items.push(item);
      return items;
    };
    const [ten, thirty] = await Promise.all([read(10), read(30)]);
    expect(ten).toEqual(Array.from({ length: 10 }, (__, n) => n + 1));
    expect(thirty).toHaveLength(30);
    for await (const item of pool.stream('count', 1_000_000)) if (item === 3) break;
    await expect(pool.send('echo', 'free again')).resolves.toBe('free again');
    const queued = pool.stream('count', 5);
    await queued.return?.();
    expect(await queued.next()).toEqual({ value: undefined, done: true });
  });

  it('ends idle workers above the warm spares', async () => {
    const pool = await open({ driver, size: 4, minIdle: 1, idleTimeoutMs: 60 });
    const sent = [1, 2, 3, 4].map(() => pool.send('sleep', 20));
    expect(pool.stats().size).toBeGreaterThan(1);
    await Promise.all(sent);
    await eventually(() => pool.stats().size === 1);
    expect(pool.stats()).toMatchObject({ idle: 1, restarts: 0, recycled: 0 });
    await expect(pool.send('echo', 'still here')).resolves.toBe('still here');
  });

  it('drains: what is pending is answered, what comes later is refused', async () => {
    const pool = await open({ driver, size: 1, minIdle: 1 });
    const sent = [1, 2, 3].map((n) => pool.send('echo', n));
    const drained = pool.drain();
    await expect(pool.send('echo', 4)).rejects.toThrow(WorkerClosedError);
    await drained;
    await expect(Promise.all(sent)).resolves.toEqual([1, 2, 3]);
  });

  it('stops draining at the deadline', async () => {
    const pool = await open({ driver, size: 1, minIdle: 1, closeGraceMs: 200 });
    const stuck = pool.send('sleep', 60_000).catch((error: unknown) => error);
    await pool.drain(AbortSignal.timeout(50));
    await pool.close();
    expect(await stuck).toBeInstanceOf(WorkerClosedError);
  });

  it('rejects what is in hand and what waits when it is closed, once and for all', async () => {
    const pool = await open({ driver, size: 1, minIdle: 1, closeGraceMs: 500 });
    const sent = [1, 2, 3].map((n) => pool.send('sleep', n * 10_000).catch((error: unknown) => error));
    await Promise.all([pool.close(), pool.stop()]);
    for (const error of await Promise.all(sent)) expect(error).toBeInstanceOf(WorkerClosedError);
    expect(pool.stats()).toMatchObject({ size: 0, pending: 0 });
    await expect(pool.send('echo', 1)).rejects.toThrow(WorkerClosedError);
  });

  it('fails to open when its workers cannot start, and says why', async () => {
    await expect(open({ driver, script: brokenScript, size: 2 })).rejects.toThrow(/this worker is broken/);
  });

  it('is unavailable only when no worker can be had, and does not spin', async () => {
    const restart = { max: 2, periodMs: 60_000, delayMs: 1 };
    const pool = await open({ driver, script: brokenScript, size: 2, minIdle: 0, restart });
    const failed = await Promise.allSettled([pool.send('whoami'), pool.send('whoami')]);
    for (const outcome of failed)
      expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'ERR_WORKER_UNAVAILABLE' } });
    expect(pool.stats()).toMatchObject({ size: 0, pending: 0 });
    await expect(pool.send('whoami')).rejects.toMatchObject({ code: 'ERR_WORKER_UNAVAILABLE' });
    expect(pool.stats().restarts).toBeLessThanOrEqual(4);
  });

  it('gives what a lost worker had not begun with to its replacement', async () => {
    const restart = { max: 1, periodMs: 60_000 };
    const pool = await open({ driver, size: 1, minIdle: 1, concurrencyPerWorker: 8, restart });
    await expect(pool.send('crash', 'once')).rejects.toThrow(WorkerCrashedError);
    await eventually(() => pool.stats().idle === 1);
    const crash = pool.send('crash', 'twice').catch((error: unknown) => error);
    const echoes = [1, 2, 3].map((n) => pool.send('echo', n));
    expect(await crash).toBeInstanceOf(WorkerCrashedError);
    await expect(Promise.all(echoes)).resolves.toEqual([1, 2, 3]);
    expect(pool.stats()).toMatchObject({ size: 1, restarts: 2 });
  });

  it('goes on with the others when one worker dies too often', async () => {
    const pool = await open({
      driver,
      size: 2,
      minIdle: 2,
      restart: { max: 1, periodMs: 60_000 },
      quarantine: { afterKills: 0 },
    });
    for (let kill = 0; kill < 3; kill += 1) {
      await expect(pool.send('crash')).rejects.toMatchObject({ code: 'ERR_WORKER_CRASHED' });
      await expect(pool.send('echo', kill)).resolves.toBe(kill);
    }
  });
});

describe('a pool of processes', () => {
  it('replaces a worker whose memory is above its limit, between requests', async () => {
    const pool = await open({ size: 1, minIdle: 1, maxMemoryMb: 200 });
    const first = await pool.send('whoami');
    await pool.send('swallow', 250);
    await eventually(async () => {
      await pool.send('echo', 1);
      return pool.stats().recycled === 1;
    });
    await eventually(() => !isAlive(first));
    expect(await pool.send('whoami')).not.toBe(first);
    expect(pool.stats().restarts).toBe(0);
  });

  it('leaves no process behind when it is closed', async () => {
    const pool = await open({ size: 3, minIdle: 3 });
    const pids = await Promise.all([1, 2, 3].map(() => pool.send('sleep', 30)));
    expect(new Set(pids).size).toBe(3);
    await pool.close();
    await eventually(() => pids.every((pid) => !isAlive(pid)));
  });

  it('ends with its block', async () => {
    let pid: number;
    {
      await using pool = await createPool<Messages>({ script, size: 1 });
      pid = await pool.send('whoami');
      expect(isAlive(pid)).toBe(true);
    }
    await eventually(() => !isAlive(pid));
  });
});

describe('the options of a pool', () => {
  it.each([
    [{ size: 0 }, /size is 0/],
    [{ size: 2, minIdle: 3 }, /minIdle \(3\) is more than size \(2\)/],
    [{ maxRequestsPerWorker: 0 }, /maxRequestsPerWorker is 0/],
    [{ driver: workerThreads, maxMemoryMb: 100 }, /maxHeapMb/],
  ])('are refused with a sentence when they make no sense: %o', async (options, sentence) => {
    await expect(open(options)).rejects.toThrow(sentence);
  });
});
