import { fileURLToPath } from 'node:url';
import { Worker as JestWorker } from 'jest-worker';
import { Piscina } from 'piscina';
import { Tinypool } from 'tinypool';
import workerpool from 'workerpool';
import type { Echo } from './echo.js';

const script = (name: string): string => fileURLToPath(new URL(`./workers/${name}.js`, import.meta.url));

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
    close: () => pool.destroy(),
  };
}

export function workerpoolOf(workerType: 'thread' | 'process'): Echo {
  const pool = workerpool.pool(script('workerpool'), { workerType, minWorkers: 1, maxWorkers: 1 });
  return {
    name: `workerpool, ${workerType}`,
    kind: `peer ${workerType}`,
    // Its own promises are no Promises.
    echo: (value) => new Promise((resolve, reject) => void pool.exec('echo', [value]).then(resolve, reject)),
    close: () => new Promise((resolve, reject) => void pool.terminate(true).then(resolve, reject)),
  };
}

export function jestWorker(kind: 'thread' | 'process'): Echo {
  const worker = new JestWorker(script('function'), {
    numWorkers: 1,
    enableWorkerThreads: kind === 'thread',
    exposedMethods: ['echo'],
  }) as JestWorker & { readonly echo: (value: unknown) => Promise<unknown> }; // it makes the exposed methods itself
  return {
    name: `jest-worker, ${kind}`,
    kind: `peer ${kind}`,
    echo: (value) => worker.echo(value),
    close: () => worker.end(),
  };
}
