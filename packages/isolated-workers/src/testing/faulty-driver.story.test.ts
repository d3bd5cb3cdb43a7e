import { eventually } from '@drover/testkit';
import { afterEach, describe, expect, it } from 'vitest';
import { createWorker } from '../core/create-worker.js';
import { childProcess } from '../core/drivers/child-process/host.js';
import { workerThreads } from '../core/drivers/worker-threads/host.js';
import { createPool } from '../core/pool/create-pool.js';
import { expectNothingLeft } from '../core/test-bench.test.fixture.js';
import type { Driver } from '../types/driver.js';
import { RequestTimeoutError, UnsupportedOptionError, WorkerCrashedError } from '../types/errors.js';
import type { WorkerClient, WorkerOptions } from '../types/worker.js';
import type { FaultPlan } from './fault-plan.js';
import { faultyDriver, type FaultyDriver } from './faulty-driver.js';

interface Messages {
  whoami: { result: number };
  echo: { payload: unknown; result: unknown };
  crash: { payload: string | undefined; result: number };
  crashSoon: { result: string };
  count: { payload: number; item: number };
}

const script = new URL('../../fixtures/pool-worker.mjs', import.meta.url);
const retry = { strategy: 'retry', attempts: 2 } as const;

expectNothingLeft();
let clients: AsyncDisposable[] = [];
afterEach(async () => {
  await Promise.all(clients.map((client) => client[Symbol.asyncDispose]()));
  clients = [];
});

const drivers: [string, Driver][] = [
  ['processes', childProcess],
  ['threads', workerThreads],
];

