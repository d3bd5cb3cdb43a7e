import { eventually } from '@drover/testkit';
import { afterEach, describe, expect, it } from 'vitest';
import { WorkerCrashedError, WorkerUnavailableError } from '../../../types/errors.js';
import { failureOf, workerBench } from '../../test-bench.test.fixture.js';

const { open } = workerBench();
const { execPath } = process;
afterEach(() => void (process.execPath = execPath));

describe('a process that the system does not start', () => {
  it('rejects createWorker with the error of the system, whether spawn throws it or reports it later', async () => {
    const thrown = await failureOf(open({ env: { LARGE: 'x'.repeat(4_000_000) } }));
    expect(thrown).toBeInstanceOf(WorkerUnavailableError);
    expect(thrown).toMatchObject({ cause: { code: 'E2BIG' }, exitCode: null, signal: null, stderr: '' });
    process.execPath = '/no/such/node';
    const reported = await failureOf(open());
    expect(reported).toBeInstanceOf(WorkerUnavailableError);
    expect(reported).toMatchObject({ cause: { code: 'ENOENT' } });
    expect(reported.message).toBe(
      'The worker could not be started: spawn /no/such/node ENOENT. Check that /no/such/node and the working directory exist and are accessible.',
    );
  });

  it('at a restart, rejects what waits with the error of the system, and is started by a later request', async () => {
    const worker = await open({ restart: { max: 1, delayMs: 1, periodMs: 100 } });
    const crash = failureOf(worker.send('die'));
    process.execPath = '/no/such/node';
    const waiting = failureOf(worker.send('hang'));
    expect(await crash).toBeInstanceOf(WorkerCrashedError);
    for (const failure of [waiting, failureOf(worker.send('hang'))]) {
      expect(await failure).toBeInstanceOf(WorkerUnavailableError);
      expect(await failure).toMatchObject({ cause: { code: 'ENOENT' } });
    }
    process.execPath = execPath;
    await eventually(async () => expect(await worker.send('echo', 1)).toBe(1));
  });
});
