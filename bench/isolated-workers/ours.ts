import {
  childProcess,
  createWorker,
  workerThreads,
  type WorkerClient,
  type WorkerOptions,
} from '@drover/isolated-workers';
import type { Echo } from './echo.js';
import type { EchoMessages } from './echo-messages.js';

/** Our worker with the options of every user who gives none. */
export function ourWorker(
  options: Omit<WorkerOptions<EchoMessages>, 'script'> = {},
): Promise<WorkerClient<EchoMessages>> {
  return createWorker<EchoMessages>({ script: new URL('./workers/ours.js', import.meta.url), ...options });
}

export async function ours(kind: 'thread' | 'process'): Promise<Echo> {
  const worker = await ourWorker({ driver: kind === 'thread' ? workerThreads : childProcess });
  return {
    name: kind === 'thread' ? 'ours, workerThreads' : 'ours, childProcess',
    kind: `our ${kind}`,
    echo: (value) => worker.send('echo', value),
    close: () => worker.close(),
  };
}
