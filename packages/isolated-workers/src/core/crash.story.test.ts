import { readFileSync } from 'node:fs';
import path from 'node:path';
import { isAlive, withScratchDirectory } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import {
  RequestTimeoutError,
  SerializationError,
  UnknownMessageError,
  UnsupportedOptionError,
  WorkerClosedError,
  WorkerCrashedError,
  WorkerUnavailableError,
} from '../types/errors.js';
import type { WorkerClient } from '../types/worker.js';
import {
  drivers,
  failureOf,
  fixture,
  stateReached,
  type LooseStreams,
  workerBench,
} from './test-bench.test.fixture.js';

const { open } = workerBench();
const retry = (attempts: number) => ({ unexpectedShutdown: { strategy: 'retry', attempts } }) as const;

describe('a real process that dies', () => {
  it('OOM crash (SIGKILL) detected via exit event', async () => {
    const worker = await open();
    const failure = failureOf(worker.send('hang'));
    const { pid } = worker;
    if (pid !== undefined) process.kill(pid, 'SIGKILL');
    expect(await failure).toMatchObject({
      name: 'WorkerCrashedError',
      reason: { type: 'exit', code: null, signal: 'SIGKILL' },
      signal: 'SIGKILL',
      exitCode: null,
      pid,
    });
  });

  it('Normal termination (SIGTERM) detected via exit event', async () => {
    const worker = await open();
    expect(await failureOf(worker.send('terminate'))).toMatchObject({
      name: 'WorkerCrashedError',
      reason: { type: 'exit', code: null, signal: 'SIGTERM' },
    });
  });

  it('Error messages contain correct exit code, signal, and attempt info', async () => {
    const worker = await open(retry(2));
    const { pid } = worker;
    await worker.send('say', 'the last words');
    const exit = await failureOf(worker.send('exit', 42));
    expect(exit).toMatchObject({ exitCode: 42, signal: null, attempt: 2, maxAttempts: 2, messageType: 'exit' });
    expect(exit.message).toContain("after 2 attempts while processing 'exit' (exit code 42");
    expect(exit['pid']).not.toBe(pid);
    const killed = await failureOf(worker.send('die'));
    expect(killed.message).toContain('signal SIGKILL');
  });

  it('has the last 4 KiB of its standard error in the error', async () => {
    const worker = await open();
    await worker.send('say', 'x'.repeat(10_000));
    await worker.send('say', 'the last words');
    const error = await failureOf(worker.send('die'));
    expect(error).toBeInstanceOf(WorkerCrashedError);
    expect(error['stderr']).toHaveLength(4_096);
    expect(error.message).toMatch(/: the last words$/);
  });
});

