import { childProcess, createWorker, workerThreads, type WorkerClient } from 'isolated-workers';
import type { Environment } from '@drover/service-kit';
import type { FunctionDefinition } from '../function-definition.js';
import { childEnvironment } from '../child-environment.js';
import { mayHandlerHave } from './handler-variables.js';
import type { HandlerFile } from './handler-file.js';
import type { LocalHostMessages, LocalMessages, LocalWorkerData, LogBatch } from './local-messages.js';

/** The worker's script in one file, found alike from the sources and from what is built of them. */
const script = new URL('../../dist/bundle/local-worker.js', import.meta.url);

/** As much as a job may print. */
const maxOutputBytes = 8 * 1_024 * 1_024;

export interface OpenLocalWorkerOptions {
  readonly driver: 'processes' | 'threads';
  /** Of this process; handlers see of it how programs are found, and little else. */
  readonly environment: Environment;
  readonly definition: FunctionDefinition;
  readonly found: Extract<HandlerFile, { readonly file: string }>;
  readonly onLines: (lines: LogBatch) => void;
}

/** Starts a worker for one function. */
export function openLocalWorker(options: OpenLocalWorkerOptions): Promise<WorkerClient<LocalMessages>> {
  const { definition, found, environment, onLines } = options;
  const isProcess = options.driver === 'processes';
  const env = childEnvironment(environment, definition.env, mayHandlerHave);
  const data: LocalWorkerData = {
    ...found,
    functionName: definition.name,
    maxOutputBytes,
  };
  const memoryMiB = definition.spec.resources?.limits?.memoryMiB;
  return createWorker<LocalMessages, LocalHostMessages>({
    script,
    driver: isProcess ? childProcess : workerThreads,
    env,
    inheritEnv: false, // whatever we have in ours, nothing of it may leak
    execArgv: [], // flags of ours are not for handlers
    workerData: data,
    // What handlers say comes as messages; the end of standard error is kept for the story of a crash.
    stdout: 'ignore',
    stderr: 'ignore',
    ...(memoryMiB !== undefined && (isProcess ? { maxMemoryMb: memoryMiB } : { maxHeapMb: memoryMiB })),
    // Every payload has an id of its own, and the engine counts attempts.
    quarantine: { afterKills: 0 },
    restart: { max: 5, periodMs: 10_000, delayMs: 50, maxDelayMs: 1_000 },
    closeGraceMs: 1_000,
    maxPending: Number.POSITIVE_INFINITY, // bound by the concurrency of the function
    hostHandlers: { lines: onLines },
    logLevel: 'silent',
  });
}
