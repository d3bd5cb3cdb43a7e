import { Child, eventually, isAlive } from '@drover/testkit';
import { expect, it } from 'vitest';
import { failureOf, fixture, workerBench } from '../test-bench.test.fixture.js';

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

it('does not keep the worker from ending itself', async () => {
  const worker = await open();
  expect((await worker.sample())?.busyMs).toBe(0); // so the guard is at work
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
