import { execFileSync } from 'node:child_process';
import { closeSync, constants, existsSync, openSync } from 'node:fs';
import path from 'node:path';
import { eventually, isAlive, withScratchDirectory } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { WorkerClosedError, WorkerCrashedError, WorkerUnavailableError } from '../types/errors.js';
import { childProcess } from './drivers/child-process/host.js';
import { workerThreads } from './drivers/worker-threads/host.js';
import { drivers, failureOf, fixture, toldDuring, watched, workerBench } from './test-bench.test.fixture.js';

const { open } = workerBench();
const retry = (attempts: number) => ({ unexpectedShutdown: { strategy: 'retry', attempts } }) as const;
const quickly = { restart: { max: 20, delayMs: 1 } };
const megabyte = 1024 * 1024;

function killAtBirth(...lives: readonly number[]): { readonly driver: typeof childProcess; readonly pids: number[] } {
  const pids: number[] = [];
  const driver = watched(childProcess, ({ pid = 0 }, life) => {
    pids.push(pid);
    if (lives.includes(life)) process.kill(pid, 'SIGKILL');
  });
  return { driver, pids };
}

describe('a process that is killed by SIGKILL', () => {
  it('while it connects, is unavailable and is not retried', async () => {
    const { driver, pids } = killAtBirth(1);
    const error = await failureOf(open({ driver }));
    expect(error).toBeInstanceOf(WorkerUnavailableError);
    expect(error.message).toContain('SIGKILL');
    expect(pids.map(isAlive)).toEqual([false]);
  });

  it.each([[[]], [['in the middle of its first word']]])('before it is ready, is unavailable %s', async (argv) => {
    const error = await failureOf(open({ script: fixture('killed-before-ready.mjs'), argv }));
    expect(error).toBeInstanceOf(WorkerUnavailableError);
    expect(error.message).toContain('SIGKILL');
  });

  it('while it connects for a retry or runs it, is replaced, and only what it ran costs an attempt', async () => {
    const { driver, pids } = killAtBirth(2, 4);
    const worker = await open({ driver, ...retry(3), ...quickly });
    const [retried, behind] = [worker.send('dieUntil', 3), worker.send('attempt')];
    expect(await retried).toBe(3);
    expect(await behind).toBe(1);
    expect(pids.map(isAlive)).toEqual([false, false, false, false, true]);
  });

  it('in the middle of a large response, fails that request or runs it again, and no half answer is seen', async () => {
    const worker = await open({ ...retry(2), ...quickly });
    const told = await toldDuring(async () => {
      const answer = (await worker.send('dieHalfWay', [16 * megabyte, 2])) as Uint8Array;
      expect(answer).toHaveLength(16 * megabyte);
      expect(answer.every((byte) => byte === 7)).toBe(true);
      expect(await failureOf(worker.send('dieHalfWay', [16 * megabyte, 3]))).toMatchObject({
        name: 'WorkerCrashedError',
        signal: 'SIGKILL',
        attempt: 2,
      });
    });
    expect(told).toEqual({ crashes: 3, settled: ['dieHalfWay', 'dieHalfWay'] });
    expect(await worker.send('echo', 1)).toBe(1);
  });

  it('while it closes, is closed, and its requests are rejected once', async () => {
    const worker = await open({ ...retry(3), closeGraceMs: 60_000 });
    const { pid = 0 } = worker;
    const told = await toldDuring(async () => {
      const pending = failureOf(worker.send('hang'));
      const closing = worker.close();
      process.kill(pid, 'SIGKILL');
      await closing;
      expect(await pending).toBeInstanceOf(WorkerClosedError);
    });
    expect(told).toEqual({ crashes: 0, settled: ['hang'] });
    expect(isAlive(pid)).toBe(false);
  });

  it('while its onClose runs, is closed without waiting for its grace', async () => {
    await withScratchDirectory(async (directory) => {
      const file = path.join(directory, 'closing');
      const lives: number[] = [];
      const driver = watched(childProcess, (_, life) => lives.push(life));
      const worker = await open({ driver, script: fixture('slow-close.mjs'), ...retry(3), closeGraceMs: 60_000 });
      const { pid = 0 } = worker;
      await worker.send('stayAtClose', file);
      const told = await toldDuring(async () => {
        const pending = [failureOf(worker.send('hang')), failureOf(worker.send('hang'))];
        const closings = [worker.close(), worker.close()];
        await eventually(() => existsSync(file));
        process.kill(pid, 'SIGKILL');
        await Promise.all(closings);
        for (const failure of pending) expect(await failure).toBeInstanceOf(WorkerClosedError);
      });
      expect(told).toEqual({ crashes: 0, settled: ['hang', 'hang'] });
      expect(worker.state).toBe('closed');
      expect(worker.pending).toBe(0);
      expect(isAlive(pid)).toBe(false);
      expect(lives).toEqual([1]);
    });
  });
});

