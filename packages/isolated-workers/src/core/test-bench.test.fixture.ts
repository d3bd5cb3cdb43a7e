import { channel } from 'node:diagnostics_channel';
import { readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { eventually } from '@drover/testkit';
import { afterAll, afterEach, expect } from 'vitest';
import { createWorker } from './create-worker.js';
import { childProcess } from './drivers/child-process/host.js';
import { workerThreads } from './drivers/worker-threads/host.js';
import type { Connection, Driver } from '../types/driver.js';
import type { WorkerClient, WorkerOptions, WorkerState } from '../types/worker.js';

/** Accepts every message of every fixture. */
export type Loose = Record<string, { payload?: unknown; result: unknown; progress: unknown }>;
export type LooseStreams = Record<string, { payload?: unknown; item: unknown }>;

export const drivers = [childProcess, workerThreads].map((driver) => ({ name: driver.name, driver }));

export function fixture(name: string): string {
  return fileURLToPath(new URL(`../../fixtures/${name}`, import.meta.url));
}

/** Fails a test that leaves a process, a file or a rejection behind. Hooks that are added later, and close things, run first. */
export function expectNothingLeft(): void {
  const unhandled: unknown[] = [];
  const note = (error: unknown): void => void unhandled.push(error);
  process.on('unhandledRejection', note);
  afterEach(async () => {
    await eventually(() => expect(process.getActiveResourcesInfo()).not.toContain('ProcessWrap'));
    expect(readdirSync(tmpdir()).filter((name) => name.startsWith(`isolated-worker-${process.pid}-`))).toEqual([]);
    expect(unhandled.splice(0)).toEqual([]);
  });
  afterAll(() => void process.off('unhandledRejection', note));
}

/** Opens workers that are closed after each test, and fails a test that leaves something behind. */
export function workerBench(): {
  readonly open: (options?: Partial<WorkerOptions<Loose>>) => Promise<WorkerClient<Loose>>;
  readonly openStreams: (options?: Partial<WorkerOptions<LooseStreams>>) => Promise<WorkerClient<LooseStreams>>;
} {
  expectNothingLeft();
  const opened: { close(): Promise<void> }[] = [];
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((worker) => worker.close()));
  });
  const open = async (options: object = {}): Promise<never> => {
    const worker = await createWorker<Loose>({
      script: fixture('worker.mjs'),
      stderr: 'ignore',
      restart: { delayMs: 1 }, // few tests are about back-off, and all would wait for it
      logLevel: 'silent',
      ...options,
    });
    opened.push(worker);
    return worker as never; // one fixture with two types
  };
  return { open, openStreams: open };
}

/** Returns the error with which a promise rejects. Throws when it resolves. */
export async function failureOf(promise: Promise<unknown>): Promise<Error & Record<string, unknown>> {
  const settled = await promise.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
  if ('value' in settled) throw new Error(`it resolved with ${JSON.stringify(settled.value)}`);
  return settled.error as Error & Record<string, unknown>;
}

/** Wraps a driver and passes each connection to the test. */
export function watched(driver: Driver, onStart: (connection: Connection, life: number) => void): Driver {
  let lives = 0;
  return {
    ...driver,
    connect(spec, events) {
      const connection = driver.connect(spec, events);
      onStart(connection, (lives += 1));
      return connection;
    },
  };
}

/** Collects the diagnostics while `run` runs: crashes, and the types of requests in the order of their settlement. */
export async function toldDuring(
  run: () => Promise<unknown>,
): Promise<{ readonly crashes: number; readonly settled: string[] }> {
  const settled: string[] = [];
  let crashes = 0;
  const onSettled = (message: unknown): void => void settled.push((message as { type: string }).type);
  const onCrash = (): void => void (crashes += 1);
  channel('isolated-workers:settled').subscribe(onSettled);
  channel('isolated-workers:crash').subscribe(onCrash);
  try {
    await run();
  } finally {
    channel('isolated-workers:settled').unsubscribe(onSettled);
    channel('isolated-workers:crash').unsubscribe(onCrash);
  }
  return { crashes, settled };
}

/** Resolves when the worker of the test enters a state. A state that lasts a moment can be missed by looking for it. */
export function stateReached(state: WorkerState): Promise<void> {
  const states = channel('isolated-workers:state');
  return new Promise((resolve) => {
    const onState = (message: unknown): void => {
      if ((message as { to: WorkerState }).to !== state) return;
      states.unsubscribe(onState);
      resolve();
    };
    states.subscribe(onState);
  });
}
