import { appendFileSync, cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { StatusResultStatus } from '@drover/function-rpc';
import { message } from '@drover/function-rpc/testing';
import { withScratchDirectory } from '@drover/testkit';
import { afterEach, describe, expect, it } from 'vitest';
import { endAll, httpRequest, WorkerUnderTest } from './support/worker-under-test.js';

afterEach(endAll);

const installed = path.resolve(createRequire(import.meta.url).resolve('@azure/functions'), '../../../..');
const packages = ['@azure/functions', '@azure/functions-extensions-base', 'cookie'];

const tells = `
  app.http('tell', { handler: () => {
    const file = require.resolve('@azure/functions');
    return { jsonBody: { isOwn: require.cache[file].filename === file } };
  } });`;
const commonJs = `const { app } = require('@azure/functions');${tells}`;
const esModule = `
  import { createRequire } from 'node:module';
  import { app } from '@azure/functions';
  const require = createRequire(import.meta.url);${tells}`;

/** Specializes a placeholder for an app with its own copy of the library and returns what its function tells. */
async function specialize(
  file: 'index.js' | 'index.mjs',
  change: (nodeModules: string) => void = () => undefined,
): Promise<unknown> {
  return await withScratchDirectory(async (directory) => {
    const nodeModules = path.join(directory, 'node_modules');
    mkdirSync(nodeModules);
    for (const name of packages) cpSync(path.join(installed, name), path.join(nodeModules, name), { recursive: true });
    writeFileSync(path.join(directory, 'package.json'), JSON.stringify({ main: file }));
    writeFileSync(path.join(directory, file), file === 'index.js' ? commonJs : esModule);
    change(nodeModules);
    const worker = await WorkerUnderTest.start();
    await worker.init('');
    await worker.admitted.request(message('workerWarmupRequest', {}), 'workerWarmupResponse');
    const reload = { environmentVariables: {}, functionAppDirectory: directory };
    await worker.admitted.request(
      message('functionEnvironmentReloadRequest', reload),
      'functionEnvironmentReloadResponse',
    );
    const { functionMetadataResults } = await worker.metadata();
    expect(functionMetadataResults.map(({ name }) => name)).toEqual(['tell']);
    expect((await worker.load('tell')).result?.status).toBe(StatusResultStatus.Success);
    const { response } = await worker.call('tell', httpRequest('GET', 'http://localhost/api/tell'));
    return JSON.parse(String(response.returnValue?.http?.body?.bytes));
  });
}

const append = (file: string) => (nodeModules: string) =>
  appendFileSync(createRequire(path.join(nodeModules, 'x.js')).resolve(file), '\n// changed');

describe('the library that a placeholder has loaded', () => {
  it('is used by an app with the same copy', async () => {
    expect(await specialize('index.js')).toEqual({ isOwn: false });
  });

  it('is used by an app of ES modules with the same copy', async () => {
    expect(await specialize('index.mjs')).toEqual({ isOwn: false });
  });

  it('is not used by an app with another copy', async () => {
    expect(await specialize('index.js', append('@azure/functions'))).toEqual({ isOwn: true });
  });

  it('is not used by an app with another copy of a package that the library requires', async () => {
    expect(await specialize('index.js', append('@azure/functions-extensions-base'))).toEqual({ isOwn: true });
  });
});
