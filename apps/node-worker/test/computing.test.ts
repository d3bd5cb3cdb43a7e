import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { message } from '@drover/function-rpc/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { endAll, WorkerUnderTest } from './support/worker-under-test.js';

/** Longer than invocations may share a turn of the event loop. */
const ms = 10;

describe('invocations that compute and arrive together', () => {
  let directory: string;
  beforeEach(async () => {
    directory = await mkdtemp(path.join(tmpdir(), 'computing-'));
  });
  afterEach(async () => {
    await endAll();
    await rm(directory, { recursive: true });
  });

  it('are answered one by one, and a status request when those before it have begun', async () => {
    const worker = await WorkerUnderTest.withApp('computing');
    const name = await worker.triggerOf('computes');
    const file = path.join(directory, 'first-answer-arrived');
    const send = (input: object): string => worker.invoke('computes', { name, data: { json: JSON.stringify(input) } });

    const first = send({ ms });
    // Computes until the response to the first one has arrived here.
    const second = send({ ms, file });
    const third = send({ ms });
    worker.admitted.send(message('workerStatusRequest', {}, 'status'));

    await worker.finished(first);
    await writeFile(file, '');
    const { response } = await worker.finished(second);
    expect(response.returnValue?.json ?? response.returnValue?.string).toBe('true');
    await worker.finished(third);
    await worker.admitted.next('workerStatusResponse');
    const order = worker.messages.map((one) =>
      one.kind === 'invocationResponse' ? one.value.invocationId : (one.kind ?? ''),
    );
    expect(order.indexOf('workerStatusResponse')).toBeGreaterThan(order.indexOf(second));
  });
});
