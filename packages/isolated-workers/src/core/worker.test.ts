import { getEventListeners } from 'node:events';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { WorkerOptions } from '../types/worker.js';
import type { ShutdownReason } from '../types/config.js';
import {
  type CrashFacts,
  BackpressureError,
  QuarantinedError,
  RequestTimeoutError,
  UnsupportedOptionError,
  WorkerClosedError,
  WorkerCrashedError,
  WorkerUnavailableError,
} from '../types/errors.js';
import { createWorker } from './create-worker.js';
import { workerThreads } from './drivers/worker-threads/host.js';
import { ScriptedDriver } from './scripted-driver.test.fixture.js';
import { failureOf, fixture, type Loose } from './test-bench.test.fixture.js';
import { kind } from '../types/wire-message.js';

let driver: ScriptedDriver;

beforeEach(() => {
  driver = new ScriptedDriver();
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance'] });
});
afterEach(() => void vi.useRealTimers());

const open = (options: Partial<WorkerOptions<Loose>> = {}) =>
  createWorker<Loose>({ script: fixture('worker.mjs'), driver, logLevel: 'silent', ...options });

/** A restart that is due at once begins in the next turn of the loop. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function crash(facts: Partial<CrashFacts> = {}): Promise<void> {
  driver.last.die(facts);
  await turn();
}

const retry = (attempts: number) => ({ unexpectedShutdown: { strategy: 'retry', attempts } }) as const;

async function reasonAfter(reason: ShutdownReason): Promise<unknown> {
  const worker = await open();
  const failure = failureOf(worker.send('work'));
  await crash({ reason });
  const error = await failure;
  expect(error).toBeInstanceOf(WorkerCrashedError);
  return error['reason'];
}

describe('the end of a worker', () => {
  it('Exit event triggers shutdown handler with correct reason', async () => {
    const reason = { type: 'exit', code: 7, signal: null } as const;
    expect(await reasonAfter(reason)).toEqual(reason);
  });

  it('Socket error triggers shutdown handler with correct reason', async () => {
    const reason = { type: 'error', error: new Error('ECONNRESET') } as const;
    expect(await reasonAfter(reason)).toBe(reason);
  });

  it('Socket close triggers shutdown handler with correct reason', async () => {
    expect(await reasonAfter({ type: 'close' })).toEqual({ type: 'close' });
  });

  it("Idempotency: Multiple events don't cause duplicate handling", async () => {
    const worker = await open(retry(3));
    const answer = worker.send('work');
    const [first] = driver.connections;
    first?.start('work');
    first?.dieAgain({ reason: { type: 'error', error: new Error('EPIPE') } });
    first?.dieAgain({ reason: { type: 'close' } });
    first?.dieAgain({ reason: { type: 'exit', code: null, signal: 'SIGKILL' } });
    await turn();
    expect(driver.connections).toHaveLength(2);
    await vi.waitFor(() => expect(driver.last.requests).toMatchObject([{ type: 'work', attempt: 2 }]));
    driver.last.answer('work', 'done');
    expect(await answer).toBe('done');
  });

  it('keeps requests from a worker that dies in the turn in which it got ready', async () => {
    const worker = await open();
    driver.becomesReady = false;
    await crash();
    const answer = worker.send('work');
    driver.last.say([kind.ready]);
    driver.last.die();
    await turn();
    expect(worker.state).toBe('restarting');
    expect(driver.last.requests).toEqual([]);
    await vi.advanceTimersByTimeAsync(1_000);
    driver.last.say([kind.ready]);
    await vi.waitFor(() => expect(driver.last.requests).toMatchObject([{ type: 'work', attempt: 1 }]));
    driver.last.answer('work', 'done');
    expect(await answer).toBe('done');
  });

  it('Graceful shutdown (close()) uses normal rejection, not retry logic', async () => {
    const worker = await open(retry(3));
    const failure = failureOf(worker.send('work'));
    driver.last.start('work');
    await worker.close();
    expect(await failure).toBeInstanceOf(WorkerClosedError);
    expect((await failure).message).toBe('Worker closed');
    expect(driver.connections).toHaveLength(1);
  });

  it('Reject strategy rejects all pending requests with WorkerCrashedError', async () => {
    const worker = await open({ unexpectedShutdown: { strategy: 'reject' } });
    const failures = ['one', 'two', 'three'].map((type) => failureOf(worker.send(type)));
    driver.last.start('one', 'two', 'three');
    await crash({ reason: { type: 'exit', code: null, signal: 'SIGKILL' }, signal: 'SIGKILL' });
    for (const [index, failure] of failures.entries()) {
      const error = await failure;
      expect(error).toBeInstanceOf(WorkerCrashedError);
      expect(error).toMatchObject({ attempt: 1, maxAttempts: 1, messageType: ['one', 'two', 'three'][index] });
      expect(error.message).toContain('unexpectedly');
    }
  });

  it('Retry strategy re-queues requests below attempt limit', async () => {
    const worker = await open(retry(2));
    const answer = worker.send('work', { some: 'payload' });
    driver.last.start('work');
    await crash();
    await vi.waitFor(() =>
      expect(driver.last.requests).toMatchObject([{ type: 'work', attempt: 2, payload: { some: 'payload' } }]),
    );
    driver.last.answer('work', 5);
    expect(await answer).toBe(5);
  });

  it('Retry strategy rejects requests at or above attempt limit', async () => {
    const worker = await open(retry(2));
    const failure = failureOf(worker.send('work'));
    driver.last.start('work');
    await crash();
    await vi.waitFor(() => expect(driver.last.requests).toHaveLength(1));
    await crash();
    const error = await failure;
    expect(error).toBeInstanceOf(WorkerCrashedError);
    expect(error).toMatchObject({ attempt: 2, maxAttempts: 2 });
    expect(error.message).toContain('after 2 attempts');
  });

  it('Per-message-type configuration overrides apply correctly', async () => {
    const worker = await open({
      unexpectedShutdown: {
        strategy: 'reject',
        flat: { strategy: 'retry', attempts: 2 },
        byType: { nested: { strategy: 'retry', attempts: 3 }, strategy: { strategy: 'retry' } },
      } as never, // the test's own definitions name no messages
    });
    const plain = failureOf(worker.send('plain'));
    const [flat, nested, strategy] = [worker.send('flat'), worker.send('nested'), worker.send('strategy')];
    driver.last.start('plain', 'flat', 'nested', 'strategy');
    await crash();
    expect(await plain).toMatchObject({ name: 'WorkerCrashedError', maxAttempts: 1 });
    for (const [type, answer] of Object.entries({ flat, nested, strategy })) {
      await vi.waitFor(() => expect(driver.last.requests.map((request) => request.type)).toContain(type));
      driver.last.answer(type, type);
      expect(await answer).toBe(type);
    }
  });

  it('Retry spawns new worker and re-sends messages', async () => {
    const worker = await open(retry(2));
    const answers = Promise.all([worker.send('a'), worker.send('b')]);
    driver.last.start('a', 'b');
    await crash();
    expect(driver.connections).toHaveLength(2);
    await vi.waitFor(() => expect(driver.last.requests).toHaveLength(1));
    driver.last.answer('a', 1);
    await vi.waitFor(() => expect(driver.last.requests).toHaveLength(2));
    driver.last.answer('b', 2);
    expect(await answers).toEqual([1, 2]);
  });

  it('Retry failure (new worker spawn fails) rejects all retry queue', async () => {
    const worker = await open({ ...retry(3), restart: { max: 2 } });
    const failures = ['a', 'b'].map((type) => failureOf(worker.send(type)));
    driver.last.start('a', 'b');
    driver.refusal = new Error('EAGAIN: no more processes');
    await crash();
    await vi.advanceTimersByTimeAsync(10_000);
    for (const failure of failures) {
      expect(await failure).toBeInstanceOf(WorkerUnavailableError);
      expect((await failure).message).toContain('EAGAIN: no more processes');
    }
    expect(worker.pending).toBe(0);
    expect(worker.state).toBe('unavailable');
  });
});

describe('lives of a worker', () => {
  it('handles the second crash like the first', async () => {
    const worker = await open();
    for (const code of [1, 2, 3]) {
      await vi.advanceTimersByTimeAsync(60_000);
      const failure = failureOf(worker.send('work'));
      await crash({ exitCode: code });
      expect(await failure).toMatchObject({ exitCode: code });
    }
    expect(driver.connections).toHaveLength(4);
  });

  it('ignores late messages of an earlier life', async () => {
    const worker = await open(retry(2));
    const answer = worker.send('work');
    const old = driver.last;
    const oldId = old.idOf('work');
    old.start('work');
    old.die();
    await turn();
    await vi.waitFor(() => expect(driver.last.requests).toHaveLength(1));
    old.say([kind.result, driver.last.idOf('work'), 'late']);
    old.say([kind.result, oldId, 'late']);
    driver.last.say([kind.result, oldId, 'an old number']);
    expect(worker.pending).toBe(1);
    driver.last.answer('work', 'fresh');
    expect(await answer).toBe('fresh');
  });

  it('replaces a worker that died while idle', async () => {
    const worker = await open();
    await crash();
    expect(driver.connections).toHaveLength(2);
    expect(worker.pid).toBe(2);
  });

  it('lets requests wait while the worker restarts', async () => {
    const worker = await open();
    driver.becomesReady = false;
    await crash();
    const answer = worker.send('work');
    expect(worker.state).toBe('restarting');
    expect(driver.last.requests).toEqual([]);
    driver.last.say([kind.ready]);
    await vi.waitFor(() => expect(driver.last.requests).toHaveLength(1));
    driver.last.answer('work', 1);
    expect(await answer).toBe(1);
  });

  it('stops restarting at the limit, reports it, and recovers after the period', async () => {
    const worker = await open({ restart: { max: 3, periodMs: 10_000, delayMs: 10 } });
    driver.becomesReady = false;
    const waiting = failureOf(worker.send('work'));
    driver.last.start('work');
    for (let death = 0; death < 4; death += 1) {
      await crash({ stderr: 'Error: broken' });
      await vi.advanceTimersByTimeAsync(100);
    }
    expect(await waiting).toBeInstanceOf(WorkerCrashedError);
    expect(driver.connections).toHaveLength(4);
    expect(worker.state).toBe('unavailable');
    expect(worker.isActive).toBe(false);
    expect(await failureOf(worker.send('work'))).toBeInstanceOf(WorkerUnavailableError);
    expect(driver.connections).toHaveLength(4);
    await vi.advanceTimersByTimeAsync(10_000);
    driver.becomesReady = true;
    const answer = worker.send('work');
    await vi.waitFor(() => expect(driver.last.requests).toHaveLength(1));
    driver.last.answer('work', 'back');
    expect(await answer).toBe('back');
    expect(driver.connections).toHaveLength(5);
  });

  it('gives a request all its attempts without a limit of restarts, and serves the others afterwards', async () => {
    const worker = await open(retry(9));
    const failure = failureOf(worker.send('poison'));
    const behind = worker.send('behind');
    for (let attempt = 1; attempt <= 9; attempt += 1) {
      await vi.waitFor(() => expect(driver.last.requests[0]).toMatchObject({ type: 'poison', attempt }));
      driver.last.start('poison');
      await crash();
      await vi.advanceTimersByTimeAsync(5_000);
    }
    expect(await failure).toMatchObject({ code: 'ERR_WORKER_CRASHED', attempt: 9 });
    await vi.waitFor(() => expect(driver.last.requests).toMatchObject([{ type: 'behind', attempt: 1 }]));
    driver.last.answer('behind', 1);
    expect(await behind).toBe(1);
  });

  it('holds a limit of restarts that was set, whatever attempts are left', async () => {
    const worker = await open({ ...retry(9), restart: { max: 1 } });
    const failure = failureOf(worker.send('poison'));
    await crash();
    await crash();
    expect(await failure).toBeInstanceOf(WorkerUnavailableError);
  });

  it('rejects waiting requests when the worker becomes unavailable', async () => {
    const worker = await open({ restart: { max: 1 } });
    driver.becomesReady = false;
    await crash();
    const waiting = failureOf(worker.send('work'));
    await crash({ stderr: 'SyntaxError: no' });
    expect(await waiting).toBeInstanceOf(WorkerUnavailableError);
    expect((await waiting).message).toContain('SyntaxError: no');
  });

  it('does not start a second worker when the first never became ready', async () => {
    driver.becomesReady = false;
    const failure = failureOf(open());
    await crash({ exitCode: 1, stderr: 'Error: at load' });
    expect(await failure).toBeInstanceOf(WorkerUnavailableError);
    expect((await failure).message).toContain('Error: at load');
    expect(driver.connections).toHaveLength(1);
  });

  it('kills a worker that does not report ready within its startup time', async () => {
    driver.becomesReady = false;
    const failure = failureOf(open({ timeout: { startup: 500 } }));
    await vi.advanceTimersByTimeAsync(500);
    expect((await failure).message).toContain('within 500 ms');
    expect(driver.last.killed).toBe(1);
    expect(await failure).toMatchObject({ signal: 'SIGKILL', stderr: '' });
  });

  it('says what a worker that does not get ready has printed', async () => {
    driver.becomesReady = false;
    const failure = failureOf(open({ timeout: { startup: 500 } }));
    const { last } = driver;
    last.kill = () => last.die({ stderr: 'waiting for the database\n', signal: 'SIGKILL' });
    await vi.advanceTimersByTimeAsync(500);
    expect((await failure).message).toMatch(/within 500 ms\. Its output:\nwaiting for the database$/);
    expect(await failure).toMatchObject({ stderr: 'waiting for the database\n' });
  });

  it('keeps a worker that got ready while this process was busy', async () => {
    driver.becomesReady = false;
    const opening = open({ timeout: { startup: 500 } });
    vi.advanceTimersByTime(500); // the timers of a blocked event loop come before its messages
    driver.last.say([kind.ready]);
    const worker = await opening;
    expect([worker.state, driver.last.killed]).toEqual(['ready', 0]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('leaves no timer behind when the driver cannot even begin', async () => {
    driver.refusal = new Error('EMFILE');
    const error = await failureOf(open());
    expect(error).toBeInstanceOf(WorkerUnavailableError);
    expect(error.cause).toBe(driver.refusal);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('is gone for good when its driver cannot start another', async () => {
    driver = new ScriptedDriver({ reconnect: false });
    const worker = await open();
    await crash();
    await vi.advanceTimersByTimeAsync(3_600_000);
    expect(await failureOf(worker.send('work'))).toBeInstanceOf(WorkerUnavailableError);
    expect(driver.connections).toHaveLength(1);
  });

  it('does not count a recycled worker as a crash', async () => {
    const worker = await open({ restart: { max: 1 } });
    for (let round = 0; round < 10; round += 1) {
      await worker.recycle();
      await turn();
    }
    expect(worker.state).toBe('ready');
    expect(driver.connections).toHaveLength(11);
  });
});

describe('blame', () => {
  it('charges an attempt only to requests that the dead worker had started', async () => {
    const worker = await open(retry(3));
    const answers = ['a', 'b', 'c'].map((type) => worker.send(type));
    driver.last.start('b');
    await crash();
    await vi.waitFor(() => expect(driver.last.requests).toMatchObject([{ type: 'b', attempt: 2 }]));
    driver.last.answer('b', 'b');
    await vi.waitFor(() => expect(driver.last.requests).toHaveLength(3));
    expect(driver.last.requests.slice(1)).toMatchObject([
      { type: 'a', attempt: 1 },
      { type: 'c', attempt: 1 },
    ]);
    driver.last.answer('a', 'a');
    driver.last.answer('c', 'c');
    expect(await Promise.all(answers)).toEqual(['a', 'b', 'c']);
  });

  it("runs requests again that had not started, also with strategy 'reject'", async () => {
    const worker = await open();
    const failure = failureOf(worker.send('a'));
    const answer = worker.send('b');
    driver.last.start('a');
    await crash();
    expect(await failure).toBeInstanceOf(WorkerCrashedError);
    driver.last.answer('b', 'b');
    expect(await answer).toBe('b');
  });

  it('treats every request as a suspect when the started ones are not known', async () => {
    const worker = await open();
    const failures = ['a', 'b'].map((type) => failureOf(worker.send(type)));
    driver.last.keepsNotes = false;
    await crash();
    for (const failure of failures) expect(await failure).toBeInstanceOf(WorkerCrashedError);
  });

  it('runs suspects one at a time and lets others wait meanwhile', async () => {
    const worker = await open(retry(2));
    const answers = ['a', 'b'].map((type) => worker.send(type));
    driver.last.start('a', 'b');
    await crash();
    const third = worker.send('c');
    await vi.waitFor(() => expect(driver.last.requests).toMatchObject([{ type: 'a', attempt: 2 }]));
    driver.last.answer('a', 'a');
    expect(driver.last.requests).toMatchObject([{ type: 'a' }, { type: 'b', attempt: 2 }]);
    driver.last.answer('b', 'b');
    expect(driver.last.requests).toMatchObject([{ type: 'a' }, { type: 'b' }, { type: 'c', attempt: 1 }]);
    driver.last.answer('c', 'c');
    expect(await Promise.all([...answers, third])).toEqual(['a', 'b', 'c']);
  });

  it('blames the request whose caller gave up, not the one behind it', async () => {
    const worker = await open({ timeout: { byType: { stuck: 100 }, onTimeout: 'recycle' } as never });
    const stuck = failureOf(worker.send('stuck'));
    const innocent = worker.send('innocent');
    await vi.advanceTimersByTimeAsync(100);
    await turn();
    expect(await stuck).toBeInstanceOf(RequestTimeoutError);
    expect(driver.connections).toHaveLength(2);
    expect(driver.last.requests).toMatchObject([{ type: 'innocent', attempt: 1 }]);
    driver.last.answer('innocent', 1);
    expect(await innocent).toBe(1);
  });

  it('does not charge a request that is still with the middleware', async () => {
    let pass: () => void = () => undefined;
    const worker = await open({
      middleware: [
        ({ direction }) => new Promise((resolve) => (direction === 'outgoing' ? (pass = resolve) : resolve())),
      ],
    });
    const answer = worker.send('work');
    await crash();
    await vi.waitFor(() => expect(driver.connections).toHaveLength(2));
    pass();
    await vi.waitFor(() => expect(driver.last.requests).toMatchObject([{ type: 'work', attempt: 1 }]));
    driver.last.answer('work', 1);
    expect(await answer).toBe(1);
  });

  it('does not repeat a request whose answer is still in the middleware', async () => {
    let pass: () => void = () => undefined;
    const worker = await open({
      middleware: [
        ({ direction }) => new Promise((resolve) => (direction === 'incoming' ? (pass = resolve) : resolve())),
      ],
    });
    const answer = worker.send('work');
    await vi.waitFor(() => expect(driver.last.requests).toHaveLength(1));
    driver.last.answer('work', 'answered');
    await crash();
    expect(worker.pending).toBe(1);
    pass();
    expect(await answer).toBe('answered');
    expect(driver.last.requests).toEqual([]);
  });

  it('does not repeat a request whose buffers were transferred', async () => {
    const worker = await open(retry(3));
    const first = worker.send('first');
    const failure = failureOf(worker.send('second', undefined, { transfer: [new ArrayBuffer(8)] }));
    driver.last.start('first');
    await crash();
    expect(await failure).toMatchObject({ name: 'WorkerCrashedError', maxAttempts: 1 });
    driver.last.answer('first', 1);
    expect(await first).toBe(1);
  });
});

describe('quarantine', () => {
  const kill = async (worker: Awaited<ReturnType<typeof open>>, payload: unknown): Promise<unknown> => {
    const failure = failureOf(worker.send('poison', payload));
    driver.last.start('poison');
    await crash();
    await vi.advanceTimersByTimeAsync(1_000);
    return failure;
  };

  it('refuses a request that killed enough workers without touching another, until its time is over', async () => {
    const worker = await open({ quarantine: { afterKills: 2, forMs: 60_000 }, restart: { max: 10 } });
    await kill(worker, { id: 1 });
    await kill(worker, { id: 1 });
    const lives = driver.connections.length;
    expect(await failureOf(worker.send('poison', { id: 1 }))).toMatchObject({ name: 'QuarantinedError', kills: 2 });
    expect(driver.connections).toHaveLength(lives);
    expect(driver.last.requests).toEqual([]);
    void worker.send('poison', { id: 2 });
    expect(driver.last.requests).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(60_000);
    void worker.send('poison', { id: 1 });
    expect(driver.last.requests).toHaveLength(2);
  });

  it('leaves a request the tries that were asked for', async () => {
    const worker = await open({ ...retry(4), quarantine: { afterKills: 2 } });
    const failure = failureOf(worker.send('poison'));
    for (let death = 0; death < 4; death += 1) {
      await vi.waitFor(() => expect(driver.last.requests).toHaveLength(1));
      driver.last.start('poison');
      await crash();
      await vi.advanceTimersByTimeAsync(1_000);
    }
    expect(await failure).toMatchObject({ name: 'WorkerCrashedError', attempt: 4 });
    expect(await failureOf(worker.send('poison'))).toBeInstanceOf(QuarantinedError);
  });

  it('can be turned off', async () => {
    const worker = await open({ quarantine: { afterKills: 0 }, restart: { max: 10 } });
    for (let death = 0; death < 5; death += 1) expect(await kill(worker, 1)).toBeInstanceOf(WorkerCrashedError);
  });

  it('does not hold a recycled worker against its request', async () => {
    const worker = await open({ quarantine: { afterKills: 1 } });
    const failure = failureOf(worker.send('work'));
    driver.last.start('work');
    await worker.recycle();
    await turn();
    expect(await failure).toBeInstanceOf(WorkerCrashedError);
    const answer = worker.send('work');
    driver.last.answer('work', 1);
    expect(await answer).toBe(1);
  });
});

describe('limits of a request', () => {
  it('accepts requests up to the limit of pending ones, and not one more', async () => {
    const worker = await open({ maxPending: 2 });
    const answers = [worker.send('a'), worker.send('b')];
    expect(await failureOf(worker.send('c'))).toBeInstanceOf(BackpressureError);
    driver.last.answer('a', 1);
    await answers[0];
    void worker.send('c');
    expect(worker.pending).toBe(2);
  });

  it('hands the worker no more at once than maxConcurrent', async () => {
    const worker = await open({ maxConcurrent: 1 });
    void worker.send('a');
    void worker.send('b');
    expect(driver.last.requests).toHaveLength(1);
    driver.last.answer('a', 1);
    expect(driver.last.requests).toHaveLength(2);
  });

  it('limits time by call, then by type, then by default, and 0 means no limit', async () => {
    const worker = await open({ timeout: { request: 300, byType: { quick: 200, endless: 0 } } as never });
    const settled: string[] = [];
    const watch = (name: string, promise: Promise<unknown>): void =>
      void promise.catch((error: RequestTimeoutError) => settled.push(`${name} ${error.timeoutMs}`));
    watch('call', worker.send('quick', undefined, { timeout: 100 }));
    watch('type', worker.send('quick'));
    watch('default', worker.send('other'));
    watch('none', worker.send('endless'));
    watch('none', worker.send('quick', undefined, { timeout: 0 }));
    watch('none', worker.send('quick', undefined, { timeout: Number.POSITIVE_INFINITY }));
    await vi.advanceTimersByTimeAsync(10_000_000);
    expect(settled).toEqual(['call 100', 'type 200', 'default 300']);
    expect(worker.pending).toBe(3);
  });

  it('leaves no timer and no listener behind after 1,000 requests', async () => {
    const worker = await open();
    const controller = new AbortController();
    const added = vi.spyOn(controller.signal, 'addEventListener');
    const removed = vi.spyOn(controller.signal, 'removeEventListener');
    for (let count = 0; count < 1_000; count += 1) {
      const answer = worker.send('work', count, { signal: controller.signal });
      driver.last.answer('work', count);
      await answer;
    }
    expect(vi.getTimerCount()).toBeLessThanOrEqual(1); // one for all of them
    expect(added).toHaveBeenCalledTimes(1_000);
    expect(removed).toHaveBeenCalledTimes(1_000);
    await worker.close();
    expect(vi.getTimerCount()).toBe(0);
  });

  it('rejects with the reason of a signal, aborted before or after', async () => {
    const worker = await open();
    const reason = { not: 'an error' };
    const before = failureOf(worker.send('work', undefined, { signal: AbortSignal.abort(reason) }));
    expect(await before).toBe(reason);
    expect(driver.last.requests).toEqual([]);
    const controller = new AbortController();
    const after = failureOf(worker.send('work', undefined, { signal: controller.signal }));
    controller.abort(reason);
    expect(await after).toBe(reason);
    expect(driver.last.sent.at(-1)).toEqual([kind.cancel, driver.last.idOf('work')]);
  });

  it('rejects with the error of the user, although it has the name of an error of this library', async () => {
    const worker = await open();
    const failure = failureOf(worker.send('work'));
    const data = { name: 'SerializationError', message: 'mine', properties: { code: 'E_MINE', line: 7 } };
    driver.last.say([kind.error, driver.last.idOf('work'), data]);
    expect(await failure).toMatchObject({ ...data.properties, name: 'SerializationError', message: 'mine' });
  });

  it('adds one listener to a signal that many requests and drains share', async () => {
    const worker = await open();
    const controller = new AbortController();
    const { signal } = controller;
    const failures = Array.from({ length: 20 }, () => failureOf(worker.send('work', undefined, { signal })));
    const drained = [worker.drain(signal), worker.drain(signal)];
    expect(getEventListeners(signal, 'abort')).toHaveLength(1);
    controller.abort();
    for (const failure of failures) expect(await failure).toBe(signal.reason);
    await Promise.all(drained);
    expect(getEventListeners(signal, 'abort')).toHaveLength(0);
  });

  it('cancels a request whose onProgress throws', async () => {
    const worker = await open();
    const onProgress = (): never => {
      throw new Error('I cannot bear it');
    };
    const failure = failureOf(worker.send('work', undefined, { onProgress }));
    driver.last.say([kind.progress, driver.last.idOf('work'), 1]);
    expect((await failure).message).toBe('I cannot bear it');
  });
});

describe('a worker that does not acknowledge a cancellation', () => {
  const stuck = async (options: Partial<WorkerOptions<Loose>> = {}) => {
    const worker = await open({ timeout: { byType: { spin: 100 }, request: 0 }, ...options });
    const spin = failureOf(worker.send('spin'));
    await vi.advanceTimersByTimeAsync(100);
    expect(await spin).toBeInstanceOf(RequestTimeoutError);
    return worker;
  };
  const [limitMs, connections] = [5_000, () => driver.connections.length];

  it('is replaced, and what it had not begun runs again, sent before the time limit or after', async () => {
    const worker = await open({ timeout: { byType: { spin: 100 }, request: 0 } });
    const answers = [failureOf(worker.send('spin')), worker.send('before')];
    await vi.advanceTimersByTimeAsync(100);
    answers.push(worker.send('after'));
    await vi.advanceTimersByTimeAsync(limitMs - 1);
    await turn();
    expect([connections(), driver.last.killed]).toEqual([1, 0]);
    await vi.advanceTimersByTimeAsync(1);
    await turn();
    await vi.waitFor(() =>
      expect(driver.last.requests).toMatchObject([{ type: 'before', attempt: 1 }, { type: 'after' }]),
    );
    expect(driver.connections[0]?.killed).toBe(1);
    driver.last.answer('before', 1);
    driver.last.answer('after', 2);
    expect(await Promise.all(answers)).toEqual([expect.any(RequestTimeoutError), 1, 2]);
  });

  it('is kept when it acknowledges or answers after all', async () => {
    const worker = await stuck();
    driver.last.say([kind.cancelled, driver.last.idOf('spin')]);
    const aborted = new AbortController();
    const late = failureOf(worker.send('late', undefined, { signal: aborted.signal }));
    aborted.abort();
    await late;
    driver.last.answer('late', 1);
    await vi.advanceTimersByTimeAsync(3 * limitMs);
    await turn();
    expect([connections(), driver.last.killed]).toEqual([1, 0]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it.each([
    ['older', false],
    ['newer', true],
  ])('is spared while a request that may compute has its caller: an %s one', async (_, isNewer) => {
    const worker = await open({ timeout: 0 });
    const [spinning, wanted] = [new AbortController(), new AbortController()];
    const send = (type: string, { signal }: AbortController) => failureOf(worker.send(type, undefined, { signal }));
    const calls = isNewer
      ? [send('spin', spinning), send('wanted', wanted)]
      : [send('wanted', wanted), send('spin', spinning)];
    if (isNewer) driver.last.start('wanted');
    spinning.abort();
    await vi.advanceTimersByTimeAsync(3 * limitMs);
    await turn();
    expect(driver.last.killed).toBe(0);
    wanted.abort();
    await vi.advanceTimersByTimeAsync(limitMs);
    await turn();
    expect(driver.connections[0]?.killed).toBe(1);
    await Promise.all(calls);
  });

  it.each([{ cancellation: { acknowledgeMs: 0 } }, { timeout: { byType: { spin: 100 }, onTimeout: 'keep' as const } }])(
    'is kept with %j',
    async (options) => {
      await stuck(options);
      await vi.advanceTimersByTimeAsync(3 * limitMs);
      await turn();
      expect([connections(), driver.last.killed]).toEqual([1, 0]);
    },
  );
});

describe('the times of requests', () => {
  const after = (ms: number) => vi.advanceTimersByTimeAsync(ms);

  it('are those in which they waited, and in which the worker had them', async () => {
    const worker = await open({ maxConcurrent: 1, timeout: { byType: { late: 40 } } });
    const { wait, run } = worker.times;
    const answers = [worker.send('first'), worker.send('second'), failureOf(worker.send('late'))];
    await after(10);
    driver.last.answer('first', 1);
    await after(20);
    driver.last.answer('second', 2);
    await after(10); // 40 since it was sent
    await Promise.all(answers);
    expect(wait).toMatchObject({ count: 3, minMs: 0, maxMs: 30 });
    expect(run).toMatchObject({ count: 3, minMs: 10, maxMs: 20 });
    expect(run.toJSON()).toMatchObject({ count: 3, p50Ms: expect.closeTo(10, 0), maxMs: 20 });
  });

  it('count a wait that was in vain, and one for each attempt, and no run that ended in a crash', async () => {
    const worker = await open({ maxConcurrent: 1, timeout: { byType: { late: 40 } }, ...retry(2) });
    const first = worker.send('first');
    const late = failureOf(worker.send('late'));
    await after(40);
    expect(await late).toBeInstanceOf(RequestTimeoutError);
    expect(worker.times.wait).toMatchObject({ count: 2, maxMs: 40 });
    await crash();
    await vi.waitFor(() => expect(driver.last.requests).toHaveLength(1));
    expect(worker.times.run.count).toBe(0);
    driver.last.answer('first', 1);
    await first;
    expect([worker.times.wait.count, worker.times.run.count]).toEqual([3, 1]);
    worker.times.run.reset();
    expect(worker.times.run.count).toBe(0);
  });

  it('end with the answer, not with the middleware', async () => {
    const worker = await open({
      middleware: [async ({ value }) => (await new Promise((go) => setTimeout(go, 50)), { value })],
    });
    const answer = worker.send('work');
    await after(50);
    await after(7);
    driver.last.answer('work', 1);
    await after(50);
    expect(await answer).toBe(1);
    expect([worker.times.wait.maxMs, worker.times.run.maxMs]).toEqual([50, 7]);
  });
});

describe('standby', () => {
  it('is started later when the system could not start it', async () => {
    const worker = await open({ standby: true });
    driver.refusal = Object.assign(new Error('spawn ENOMEM'), { code: 'ENOMEM' });
    driver.connections[0]?.die(); // the spare takes over, and the next spare cannot be started
    await turn();
    await turn();
    expect(driver.connections).toHaveLength(2);
    driver.refusal = undefined;
    await vi.advanceTimersByTimeAsync(1_000);
    expect(driver.connections).toHaveLength(3);
    await worker.close();
  });

  it('answers from the spare at once and starts another', async () => {
    const worker = await open({ ...retry(2), standby: true });
    expect(driver.connections).toHaveLength(2);
    const answer = worker.send('work');
    const [first, spare] = driver.connections;
    first?.start('work');
    first?.die();
    await turn();
    expect(spare?.requests).toMatchObject([{ type: 'work', attempt: 2 }]);
    expect(driver.connections).toHaveLength(3);
    spare?.answer('work', 'from the spare');
    expect(await answer).toBe('from the spare');
  });

  it('replaces a spare that died, but not faster than once a second', async () => {
    await open({ standby: true });
    for (let death = 0; death < 3; death += 1) {
      const before = driver.connections.length;
      await crash();
      await vi.advanceTimersByTimeAsync(900);
      expect(driver.connections).toHaveLength(before);
      await vi.advanceTimersByTimeAsync(200);
      expect(driver.connections).toHaveLength(before + 1);
    }
  });
});

describe('what a driver cannot do is refused when the worker is created', () => {
  const refused: [string, Partial<WorkerOptions<Loose>>, Partial<ScriptedDriver['capabilities']>][] = [
    ['retry without reconnect', retry(2), { reconnect: false }],
    [
      'retry of one type without reconnect',
      { unexpectedShutdown: { strategy: 'reject', byType: { a: { strategy: 'retry' } } } as never },
      { reconnect: false },
    ],
    ['standby without reconnect', { standby: true }, { reconnect: false }],
    ['a heap limit without memoryLimit', { maxHeapMb: 64 }, { memoryLimit: false }],
    ['a memory limit without memory of its own', { maxMemoryMb: 64 }, {}],
    ['attempts that are no count', retry(0), {}],
    ['attempts that are no number', retry(Number.NaN), {}],
  ];
  it.each(refused)('%s', async (_, options, capabilities) => {
    driver = new ScriptedDriver(capabilities);
    expect(await failureOf(open(options))).toBeInstanceOf(UnsupportedOptionError);
    expect(driver.connections).toEqual([]);
  });

  it('a user with threads, which share that of the host', async () => {
    const error = await failureOf(open({ driver: workerThreads, user: { uid: 65_530, gid: 65_530 } }));
    expect(error).toBeInstanceOf(UnsupportedOptionError);
    expect(error.message).toContain('Omit user');
  });

  it('a limit of frames with threads, which have none', async () => {
    const error = await failureOf(open({ driver: workerThreads, maxFrameBytes: 1_000 }));
    expect(error).toBeInstanceOf(UnsupportedOptionError);
    expect(error.message).toContain('Omit maxFrameBytes');
  });
});

describe('closing', () => {
  it('resolves drain when nothing is pending, and refuses new requests meanwhile', async () => {
    const worker = await open();
    const answer = worker.send('work');
    let drained = false;
    const drain = worker.drain().then(() => (drained = true));
    expect(await failureOf(worker.send('other'))).toBeInstanceOf(WorkerClosedError);
    expect(drained).toBe(false);
    driver.last.answer('work', 1);
    await drain;
    expect(await answer).toBe(1);
  });

  it('resolves drain at its deadline, and at once when that is over', async () => {
    const worker = await open();
    void worker.send('work').catch(() => undefined);
    const controller = new AbortController();
    const removed = vi.spyOn(controller.signal, 'removeEventListener');
    const drain = worker.drain(controller.signal);
    controller.abort();
    await drain;
    expect(removed).toHaveBeenCalledOnce();
    await worker.drain(AbortSignal.abort());
    await worker.close();
  });

  it('does not wait for a worker that is still starting', async () => {
    const worker = await open();
    driver.becomesReady = false;
    await crash();
    await worker.close();
    expect(driver.last.killed).toBe(1);
    expect(worker.state).toBe('closed');
    expect(driver.connections).toHaveLength(2);
  });

  it('does not restart after close, though a restart was due', async () => {
    const worker = await open();
    driver.becomesReady = false;
    await crash();
    await crash();
    await worker.close();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(driver.connections).toHaveLength(2);
    expect(vi.getTimerCount()).toBe(0);
  });
});
