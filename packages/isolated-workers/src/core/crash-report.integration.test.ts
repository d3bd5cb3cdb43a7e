import { isAlive } from '@drover/testkit';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { WorkerCrashedError, WorkerUnavailableError } from '../types/errors.js';
import { drivers, failureOf, fixture, workerBench } from './test-bench.test.fixture.js';

const { open } = workerBench();
afterEach(() => void vi.useRealTimers());

describe.each(drivers)('$name: an error that ends a worker', ({ driver }) => {
  it('is in the message of its request with its stack, and is the cause, as long as there is no other worker', async () => {
    const worker = await open({ driver, restart: { max: 0, periodMs: 600_000 } });
    const crash = await failureOf(worker.send('throwLater', 'out of place'));
    expect(crash).toBeInstanceOf(WorkerCrashedError);
    expect(crash.message).toMatch(/\(exit code 1, pid \d+\): TypeError: out of place\n {4}at .*worker\.mjs:\d+/);
    const refused = await failureOf(worker.send('echo', 1));
    expect(refused).toBeInstanceOf(WorkerUnavailableError);
    expect(refused.message).toMatch(
      /^The worker died once within 600000 ms .*: TypeError: out of place\n {4}at .*worker\.mjs:\d+/,
    );
    for (const error of [crash, refused]) {
      expect(error).toMatchObject({ exitCode: 1, signal: null });
      expect(error['stderr']).toContain('out of place');
      expect(error.cause).toBeInstanceOf(Error);
      expect(error.cause).toMatchObject({ name: 'TypeError', message: 'out of place' });
      expect((error.cause as Error).stack).toMatch(/^TypeError: out of place\n {4}at .*worker\.mjs:\d+/);
    }
  });

  it('before it is ready is told by createWorker', async () => {
    const error = await failureOf(open({ driver, script: fixture('throws-at-load.mjs') }));
    expect(error).toBeInstanceOf(WorkerUnavailableError);
    expect(error.message).toMatch(
      /before it was ready \(exit code 1, pid \d+\): Error: this script is broken\n {4}at /,
    );
    expect(error).toMatchObject({ exitCode: 1, signal: null, cause: { message: 'this script is broken' } });
    expect(error['stderr']).toContain('this script is broken');
  });
});

it('the end of a process is reported with all that it printed, without a wait for a grandchild that has its pipes', async () => {
  const worker = await open();
  const grandchild = (await worker.send('grandchild', { detached: true, thenDie: false })) as number;
  try {
    await worker.send('say', 'x'.repeat(100_000));
    vi.useFakeTimers({ toFake: ['setTimeout'] }); // a wait would never end
    const crash = await failureOf(worker.send('throwLater', 'out of place'));
    expect(crash).toMatchObject({ exitCode: 1, cause: { message: 'out of place' } });
    expect(isAlive(grandchild)).toBe(true);
  } finally {
    process.kill(grandchild, 'SIGKILL');
  }
});
