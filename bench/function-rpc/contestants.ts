import type { Leash } from '@drover/service-kit';
import { Program } from '../harness/program.js';
import type { Load, LoadResult } from './load.js';
import { appDirectory, workerFile } from './node-worker.js';
import type { RuntimeAnswer, RuntimeRequest } from './programs/runtime.js';
import type { EchoHostAnswer, EchoHostRequest, EchoPeerRequest } from './programs/serve-load.js';

/** Two processes or more, one of which calls the others. */
export interface Contestant {
  readonly name: string;
  readonly load: (load: Load) => Promise<LoadResult>;
  readonly close: () => Promise<void>;
}

const program = (name: string): URL => new URL(`./programs/${name}.js`, import.meta.url);

/** Messages there and back, and nothing else: over grpc-js, or over our own streams. */
export async function echo(kind: 'grpc' | 'stream', name: string, leash: Leash): Promise<Contestant> {
  const host = new Program<EchoHostRequest, EchoHostAnswer>(program(`${kind}-host`), leash);
  const peer = new Program<EchoPeerRequest, number>(program(`${kind}-peer`), leash);
  const close = async (): Promise<void> => void (await Promise.all([host.end(), peer.end()]));
  try {
    const port = (await host.ask({ kind: 'listen' })) as number; // what it answers to that
    const peers = [await peer.ask({ port })];
    return { name, load: async (load) => (await host.ask({ kind: 'load', load, peers })) as LoadResult, close };
  } catch (error) {
    await close();
    throw error;
  }
}

export interface RuntimeShape {
  readonly name: string;
  readonly workers: number;
  /** Invocations that one worker may have at a time; the usual number unless told. */
  readonly concurrency?: number;
}

/** A runtime in one process, and its workers in theirs. */
export async function runtimeWithWorkers(shape: RuntimeShape, leash: Leash): Promise<Contestant> {
  const { name, workers, concurrency } = shape;
  const runtime = new Program<RuntimeRequest, RuntimeAnswer>(program('runtime'), leash);
  const close = async (): Promise<void> => {
    try {
      await runtime.ask({ kind: 'stop' });
    } finally {
      await runtime.end();
    }
  };
  try {
    await runtime.ask({ kind: 'start', variables: runtimeVariablesOf(workers, concurrency), workers });
  } catch (error) {
    await runtime.end();
    throw error;
  }
  return {
    name,
    load: async (load) => (await runtime.ask({ kind: 'load', load })) as LoadResult, // what it answers to that
    close,
  };
}

/** What a runtime of this suite is told; everything else is as it comes. */
export function runtimeVariablesOf(workers: number, concurrency?: number): Record<string, string> {
  return {
    DROVER_FUNCTIONS_APPS: appDirectory,
    DROVER_RUNTIME_PORT: '0',
    DROVER_WORKER_COMMAND: `"${process.execPath}" "${workerFile()}"`,
    DROVER_WORKERS: String(workers),
    ...(concurrency !== undefined && { DROVER_WORKER_CONCURRENCY: String(concurrency) }),
  };
}
