import { describe, expect, it } from 'vitest';
import { BackpressureError, QuarantinedError, WorkerCrashedError, WorkerUnavailableError } from '../types/errors.js';
import { drivers, failureOf, stateReached, workerBench } from './test-bench.test.fixture.js';

const { open } = workerBench();
const retry = (attempts: number) => ({ unexpectedShutdown: { strategy: 'retry', attempts } }) as const;

describe.each(drivers)('$name: when a worker dies', ({ driver }) => {
  it('a poisonous request fails alone, and the four others are answered, one at a time', async () => {
    const worker = await open({ driver, ...retry(3) });
    const neighbours = [worker.send('crowd'), worker.send('crowd')];
    const poison = failureOf(worker.send('dieInCrowd', 4));
    neighbours.push(worker.send('crowd'), worker.send('crowd'));
    expect(await poison).toMatchObject({ name: 'WorkerCrashedError', attempt: 3, maxAttempts: 3 });
    const alone = { attempt: 2, largestCrowd: 1 };
    expect(await Promise.all(neighbours)).toEqual([alone, alone, alone, alone]);
    const together = { attempt: 1, largestCrowd: 2 };
    expect(await Promise.all([worker.send('meet', 2), worker.send('meet', 2)])).toEqual([together, together]);
  });

  it('requests behind the killer had not started: they run again without losing an attempt, with any strategy', async () => {
    const worker = await open({ driver });
    const poison = failureOf(worker.send('die'));
    const behind = Array.from({ length: 5 }, () => worker.send('attempt'));
    expect(await poison).toMatchObject({ name: 'WorkerCrashedError', attempt: 1, maxAttempts: 1 });
    expect(await Promise.all(behind)).toEqual([1, 1, 1, 1, 1]);
  });

  it('a killer behind requests whose answers were lost with it is not run a second time', async () => {
    const worker = await open({ driver });
    const settled = await Promise.allSettled([
      worker.send('echo', 1),
      worker.send('echo', 2),
      worker.send('die'),
      worker.send('attempt'),
    ]);
    expect(settled[2]).toMatchObject({ status: 'rejected', reason: { name: 'WorkerCrashedError', attempt: 1 } });
    expect(settled[3]).toMatchObject({ status: 'fulfilled', value: 1 });
    for (const [index, outcome] of settled.slice(0, 2).entries()) {
      // begun, so it is answered, or fails: what it must not do is run again
      if (outcome.status === 'fulfilled') expect(outcome.value).toBe(index + 1);
      else expect(outcome.reason).toBeInstanceOf(WorkerCrashedError);
    }
  });

  // When a quarantine and a period of restarts end is a matter of the clock: worker.test.ts has a fake one.
  it('a request that kills repeatedly is quarantined, and others of its type are not', async () => {
    const worker = await open({ driver, quarantine: { afterKills: 1, forMs: 600_000 } });
    expect(await failureOf(worker.send('exit', 3))).toBeInstanceOf(WorkerCrashedError);
    const refused = await failureOf(worker.send('exit', 3));
    expect(refused).toBeInstanceOf(QuarantinedError);
    expect(refused).toMatchObject({ messageType: 'exit', kills: 1 });
    expect(await failureOf(worker.send('exit', 4))).toBeInstanceOf(WorkerCrashedError);
    expect(await failureOf(worker.send('exit', 3))).toBeInstanceOf(QuarantinedError);
  });

  it('too often, it is unavailable', async () => {
    const worker = await open({ driver, restart: { max: 1, periodMs: 600_000 } });
    for (const _ of [1, 2]) expect(await failureOf(worker.send('die'))).toBeInstanceOf(WorkerCrashedError);
    expect(worker.state).toBe('unavailable');
    expect(worker.isActive).toBe(false);
    const refused = await failureOf(worker.send('echo', 1));
    expect(refused).toBeInstanceOf(WorkerUnavailableError);
  });

  it('requests up to the limit of pending ones are accepted and not one more, before and after', async () => {
    const worker = await open({ driver, maxPending: 3 });
    const full = async (first: Promise<unknown>): Promise<unknown> => {
      const rest = [worker.send('slow', 20), worker.send('slow', 20)];
      const refused = await failureOf(worker.send('echo', 1));
      expect(refused).toBeInstanceOf(BackpressureError);
      expect(refused['limit']).toBe(3);
      const settled = await first.catch((error: unknown) => error);
      for (const answer of rest) await answer.catch(() => undefined);
      return settled;
    };
    expect(await full(worker.send('echo', 'first'))).toBe('first');
    expect(await full(worker.send('die'))).toBeInstanceOf(WorkerCrashedError);
    expect(await full(worker.send('echo', 'again'))).toBe('again');
    expect(worker.pending).toBe(0);
  });

  it('an idle worker is replaced, and the client reports the new pid', async () => {
    const worker = await open({ driver });
    const before = await worker.send('who');
    const restarting = stateReached('restarting');
    void worker.send('exit', 1).catch(() => undefined);
    await restarting; // told, not looked for: the next worker may be ready before a poll sees it
    const during = worker.send('who');
    expect(await during).not.toBe(before);
    expect(worker.isConnected).toBe(true);
    expect(worker.isActive).toBe(true);
  });

  it('recycle starts another worker', async () => {
    const worker = await open({ driver });
    const before = await worker.send('who');
    await worker.recycle();
    expect(await worker.send('who')).not.toBe(before);
  });

  it('a standby answers the requests of the dead worker', async () => {
    const worker = await open({ driver, ...retry(2), standby: true });
    expect(await worker.send('dieOnce')).toBe(2);
    expect(await worker.send('echo', 'on')).toBe('on');
  });
});

it('an idle process that is killed from outside is replaced', async () => {
  const worker = await open();
  const { pid } = worker;
  const ready = stateReached('restarting').then(() => stateReached('ready'));
  if (pid !== undefined) process.kill(pid, 'SIGKILL');
  await ready;
  expect(worker.isConnected && worker.pid !== pid).toBe(true);
  expect(await worker.send('who')).toBe(worker.pid);
});
