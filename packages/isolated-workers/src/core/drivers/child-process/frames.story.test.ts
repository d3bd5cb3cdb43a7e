import { fork } from 'node:child_process';
import { eventually, isAlive } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { SerializationError, WorkerCrashedError } from '../../../types/errors.js';
import { failureOf, fixture, workerBench } from '../../test-bench.test.fixture.js';

const { open } = workerBench();

describe('a worker process', () => {
  it('dies after it wrote a part of a frame, or nonsense: its request fails, once', async () => {
    const worker = await open({ restart: { max: 10, delayMs: 1 } });
    for (const bytes of [
      [7], // one byte of a header
      [100, 0, 0, 0, 0, 91, 49], // half a frame
      [3, 0, 0, 0, 0, 91, 49], // no JSON
      [3, 0, 0, 0, 9, 1, 2], // an unknown format
      [0, 0, 0, 0], // no body
      [255, 255, 255, 255, 0], // too long
      [5, 0, 0, 0, 0, ...Buffer.from('null')],
    ]) {
      expect(await failureOf(worker.send('writeWire', bytes))).toBeInstanceOf(WorkerCrashedError);
    }
    expect(await worker.send('echo', 1)).toBe(1);
  });

  it('is ended when it writes nonsense and lives on', async () => {
    const worker = await open();
    const { pid } = worker;
    const error = await failureOf(worker.send('writeWireAndStay', [255, 255, 255, 255, 0]));
    expect(error).toMatchObject({ name: 'WorkerCrashedError', reason: { type: 'error' } });
    await eventually(() => expect(pid !== undefined && isAlive(pid)).toBe(false));
  });

  it('is ended when it closes its wire and lives on', async () => {
    const worker = await open();
    const { pid } = worker;
    expect(await failureOf(worker.send('closeWire'))).toBeInstanceOf(WorkerCrashedError);
    await eventually(() => expect(pid !== undefined && isAlive(pid)).toBe(false));
    expect(await worker.send('echo', 1)).toBe(1);
  });

  it('ends its child processes', async () => {
    const worker = await open();
    const grandchild = (await worker.send('grandchild', { detached: false, thenDie: false })) as number;
    expect(isAlive(grandchild)).toBe(true);
    await worker.close();
    await eventually(() => expect(isAlive(grandchild)).toBe(false));
  });

  it('messages over the size limit fail alone, in both directions', async () => {
    const worker = await open({ maxFrameBytes: 100_000 });
    const beside = worker.send('slow', 20);
    expect(await failureOf(worker.send('echo', 'x'.repeat(100_001)))).toBeInstanceOf(SerializationError);
    expect(await failureOf(worker.send('large', 100_001))).toBeInstanceOf(SerializationError);
    const error = await failureOf(worker.send('largeError', 100_001));
    expect(error.message).toContain('could not be sent');
    expect(await worker.send('large', 90_000)).toHaveLength(90_000);
    expect(await beside).toBe(1);
  });

  it.each([
    ['a gigabyte on its standard output', 1, 1024, 'ignore'],
    ['a gigabyte on its standard error', 2, 1024, 'ignore'],
    ['much on standard error that the host passes on', 2, 64, 'inherit'],
  ])('%s does not grow the host', async (_, descriptor, megabytes, policy) => {
    const host = fork(fixture('flooded-host.mjs'), [String(descriptor), String(megabytes), policy], {
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    });
    host.stderr?.resume();
    const told = await new Promise<{ grownMb: number; tail: string; code: number }>((resolve, reject) => {
      host.once('message', (message) => resolve(message as never)); // what the fixture sends
      host.once('exit', (code) => reject(new Error(`the host ended with ${code}`)));
    });
    expect(told.code).toBe(5);
    expect(told.grownMb).toBeLessThan(150);
    if (descriptor === 2) {
      expect(told.tail).toHaveLength(4_096);
      expect(told.tail).toMatch(/the very end$/);
    }
    await eventually(() => expect(host.exitCode).toBe(0));
  });
});
