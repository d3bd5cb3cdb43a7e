import { mkdirSync, realpathSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { hostArguments } from '@drover/instance-provider';
import { Child, withScratchDirectory } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import type { FunctionWorker } from '../workers/function-worker.js';
import { version, workerBenches, type WorkerBench } from '../worker-side.test.fixture.js';

const { open } = workerBenches();
const program = fileURLToPath(new URL('../../../../tests/compat/foreign-worker.mjs', import.meta.url));

/** Starts a language worker that is not ours, as a placeholder: it has no application yet. */
async function startPlaceholder(bench: WorkerBench, style: 'official' | 'plain'): Promise<[Child, FunctionWorker]> {
  const [workerId, requestId] = ['foreign', 'one-time-word'];
  const traits = { isIsolated: false, isDebugged: false, isManaged: true };
  bench.side.admission.expect({ workerId, requestId, applicationKey: undefined, traits });
  const { port } = bench.side.listeners.loopback;
  const args = hostArguments({ host: '127.0.0.1', port, workerId, requestId, maxMessageBytes: 128 * 1024 * 1024 });
  const child = new Child(process.execPath, [program, ...args], {
    env: { PATH: process.env['PATH'], FOREIGN_STYLE: style, OF_PLACEHOLDER: 'yes' },
  });
  await bench.until(workerId, 'placeholder');
  const [placeholder] = bench.side.registry.in('placeholder');
  if (!placeholder) throw new Error('there is no placeholder');
  return [child, placeholder];
}

function deploy(bench: WorkerBench, directory: string) {
  void bench.side.deployments.deploy({ ...version('v1'), directory });
  const deployed = bench.side.deployments.find('tenant/app:v1');
  if (!deployed) throw new Error('the version is missing');
  return deployed;
}

/** The protocol and nothing of ours: `FunctionEnvironmentReload` alone makes a placeholder a worker of an application. */
describe('a placeholder that behaves as the official language worker', () => {
  it.each(['official', 'plain'] as const)(
    'gets environment and directory of its application, loads and runs it: %s',
    (style) =>
      withScratchDirectory(async (scratch) => {
        const directory = path.join(realpathSync(scratch), 'app');
        mkdirSync(directory);
        const bench = await open();
        const [child, placeholder] = await startPlaceholder(bench, style);
        try {
          expect(await bench.specializer.specialize(placeholder, deploy(bench, directory))).toBe(true);
          expect(placeholder.state).toBe('ready');
          const outcome = await bench.invoke('tenant/app:m1');
          if (outcome.kind !== 'succeeded') return expect.unreachable(JSON.stringify(outcome));
          const seen = JSON.parse(outcome.response.returnValue?.json ?? '');
          expect(seen).toMatchObject({
            order: ['init', 'reload', 'metadata', 'load hello'],
            directory,
            environment: { COLOR: 'blue', FUNCTIONS_APPLICATION_DIRECTORY: directory },
          });
          expect(seen.environment).not.toHaveProperty('OF_PLACEHOLDER');
          expect(placeholder.can('WorkerStatus')).toBe(style === 'official');
        } finally {
          await child.end();
        }
      }),
  );

  it('is given up if it cannot reload, and is no placeholder any more', async () => {
    const bench = await open();
    const [child, placeholder] = await startPlaceholder(bench, 'official');
    try {
      const missing = deploy(bench, '/no/such/directory');
      expect(await bench.specializer.specialize(placeholder, missing)).toBe(false);
      expect(bench.side.registry.in('placeholder', 'ready')).toHaveLength(0);
      expect(bench.ended).toEqual(['foreign']);
    } finally {
      await child.end();
    }
  });
});