describe.each(drivers)('$name: whatever a worker does', ({ name, driver }) => {
  const isProcess = name === 'child-process';

  it('Process crash handled with configured strategy', async () => {
    const worker = await open({
      driver,
      unexpectedShutdown: { strategy: 'reject', byType: { dieOnce: { strategy: 'retry', attempts: 2 } } },
    });
    expect(await failureOf(worker.send('die'))).toBeInstanceOf(WorkerCrashedError);
    expect(await worker.send('dieOnce')).toBe(2);
  });

  it('Multiple crashes trigger retry up to max attempts', async () => {
    const worker = await open({ driver, ...retry(3) });
    expect(await failureOf(worker.send('die'))).toMatchObject({
      name: 'WorkerCrashedError',
      attempt: 3,
      maxAttempts: 3,
    });
    expect(await worker.send('echo', 'alive')).toBe('alive');
  });

  it('Retry on new worker succeeds and resolves original promise', async () => {
    const worker = await open({ driver, ...retry(3) });
    expect(await worker.send('dieUntil', 3)).toBe(3);
  });

  it('retry without a number means two attempts', async () => {
    const worker = await open({ driver, unexpectedShutdown: { strategy: 'retry' } });
    expect(await worker.send('dieUntil', 2)).toBe(2);
    expect(await failureOf(worker.send('dieUntil', 3))).toMatchObject({ attempt: 2, maxAttempts: 2 });
  });

  it('process.exit in a handler fails that request with the exit code', async () => {
    const worker = await open({ driver });
    expect(await failureOf(worker.send('exit', 5))).toMatchObject({ name: 'WorkerCrashedError', exitCode: 5 });
    expect(await worker.send('echo', 1)).toBe(1);
  });

  it('process.exit(0) with requests pending fails each of them once', async () => {
    const worker = await open({ driver });
    const hanging = [failureOf(worker.send('hang')), failureOf(worker.send('hang'))];
    const exit = failureOf(worker.send('exit', 0));
    for (const failure of [...hanging, exit]) {
      expect(await failure).toMatchObject({ name: 'WorkerCrashedError', exitCode: 0 });
    }
    expect(worker.pending).toBe(0);
    expect(await worker.send('echo', 1)).toBe(1);
  });

  it.each([
    { timeout: { byType: { spin: 200 }, onTimeout: 'recycle' as const } },
    { timeout: { byType: { spin: 200 } }, cancellation: { acknowledgeMs: 50 } },
  ])('an infinite loop ends with its time, and the worker behind it is replaced: %j', async (options) => {
    const worker = await open({ driver, ...options });
    const spin = failureOf(worker.send('spin'));
    const behind = worker.send('attempt');
    expect(await spin).toBeInstanceOf(RequestTimeoutError);
    expect(await behind).toBe(1);
  });

  it('a request that computes is not ended because another was cancelled beside it', async () => {
    const worker = await open({ driver, cancellation: { acknowledgeMs: 10 } });
    const controller = new AbortController();
    const hung = failureOf(worker.send('hang', undefined, { signal: controller.signal }));
    const busy = worker.send('compute', 300);
    controller.abort(new Error('enough'));
    expect((await hung).message).toBe('enough');
    expect(await busy).toBe(300);
  });

  it('150,000 requests behind one that crashes are answered, each once', async () => {
    const worker = await open({ driver, maxPending: Number.POSITIVE_INFINITY, timeout: 0 });
    const crash = failureOf(worker.send('die'));
    const answers = await Promise.all(Array.from({ length: 150_000 }, (_, n) => worker.send('echo', n)));
    expect(answers.every((answer, n) => answer === n)).toBe(true);
    expect(await crash).toBeInstanceOf(WorkerCrashedError);
  });

  it('an exhausted heap is reported as out of memory', async () => {
    const worker = await open({ driver, maxHeapMb: 24 });
    const error = await failureOf(worker.send('grow'));
    expect(error).toMatchObject({ name: 'WorkerCrashedError', outOfMemory: true });
    expect(error.message).toContain('out of memory');
    expect(await worker.send('echo', 1)).toBe(1);
  });

  it('what cannot be cloned fails that request alone, wherever it is met', async () => {
    const worker = await open({ driver, hostHandlers: { uncloneable: () => () => 1 } });
    const beside = worker.send('slow', 20);
    for (const value of [() => 1, Symbol('s'), { deep: [() => 1] }, new WeakMap()]) {
      expect(await failureOf(worker.send('echo', value))).toBeInstanceOf(SerializationError);
    }
    for (const type of ['uncloneable', 'uncloneableProgress', 'uncloneableQuestion', 'askHost']) {
      expect(await failureOf(worker.send(type, ['uncloneable']))).toMatchObject({ code: 'ERR_SERIALIZATION' });
    }
    const items = (worker as unknown as WorkerClient<LooseStreams>).stream('uncloneableItem');
    expect(await items.next()).toEqual({ value: 1, done: false });
    expect(await failureOf(items.next())).toMatchObject({ code: 'ERR_SERIALIZATION' });
    expect(await beside).toBe(1);
  });

  it('an unknown message type is refused by name', async () => {
    const worker = await open({ driver });
    for (const type of ['unknown', 'hasOwnProperty', 'valueOf']) {
      const error = await failureOf(worker.send(type));
      expect(error).toBeInstanceOf(UnknownMessageError);
      expect(error.message).toContain(`'${type}'`);
    }
  });

  it('messages may be called as parts of objects are', async () => {
    const strategies = Object.fromEntries(
      ['strategy', 'attempts', 'byType', 'constructor', 'toString'].map((type) => [type, { strategy: 'retry' }]),
    );
    const worker = await open({
      driver,
      unexpectedShutdown: { strategy: 'reject', byType: strategies } as never, // names of the fixture
      timeout: { byType: { constructor: 5_000 } } as never,
    });
    for (const type of ['strategy', 'attempts', 'byType', 'constructor', 'toString', '__proto__']) {
      expect(await worker.send(type, 1)).toBe(`${type} 1`);
    }
  });

  it('a thrown value that is not an Error is answered with an Error', async () => {
    const worker = await open({ driver });
    for (const value of ['null', 'string', 'undefined', 'object', 'function']) {
      for (const type of ['throwValue', 'rejectValue']) {
        const error = await failureOf(worker.send(type, value));
        expect(error).toBeInstanceOf(Error);
        expect(error.message).toContain('not an Error was thrown');
        if (value === 'object') expect(error['thrown']).toEqual({ reason: 'an object', at: new Date(0) });
        if (value === 'string') expect(error['thrown']).toBe('just a string');
      }
    }
  });

  it('an error with a property that cannot be read arrives without it', async () => {
    const worker = await open({ driver });
    expect(await failureOf(worker.send('hostileError'))).toMatchObject({
      message: 'bad',
      trap: 'a value that cannot be read',
    });
    expect(await worker.send('echo', 1)).toBe(1);
  });

  it('close during a retry rejects the request and leaves nothing behind', async () => {
    const worker = await open({ driver, ...retry(3) });
    const restarting = stateReached('restarting');
    const failure = failureOf(worker.send('die'));
    await restarting;
    await worker.close();
    expect(await failure).toBeInstanceOf(WorkerClosedError);
    expect(worker.pending).toBe(0);
  });

  it('a worker that dies while it closes is closed', async () => {
    const worker = await open({ driver, script: fixture('slow-close.mjs') });
    await worker.send('dieAtClose');
    await worker.close();
    expect(worker.state).toBe('closed');
  });

  it('a worker that will not close is ended after its grace', async () => {
    const worker = await open({ driver, script: fixture('slow-close.mjs'), closeGraceMs: 200 });
    const { pid } = worker;
    await worker.send('stayAtClose');
    await worker.close();
    expect(worker.state).toBe('closed');
    if (isProcess && pid !== undefined) expect(isAlive(pid)).toBe(false);
  });

  it('a busy loop does not keep close from ending it', async () => {
    const worker = await open({ driver, closeGraceMs: 100 });
    const failure = failureOf(worker.send('spin'));
    await worker.close();
    expect(await failure).toBeInstanceOf(WorkerClosedError);
  });

  it('a script that does not exist is refused at once', async () => {
    const error = await failureOf(open({ driver, script: fixture('no-such.mjs') }));
    expect(error).toBeInstanceOf(UnsupportedOptionError);
    expect(error.message).toContain('no-such.mjs');
  });

  it('a script that throws at load is reported with its output', async () => {
    const error = await failureOf(open({ driver, script: fixture('throws-at-load.mjs') }));
    expect(error).toBeInstanceOf(WorkerUnavailableError);
    expect(error.message).toContain('this script is broken');
  });

  it('a script that never serves is killed after its startup time', async () => {
    const error = await failureOf(open({ driver, script: fixture('never-starts.mjs'), timeout: { startup: 300 } }));
    expect(error).toBeInstanceOf(WorkerUnavailableError);
    expect(error.message).toContain('did not call startWorkerServer within 300 ms');
  });

  it('a worker that no longer starts makes requests fail, and does not spin', async () => {
    await withScratchDirectory(async (directory) => {
      const file = path.join(directory, 'starts');
      const options = { script: fixture('starts-once.mjs'), argv: [file], restart: { max: 3, delayMs: 5 } };
      const worker = await open({ driver, ...options });
      const [failure, waiting] = [failureOf(worker.send('die')), failureOf(worker.send('echo', 1))];
      expect(await failure).toBeInstanceOf(WorkerCrashedError);
      expect(await waiting).toBeInstanceOf(WorkerUnavailableError);
      expect(await failureOf(worker.send('echo', 1))).toBeInstanceOf(WorkerUnavailableError);
      expect(readFileSync(file, 'utf8').match(/start/g)).toHaveLength(4);
    });
  });
});