describe('the end of a process is reported once', () => {
  it('when it exits first and its pipes, which a grandchild has too, close later', async () => {
    const worker = await open();
    const grandchild = (await worker.send('grandchild', { detached: true, thenDie: false })) as number;
    try {
      const told = await toldDuring(async () => {
        const pending = [failureOf(worker.send('hang')), failureOf(worker.send('exit', 6))];
        for (const failure of pending) {
          expect(await failure).toMatchObject({ name: 'WorkerCrashedError', reason: { type: 'exit', code: 6 } });
        }
        expect(isAlive(grandchild)).toBe(true); // so its pipe was open all the time
        process.kill(grandchild, 'SIGKILL');
        expect(await worker.send('echo', 1)).toBe(1);
      });
      expect(told).toEqual({ crashes: 1, settled: ['hang', 'exit', 'echo'] });
    } finally {
      if (isAlive(grandchild)) process.kill(grandchild, 'SIGKILL');
    }
  });

  it('when its wire closes first and it exits later, with its exit code', async () => {
    const worker = await open();
    const told = await toldDuring(async () => {
      const pending = [failureOf(worker.send('hang')), failureOf(worker.send('closeWireThenExit', 6))];
      for (const failure of pending) {
        expect(await failure).toMatchObject({ name: 'WorkerCrashedError', reason: { type: 'exit', code: 6 } });
      }
      expect(await worker.send('echo', 1)).toBe(1);
    });
    expect(told).toEqual({ crashes: 1, settled: ['hang', 'closeWireThenExit', 'echo'] });
  });
});

describe.each(drivers)('$name: close while a restart waits for its time', ({ driver }) => {
  it('is quick, rejects what waits, and no worker is started any more', async () => {
    const lives: number[] = [];
    const worker = await open({
      driver: watched(driver, (_, life) => lives.push(life)),
      restart: { delayMs: 60_000, maxDelayMs: 60_000 },
    });
    for (const _ of [1, 2]) expect(await failureOf(worker.send('die'))).toBeInstanceOf(WorkerCrashedError);
    expect(worker.state).toBe('restarting');
    const waiting = failureOf(worker.send('echo', 1));
    await worker.close();
    expect(await waiting).toBeInstanceOf(WorkerClosedError);
    expect(worker.pending).toBe(0);
    expect(lives).toEqual([1, 2]);
  });
});

describe('a thread in a system call, which nothing can interrupt', () => {
  /** Lets a thread read a file that has no end before `run` has ended. */
  async function whileBlocked(
    options: { readonly closeGraceMs?: number },
    run: (worker: Awaited<ReturnType<typeof open>>, failure: Promise<Error>) => Promise<void>,
  ): Promise<void> {
    await withScratchDirectory(async (directory) => {
      const file = path.join(directory, 'pipe');
      execFileSync('mkfifo', [file]);
      const worker = await open({ driver: workerThreads, ...options });
      const failure = failureOf(worker.send('readFile', file));
      // Fails until the thread has opened the file.
      const writer = await eventually(() => openSync(file, constants.O_WRONLY | constants.O_NONBLOCK));
      try {
        await run(worker, failure);
      } finally {
        closeSync(writer);
      }
    });
  }

  it('is given up when it is closed', async () => {
    await whileBlocked({ closeGraceMs: 1 }, async (worker, failure) => {
      await worker.close();
      expect(await failure).toBeInstanceOf(WorkerClosedError);
      expect(worker.state).toBe('closed');
    });
  });

  it('is replaced when it is recycled, however often it is killed, without a warning', async () => {
    const warnings: Error[] = [];
    const note = (warning: Error): void => void warnings.push(warning);
    process.on('warning', note);
    await whileBlocked({}, async (worker, failure) => {
      await Promise.all(Array.from({ length: 12 }, () => worker.recycle()));
      expect(await failure).toMatchObject({ name: 'WorkerCrashedError', endedByHost: true, signal: 'SIGKILL' });
      expect(await worker.send('echo', 1)).toBe(1);
    });
    process.off('warning', note);
    expect(warnings).toEqual([]);
  });
});

it.each(['null', 'string'])('a thread that throws and does not catch a %s crashes alone', async (name) => {
  const worker = await open({ driver: workerThreads });
  const error = await failureOf(worker.send('throwValueLater', name));
  expect(error).toBeInstanceOf(WorkerCrashedError);
  expect(error.message).toContain('A value that is not an Error was thrown');
  expect(await worker.send('echo', 1)).toBe(1);
});
