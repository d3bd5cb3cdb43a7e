import { setTimeout as sleep } from 'node:timers/promises';
import { serveRequests } from '../../harness/program.js';
import { rssOf } from '../../harness/process-facts.js';
import { ObservedRuntime } from './observed-runtime.js';

export interface FreshRequest {
  readonly variables: Readonly<Record<string, string>>;
  /** How long it is left alone before its memory is looked at. */
  readonly restMs: number;
}

export interface FreshWorker {
  /** From the start of the process to its first message. */
  readonly connectedMs: number;
  /** From the start of the process to a worker that takes invocations. */
  readonly readyMs: number;
  /** MiB, where the system tells. */
  readonly memory: number | undefined;
}

const runtime = new ObservedRuntime();

/** Starts a runtime with one worker for the app, and ends both. */
serveRequests<FreshRequest>(async ({ variables, restMs }): Promise<FreshWorker> => {
  try {
    await runtime.start(variables, 1);
    const [started] = runtime.all('process.started');
    const [connected] = runtime.all('worker.connected');
    const [ready] = runtime.all('worker.specialized');
    if (!started || !connected || !ready) throw new Error('the runtime did not say how its worker came up');
    await sleep(restMs);
    return {
      connectedMs: connected.atMs - started.atMs,
      readyMs: ready.atMs - started.atMs,
      memory: started.pid === undefined ? undefined : rssOf(started.pid),
    };
  } finally {
    await runtime.stop();
  }
});
