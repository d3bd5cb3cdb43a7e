import type { Child } from '@drover/testkit';
import { afterAll, beforeAll } from 'vitest';
import { withDataDirectory } from './platform.js';

/**
 * Starts one platform for all tests of a file or block, and ends it after the last one: a start takes seconds. Returns a function
 * for tests and hooks that reads what `start` returned.
 */
export function sharedPlatform<T>(start: (directory: string, started: (child: Child) => Child) => Promise<T>): () => T {
  let shared: { readonly value: T } | undefined;
  let end = (): void => undefined;
  let ended: Promise<void> | undefined;
  beforeAll(async () => {
    await new Promise<void>((resolve, reject) => {
      ended = withDataDirectory(async (directory, started) => {
        shared = { value: await start(directory, started) };
        await new Promise<void>((finish) => {
          end = finish;
          resolve();
        });
      });
      ended.catch(reject);
    });
  });
  afterAll(async () => {
    end();
    await ended;
  });
  return () => {
    if (!shared) throw new Error('The platform is not started yet. Call this in a test or a hook.');
    return shared.value;
  };
}
