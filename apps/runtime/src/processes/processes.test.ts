import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { withScratchDirectory } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { StartBudget } from './start-budget.js';
import { functionWorkerEnvironment } from './worker-command.js';

describe('the start budget', () => {
  it('replaces the first loss at once, and later ones after a delay that stops growing at a few seconds', () => {
    const budget = new StartBudget();
    const delays = Array.from({ length: 9 }, (_, second) => {
      budget.recordError(second * 1_000);
      return budget.delayMs(second * 1_000);
    });
    expect(delays).toEqual([0, 100, 200, 400, 800, 1_600, 3_000, 3_000, 3_000]);
  });

  it('forgets what is a minute ago', () => {
    const budget = new StartBudget();
    for (const second of [0, 1, 2]) budget.recordError(second * 1_000);
    expect(budget.errors(60_500)).toBe(2);
    budget.recordError(62_000);
    expect(budget.delayMs(62_000)).toBe(0);
  });
});

describe('the environment of a worker', () => {
  const version = { tenantId: 't', applicationId: 'app', codeVersion: 'v', directory: '/app', environment: { A: '1' } };

  it('names the directory of the app and that of the worker, as the official host does', async () => {
    await withScratchDirectory(async (scratch) => {
      const program = path.join(scratch, '3.11/LINUX/X64/worker.py');
      await mkdir(path.dirname(program), { recursive: true });
      await writeFile(program, '');
      const command = { executable: 'python', args: ['-X', 'dev', program] };
      expect(functionWorkerEnvironment(version, command)).toMatchObject({
        FUNCTIONS_WORKER_DIRECTORY: path.dirname(program),
      });
      await writeFile(path.join(scratch, 'worker.config.json'), '{}');
      expect(functionWorkerEnvironment(version, command)).toEqual({
        A: '1',
        AzureWebJobsScriptRoot: '/app',
        FUNCTIONS_APPLICATION_DIRECTORY: '/app',
        FUNCTIONS_WORKER_DIRECTORY: scratch,
      });
      const set = { ...version, environment: { FUNCTIONS_WORKER_DIRECTORY: '/set' } };
      expect(functionWorkerEnvironment(set, command)).toMatchObject({ FUNCTIONS_WORKER_DIRECTORY: '/set' });
    });
  });

  it('names no directory of a worker that is found by its module', () => {
    const command = { executable: 'python', args: ['-m', 'worker'] };
    expect(functionWorkerEnvironment(version, command)).not.toHaveProperty('FUNCTIONS_WORKER_DIRECTORY');
  });
});