describe.each(drivers)('faults of %s', (_, inner) => {
  async function open(
    plan: FaultPlan,
    options: Partial<WorkerOptions<Messages>> = {},
  ): Promise<{ worker: WorkerClient<Messages>; driver: FaultyDriver }> {
    const driver = faultyDriver(inner, plan);
    const quiet = { stderr: 'ignore', logLevel: 'silent', restart: { delayMs: 1 } } as const;
    const worker = await createWorker<Messages>({ script, driver, ...quiet, ...options });
    clients.push(worker);
    return { worker, driver };
  }

  it('a plan without faults changes nothing', async () => {
    const { worker, driver } = await open([]);
    await expect(worker.send('echo', [1, 'two'])).resolves.toEqual([1, 'two']);
    const items: number[] = [];
    for await (const item of worker.stream('count', 40)) items.push(item);
    expect(items).toHaveLength(40);
    expect(driver.injected).toEqual([]);
    expect(driver.lives).toBe(1);
  });

  it('a refused start makes the worker unavailable', async () => {
    const driver = faultyDriver(inner, [{ kind: 'refuse-spawn', times: 1 }]);
    await expect(createWorker<Messages>({ script, driver, logLevel: 'silent' })).rejects.toMatchObject({
      code: 'ERR_WORKER_UNAVAILABLE',
      message: expect.stringContaining('EAGAIN') as string,
    });
    expect(driver.injected[0]).toEqual({ kind: 'refuse-spawn', life: 1 });
  });

  it('a pool gets over starts that are refused', async () => {
    const driver = faultyDriver(inner, [{ kind: 'refuse-spawn', times: 2 }]);
    const pool = await createPool<Messages>({ script, driver, size: 1, minIdle: 0, logLevel: 'silent' });
    clients.push(pool);
    await expect(pool.send('echo', 1)).resolves.toBe(1);
    expect(pool.stats().restarts).toBeGreaterThan(0);
    expect(driver.injected).toHaveLength(2);
  });

  it('a worker killed before it is ready is unavailable', async () => {
    const driver = faultyDriver(inner, [{ kind: 'kill-before-ready' }]);
    await expect(createWorker<Messages>({ script, driver, logLevel: 'silent' })).rejects.toMatchObject({
      code: 'ERR_WORKER_UNAVAILABLE',
    });
    expect(driver.injected[0]).toEqual({ kind: 'kill-before-ready', life: 1 });
  });

  it('a worker killed before it is ready again is started once more, and the request is answered', async () => {
    const { worker, driver } = await open(
      [
        { kind: 'kill-at-request', request: 1, life: 1 },
        { kind: 'kill-before-ready', life: 2 },
      ],
      { unexpectedShutdown: retry },
    );
    await expect(worker.send('echo', 'x')).resolves.toBe('x');
    expect(driver.injected.map(({ kind }) => kind)).toEqual(['kill-at-request', 'kill-before-ready']);
    expect(driver.lives).toBe(3);
  });

  it('a worker killed at its second request rejects that one alone', async () => {
    const { worker, driver } = await open([{ kind: 'kill-at-request', request: 2, life: 1 }]);
    await expect(worker.send('echo', 1)).resolves.toBe(1);
    const crash = await worker.send('echo', 2).catch((error: unknown) => error);
    expect(crash).toBeInstanceOf(WorkerCrashedError);
    expect(crash).toMatchObject({ messageType: 'echo', attempt: 1, maxAttempts: 1, signal: 'SIGKILL' });
    await expect(worker.send('echo', 3)).resolves.toBe(3);
    expect(driver.injected).toEqual([{ kind: 'kill-at-request', life: 1, at: 2 }]);
  });

  it('a worker killed at its request is retried, up to the number of attempts', async () => {
    const { worker } = await open([{ kind: 'kill-at-request', request: 1, life: 1 }], { unexpectedShutdown: retry });
    await expect(worker.send('echo', 'again')).resolves.toBe('again');
    const { worker: doomed } = await open([{ kind: 'kill-at-request', request: 1 }], { unexpectedShutdown: retry });
    await expect(doomed.send('echo', 'again')).rejects.toMatchObject({
      code: 'ERR_WORKER_CRASHED',
      attempt: 2,
      maxAttempts: 2,
    });
  });

  it('a late report of the end delays the error and nothing else', async () => {
    const { worker, driver } = await open([
      { kind: 'kill-at-request', request: 1, life: 1 },
      { kind: 'delay-exit', byMs: 80, life: 1 },
    ]);
    await expect(worker.send('echo', 1)).rejects.toThrow(WorkerCrashedError);
    expect(driver.injected.map(({ kind }) => kind)).toEqual(['kill-at-request', 'delay-exit']);
    await expect(worker.send('echo', 2)).resolves.toBe(2);
  });

  it('an end that overtakes an answer counts as a crash; the answer that follows is ignored', async () => {
    const { worker, driver } = await open([{ kind: 'exit-overtakes', withinMs: 30_000, life: 1 }]);
    await expect(worker.send('crashSoon')).rejects.toThrow(WorkerCrashedError);
    expect(driver.injected).toContainEqual({ kind: 'exit-overtakes', life: 1 });
    await expect(worker.send('echo', 2)).resolves.toBe(2);
  });

  it('an answer that arrives after the death of its worker is ignored, also by the retry', async () => {
    const { worker } = await open([{ kind: 'answer-after-death', answer: 1, life: 1 }]);
    await expect(worker.send('echo', 1)).rejects.toThrow(WorkerCrashedError);
    await expect(worker.send('echo', 2)).resolves.toBe(2);
    const { worker: second, driver } = await open([{ kind: 'answer-after-death', answer: 1, life: 1 }], {
      unexpectedShutdown: retry,
    });
    await expect(second.send('echo', 1)).resolves.toBe(1);
    expect(driver.lives).toBe(2);
  });

  it('a request or an answer that is lost runs into its time limit', async () => {
    for (const direction of ['to-worker', 'to-host'] as const) {
      const { worker, driver } = await open([{ kind: 'drop-message', direction, message: 1 }]);
      await expect(worker.send('echo', 1, { timeout: 100 })).rejects.toThrow(RequestTimeoutError);
      expect(driver.injected).toEqual([{ kind: 'drop-message', life: 1, at: 1 }]);
      await expect(worker.send('echo', 2)).resolves.toBe(2);
    }
  });

  it('a worker that never reports ready is unavailable', async () => {
    const driver = faultyDriver(inner, [{ kind: 'drop-message', direction: 'to-host', message: 'ready' }]);
    const opening = createWorker<Messages>({ script, driver, timeout: { startup: 400 }, logLevel: 'silent' });
    await expect(opening).rejects.toMatchObject({ code: 'ERR_WORKER_UNAVAILABLE' });
  });

  it('a duplicated message counts once', async () => {
    const { worker, driver } = await open([
      { kind: 'duplicate-message', direction: 'to-host', message: 'ready' },
      { kind: 'duplicate-message', direction: 'to-worker', message: 1 },
      { kind: 'duplicate-message', direction: 'to-host', message: 3 },
    ]);
    await expect(worker.send('echo', 1)).resolves.toBe(1);
    await expect(worker.send('echo', 2)).resolves.toBe(2);
    await eventually(() => driver.injected.length === 3);
    await expect(worker.send('echo', 3)).resolves.toBe(3);
    expect(worker.pending).toBe(0);
  });

  it('a late answer is still the answer, or nothing after the time limit', async () => {
    const plan: FaultPlan = [{ kind: 'delay-message', direction: 'to-host', message: 1, byMs: 100 }];
    const { worker } = await open(plan);
    await expect(worker.send('echo', 1)).resolves.toBe(1);
    const { worker: second } = await open(plan);
    await expect(second.send('echo', 1, { timeout: 30 })).rejects.toThrow(RequestTimeoutError);
    await expect(second.send('echo', 2)).resolves.toBe(2);
  });

  it('a driver that can do nothing is refused where more was asked of it', async () => {
    await expect(open([{ kind: 'no-capabilities' }], { unexpectedShutdown: retry })).rejects.toThrow(
      UnsupportedOptionError,
    );
    await expect(open([{ kind: 'no-capabilities' }], { maxHeapMb: 64 })).rejects.toThrow(/memoryLimit/);
    const { worker } = await open([{ kind: 'no-capabilities' }, { kind: 'kill-at-request', request: 2 }]);
    await expect(worker.send('echo', 1)).resolves.toBe(1);
    await expect(worker.send('echo', 2)).rejects.toThrow(WorkerCrashedError);
    await expect(worker.send('echo', 3)).rejects.toMatchObject({ code: 'ERR_WORKER_UNAVAILABLE' });
  });
});
