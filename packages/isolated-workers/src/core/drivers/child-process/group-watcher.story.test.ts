import { Child, eventually, isAlive } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { requireProcessGroups } from './group-watcher.js';
import { failureOf, fixture, workerBench } from '../../test-bench.test.fixture.js';

const { open } = workerBench();

it.each(['spins', 'is idle'])(
  'a host that is killed takes its worker along, which %s, and the children of the worker',
  async (doing) => {
    const host = new Child(process.execPath, [fixture('host.mjs'), doing]);
    const line = await host.line(/^pids/);
    const [worker = 0, grandchild = 0] = line.split(' ').slice(1).map(Number);
    try {
      expect([worker, grandchild].map(isAlive)).toEqual([true, true]);
      host.kill('SIGKILL');
      await host.exited;
      await eventually(() => expect([worker, grandchild].map(isAlive)).toEqual([false, false]));
    } finally {
      for (const pid of [worker, grandchild]) if (pid > 0 && isAlive(pid)) process.kill(pid, 'SIGKILL');
    }
  },
);

async function startHost(name: string, ...args: string[]): Promise<{ host: Child; worker: number }> {
  const host = new Child(process.execPath, [fixture(name), ...args]);
  return { host, worker: Number((await host.line(/^pid/)).split(' ')[1]) };
}

/** Waits until a worker has ended, and ends it otherwise. */
async function hasEnded(worker: number): Promise<boolean> {
  try {
    return await eventually(() => !isAlive(worker));
  } finally {
    if (isAlive(worker)) process.kill(worker, 'SIGKILL');
  }
}

it.each([
  ['exits', 'blocks-at-load.mjs'],
  ['is killed', 'blocks-at-load.mjs'],
  ['is killed', 'never-starts.mjs'],
])('a host that %s before its worker serves takes it along, with the script %s', async (ending, script) => {
  const { host, worker } = await startHost('starting-host.mjs', ending, `./${script}`);
  if (ending !== 'exits') host.kill('SIGKILL');
  expect(await hasEnded(worker)).toBe(true);
});

describe.runIf(process.platform === 'linux')('the watcher', () => {
  it('finds the worker of a host that was killed while it started it', async () => {
    const { worker } = await startHost('watching-host.mjs', 'dies', '/bin/sh');
    expect(await hasEnded(worker)).toBe(true);
  });

  it.each(['/bin/sh', '/no/such/shell'])('is replaced when it is killed, with the shell %s', async (shell) => {
    const { host, worker } = await startHost('watching-host.mjs', 'waits', shell);
    const first = await host.line(/^watcher/);
    process.kill(Number(first.split(' ')[1]), 'SIGKILL');
    await eventually(() => expect(host.stdout.filter((line) => line.startsWith('watcher'))).toHaveLength(2));
    expect(isAlive(worker)).toBe(true);
    host.kill('SIGKILL');
    expect(await hasEnded(worker)).toBe(true);
  });
});

it('refuses Windows, which has no process groups, and names what to use there', () => {
  expect(() => requireProcessGroups('win32')).toThrow(/not on Windows. Use the driver workerThreads/);
  expect(() => requireProcessGroups('darwin')).not.toThrow();
});

it('sample answers while the event loop is blocked, and reports for how long', async () => {
  const worker = await open();
  const idle = await worker.sample();
  expect(idle?.busyMs).toBe(0);
  expect(idle?.rssBytes).toBeGreaterThan(1_000_000);
  const failure = failureOf(worker.send('spin'));
  const busyMs = (): Promise<number> => worker.sample().then((sample) => sample?.busyMs ?? 0);
  const first = await eventually(async () => {
    const now = await busyMs();
    expect(now).toBeGreaterThan(300);
    return now;
  });
  await eventually(async () => expect(await busyMs()).toBeGreaterThan(first));
  await worker.recycle();
  expect((await failure).name).toBe('WorkerCrashedError');
});

it('a worker that was sampled ends itself as before', async () => {
  const worker = await open();
  expect((await worker.sample())?.busyMs).toBe(0);
  expect(await failureOf(worker.send('exit', 6))).toMatchObject({ name: 'WorkerCrashedError', exitCode: 6 });
  expect(await worker.send('echo', 1)).toBe(1);
  expect((await worker.sample())?.busyMs).toBe(0);
  await worker.close();
});

it('sample resolves with nothing when the worker dies meanwhile', async () => {
  const worker = await open();
  const failure = failureOf(worker.send('die'));
  const samples = Array.from({ length: 20 }, () => worker.sample());
  await Promise.all(samples);
  expect((await failure).name).toBe('WorkerCrashedError');
});

it('a worker above its memory limit is killed during a request, and the error names the reason', async () => {
  const worker = await open({ maxMemoryMb: 200 });
  const error = await failureOf(worker.send('swell'));
  expect(error).toMatchObject({ name: 'WorkerCrashedError', outOfMemory: true, signal: 'SIGKILL' });
  expect(error.message).toContain('out of memory');
  expect(await worker.send('echo', 1)).toBe(1);
});
