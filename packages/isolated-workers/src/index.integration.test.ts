import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const program = fileURLToPath(new URL('../fixtures/entry-points.mjs', import.meta.url));

/** Loads entry points of the built package in a fresh process. */
async function load(...entryPoints: string[]): Promise<{ loaded: string[]; drivers: [string, boolean][] }> {
  const { stdout } = await promisify(execFile)(process.execPath, [program, ...entryPoints]);
  return JSON.parse(stdout) as { loaded: string[]; drivers: [string, boolean][] };
}

// Each of them costs a start one to six milliseconds, and most hosts and workers use few of them.
const onDemand = ['child_process', 'crypto', 'net', 'stream', 'v8', 'worker_threads'].map(
  (name) => `NativeModule ${name}`,
);

it('entry points load no part of Node before it is used', async () => {
  const [root, worker] = await Promise.all([load(''), load('/worker')]);
  expect(root.loaded.filter((part) => onDemand.includes(part))).toEqual([]);
  expect(worker.loaded.filter((part) => onDemand.includes(part))).toEqual([]);
});

it('the built entry points of the drivers have the drivers of the built root', async () => {
  const { drivers } = await load('', '/drivers', '/drivers/child-process', '/drivers/worker-threads');
  expect(drivers).toEqual(
    ['childProcess', 'workerThreads', 'childProcess', 'workerThreads'].map((name) => [name, true]),
  );
});
