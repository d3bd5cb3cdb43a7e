import { readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { eventually } from '@drover/testkit';
import { afterAll, afterEach, expect } from 'vitest';
import { createWorker } from './create-worker.js';
import { childProcess } from './drivers/child-process/host.js';
import { workerThreads } from './drivers/worker-threads/host.js';
import type { WorkerClient, WorkerOptions } from '../types/worker.js';

/** Any message of any fixture. */
export type Loose = Record<string, { payload?: unknown; result: unknown; progress: unknown }>;
export type LooseStreams = Record<string, { payload?: unknown; item: unknown }>;

export const drivers = [childProcess, workerThreads].map((driver) => ({ name: driver.name, driver }));

export function fixture(name: string): string {
  return fileURLToPath(new URL(`../../fixtures/${name}`, import.meta.url));
}

/** Opens workers that are closed after each test, and fails the test that left something behind. */
export function workerBench(): {
  readonly open: (options?: Partial<WorkerOptions<Loose>>) => Promise<WorkerClient<Loose>>;
  readonly openStreams: (options?: Partial<WorkerOptions<LooseStreams>>) => Promise<WorkerClient<LooseStreams>>;
} {
  const opened: { close(): Promise<void> }[] = [];
  const unhandled: unknown[] = [];
  const note = (error: unknown): void => void unhandled.push(error);
  process.on('unhandledRejection', note);
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((worker) => worker.close()));
    await eventually(() => expect(process.getActiveResourcesInfo()).not.toContain('ProcessWrap'));
    expect(readdirSync(tmpdir()).filter((name) => name.startsWith(`isolated-worker-${process.pid}-`))).toEqual([]);
    expect(unhandled).toEqual([]);
  });
  afterAll(() => void process.off('unhandledRejection', note));
  const open = async (options: object = {}): Promise<never> => {
    const worker = await createWorker<Loose>({
      script: fixture('worker.mjs'),
      stderr: 'ignore',
      logLevel: 'silent',
      ...options,
    });
    opened.push(worker);
    return worker as never; // one fixture, two ways to look at it
  };
  return { open, openStreams: open };
}

/** What a promise rejects with; fails when it does not. */
export async function failureOf(promise: Promise<unknown>): Promise<Error & Record<string, unknown>> {
  const settled = await promise.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
  if ('value' in settled) throw new Error(`it resolved with ${JSON.stringify(settled.value)}`);
  return settled.error as Error & Record<string, unknown>;
}
