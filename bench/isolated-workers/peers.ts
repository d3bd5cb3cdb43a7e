import { fileURLToPath } from 'node:url';
import { Worker as JestWorker } from 'jest-worker';
import { Piscina } from 'piscina';
import { Tinypool } from 'tinypool';
import workerpool from 'workerpool';
import type { Echo } from './echo.js';

const script = (name: string): string => fileURLToPath(new URL(`./workers/${name}.js`, import.meta.url));

/** What a caller of a library without retries writes: the same call once more. */
const twice = (call: () => Promise<unknown>): Promise<unknown> => call().catch(call);

export function piscina(): Echo {
  const pool = new Piscina({
    filename: script('function'),
    minThreads: 1,
    maxThreads: 1,
    concurrentTasksPerWorker: 64,
  });
  return {
    name: 'piscina',
    kind: 'peer thread',
    echo: (value) => pool.run(value),
    exit: () => pool.run(undefined, { name: 'exit' }),
    exitOnce: (file) => twice(() => pool.run(file, { name: 'exitOnce' })),
    close: () => pool.destroy(),
  };
}

export function tinypool(runtime: 'worker_threads' | 'child_process'): Echo {
  const pool = new Tinypool({
    filename: script('function'),
    runtime,
    minThreads: 1,
    maxThreads: 1,
    concurrentTasksPerWorker: 64,
  });
  return {
    name: `tinypool, ${runtime}`,
    kind: runtime === 'worker_threads' ? 'peer thread' : 'peer process',
    echo: (value) => pool.run(value),
    exit: () => pool.run(undefined, { name: 'exit' }),
    exitOnce: (file) => twice(() => pool.run(file, { name: 'exitOnce' })),
    close: () => pool.destroy(),
  };
}

export function workerpoolOf(workerType: 'thread' | 'process'): Echo {
  const pool = workerpool.pool(script('workerpool'), { workerType, minWorkers: 1, maxWorkers: 1 });
  // Its own promises are no Promises.
  const call = (name: string, value?: unknown): Promise<unknown> =>
    new Promise((resolve, reject) => void pool.exec(name, [value]).then(resolve, reject));
  return {
    name: `workerpool, ${workerType}`,
    kind: `peer ${workerType}`,
    echo: (value) => call('echo', value),
    exit: () => call('exit'),
    exitOnce: (file) => twice(() => call('exitOnce', file)),
    close: () => new Promise((resolve, reject) => void pool.terminate(true).then(resolve, reject)),
  };
}

type Call = (value?: unknown) => Promise<unknown>;

/** `maxRetries` is what it repeats by itself; as it comes, three times. */
export function jestWorker(kind: 'thread' | 'process', maxRetries?: number): Echo {
  const worker = new JestWorker(script('function'), {
    numWorkers: 1,
    enableWorkerThreads: kind === 'thread',
    exposedMethods: ['echo', 'exit', 'exitOnce'],
    ...(maxRetries !== undefined && { maxRetries }),
  }) as JestWorker & { readonly echo: Call; readonly exit: Call; readonly exitOnce: Call }; // it makes the exposed methods itself
  return {
    name: `jest-worker, ${kind}`,
    kind: `peer ${kind}`,
    echo: (value) => worker.echo(value),
    exit: () => worker.exit(),
    exitOnce: (file) => worker.exitOnce(file),
    close: () => worker.end(),
  };
}
