import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { expect, it } from 'vitest';
import { FunctionApp } from './function-app.js';
import { loadScript } from './load-script.js';
import { withWarmUpApp } from './warm-up-app.js';
import { startApp, type AppStart } from './start-app.js';

it('has an app for a moment, and leaves nothing behind', async () => {
  let start: AppStart | undefined;
  await withWarmUpApp(async (directory) => {
    start = await startApp(new FunctionApp(() => undefined), directory, loadScript);
  });
  expect(start).toMatchObject({ files: ['src/index.js'], failures: [] });
  const directory = start?.directory ?? '';
  expect(existsSync(directory)).toBe(false);
  expect(Object.keys(createRequire(import.meta.url).cache).filter((file) => file.startsWith(directory))).toEqual([]);
});

it('leaves nothing behind when it fails', async () => {
  let used = '';
  const failing = withWarmUpApp((directory) => {
    used = directory;
    return Promise.reject(new Error('failed'));
  });
  await expect(failing).rejects.toThrow('failed');
  expect(existsSync(used)).toBe(false);
});
