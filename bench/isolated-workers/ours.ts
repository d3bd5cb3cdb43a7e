import {
  childProcess,
  createWorker,
  workerThreads,
  type WorkerClient,
  type WorkerOptions,
} from '@drover/isolated-workers';
import type { Echo } from './echo.js';
import type { EchoMessages } from './echo-messages.js';

type OurOptions = Omit<WorkerOptions<EchoMessages>, 'script'>;

/** Our worker with the options of every user who gives none. */
export function ourWorker(options: OurOptions = {}): Promise<WorkerClient<EchoMessages>> {
  return createWorker<EchoMessages>({ script: new URL('./workers/ours.js', import.meta.url), ...options });
}

/** As often as we like: in this suite workers end on purpose. */
export const restart = { max: 1_000_000, delayMs: 0 };
export const retry = { strategy: 'retry', attempts: 2 } as const;

/** For workers that end on purpose, again and again. */
export const ending: OurOptions = {
  restart,
  unexpectedShutdown: { strategy: 'reject', exitOnce: retry },
  quarantine: { afterKills: 0 },
};

export async function ours(kind: 'thread' | 'process', options: OurOptions = {}): Promise<Echo> {
  const worker = await ourWorker({ driver: kind === 'thread' ? workerThreads : childProcess, ...options });
  return {
    name: kind === 'thread' ? 'ours, workerThreads' : 'ours, childProcess',
    kind: `our ${kind}`,
    echo: (value) => worker.send('echo', value),
    exit: () => worker.send('exit'),
    exitOnce: (file) => worker.send('exitOnce', file),
    close: () => worker.close(),
  };
}
