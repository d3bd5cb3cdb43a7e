import { existsSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { WorkerCrashedError } from '../../../types/errors.js';
import type { WorkerClient } from '../../../types/worker.js';
import { failureOf, workerBench, type Loose } from '../../test-bench.test.fixture.js';

const { open } = workerBench();

/** Without the journal the request behind the killer may have started: it is not run a second time. */
async function expectAllBlamed(worker: WorkerClient<Loose>): Promise<void> {
  const sent = ['hang', 'die', 'attempt'].map((type) => failureOf(worker.send(type)));
  for (const failure of sent) expect(await failure).toBeInstanceOf(WorkerCrashedError);
}

describe('a worker without a journal', () => {
  it('starts with all its data and serves, and its end is blamed on all that it was sent', async () => {
    const before = process.env['TMPDIR'];
    process.env['TMPDIR'] = '/no/such/directory';
    try {
      const warnings: (Error & { code?: string })[] = [];
      const onWarning = (warning: Error): void => void warnings.push(warning);
      process.on('warning', onWarning);
      const workerData = { large: 'x'.repeat(500_000), map: new Map([[1, 2]]) };
      const worker = await open({ workerData });
      expect(await Promise.all([worker.send('slow', 1), worker.send('slow', 1)])).toEqual([1, 1]);
      expect(await worker.send('workerData')).toEqual(workerData);
      await expectAllBlamed(worker);
      expect(await worker.send('workerData')).toEqual(workerData);
      process.off('warning', onWarning);
      const own = warnings.filter(({ code }) => code === 'ISOLATED_WORKERS_NO_JOURNAL');
      expect(own.map(({ message }) => message)).toEqual([expect.stringContaining('(ENOENT in /no/such/directory)')]);
    } finally {
      if (before === undefined) delete process.env['TMPDIR'];
      else process.env['TMPDIR'] = before;
    }
  });

  it.runIf(existsSync('/dev/full'))('that loses it to a full disk lives on, and trusts it no more', async () => {
    const worker = await open();
    expect(await worker.send('fillJournal')).toBe(4);
    const { pid } = worker;
    expect(await Promise.all([worker.send('slow', 1), worker.send('slow', 1)])).toEqual([1, 1]);
    expect(worker.pid).toBe(pid);
    await expectAllBlamed(worker);
    // The next one has a journal again.
    const killer = failureOf(worker.send('die'));
    expect(await worker.send('attempt')).toBe(1);
    expect(await killer).toBeInstanceOf(WorkerCrashedError);
  });
});
