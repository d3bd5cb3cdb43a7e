import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { RpcRetryOptionsRetryStrategy, StatusResultStatus } from '@drover/function-rpc';
import { message } from '@drover/function-rpc/testing';
import { withScratchDirectory } from '@drover/testkit';
import { afterEach, describe, expect, it } from 'vitest';
import { endAll, fixture, httpRequest, WorkerUnderTest } from './support/worker-under-test.js';

afterEach(endAll);

const { Success, Failure } = StatusResultStatus;

describe('an app of the v4 model', () => {
  it('is described with the options of its bindings, word for word', async () => {
    const worker = await WorkerUnderTest.withApp('v4-commonjs');
    const { functionMetadataResults, result, useDefaultMetadataIndexing } = await worker.metadata();
    expect(result?.status).toBe(Success);
    expect(useDefaultMetadataIndexing).toBe(false);
    const hello = functionMetadataResults.find(({ name }) => name === 'hello');
    expect(hello).toMatchObject({
      functionId: 'hello',
      scriptFile: 'http.js',
      directory: fixture('v4-commonjs/src/functions'),
    });
    expect(hello?.rawBindings.map((raw) => JSON.parse(raw) as unknown)).toMatchObject([
      {
        type: 'httpTrigger',
        direction: 'in',
        route: 'hello/{name?}',
        methods: ['GET', 'POST'],
        authLevel: 'anonymous',
      },
      { type: 'http', direction: 'out', name: '$return' },
    ]);
  });

  it('is described with its retry policy', async () => {
    const worker = await WorkerUnderTest.withApp('v4-commonjs');
    const { functionMetadataResults } = await worker.metadata();
    expect(functionMetadataResults.find(({ name }) => name === 'retried')?.retryOptions).toMatchObject({
      maxRetryCount: 3,
      retryStrategy: RpcRetryOptionsRetryStrategy.fixed_delay,
      delayInterval: { seconds: 2 },
    });
  });

  it('may be made of ES modules with top-level await', async () => {
    const worker = await WorkerUnderTest.withApp('v4-esm');
    const { functionMetadataResults } = await worker.metadata();
    expect(functionMetadataResults.map(({ name }) => name)).toEqual(['hello', 'later']);
    const { response } = await worker.call('hello', httpRequest('GET', 'http://localhost/api/hello'));
    expect(String(response.returnValue?.http?.body?.bytes)).toBe('hello from an ES module');
    expect((await worker.call('later', { string: 'on' })).response.returnValue).toEqual({ string: 'later on' });
  });

  it('finds the core module of the worker, with what libraries expect in it', async () => {
    const worker = await WorkerUnderTest.withApp('v4-commonjs');
    await worker.metadata();
    const { response } = await worker.call('core', { string: 'x' });
    expect(JSON.parse(response.returnValue?.json ?? '')).toEqual({
      names: [
        'Disposable',
        'getProgrammingModel',
        'hostVersion',
        'log',
        'registerFunction',
        'registerHook',
        'setProgrammingModel',
        'version',
      ],
      hostVersion: '4.0.0',
      version: '0.1.0',
      model: '@azure/functions',
      late: 'A function can only be registered during app startup; "late" was registered later.',
    });
  });

  it('can be invoked without having been asked for metadata or loads', async () => {
    const worker = await WorkerUnderTest.withApp('v4-commonjs');
    const invocationId = worker.invoke('see', { name: 'input', data: { string: 'x' } });
    expect((await worker.finished(invocationId)).response.result?.status).toBe(Success);
  });

  it('answers a load for each function it has, and refuses others by name', async () => {
    const worker = await WorkerUnderTest.withApp('v4-esm');
    expect((await worker.load('hello')).result?.status).toBe(Success);
    const { functionId, result } = await worker.load('goodbye');
    expect(functionId).toBe('goodbye');
    expect(result?.status).toBe(Failure);
    expect(result?.exception?.message).toBe("The app has not registered a function 'goodbye', only hello, later.");
  });

  it('answers a collection of loads at once', async () => {
    const worker = await WorkerUnderTest.withApp('v4-esm');
    const functionLoadRequests = ['hello', 'goodbye', 'later'].map((functionId) => ({ functionId, metadata: {} }));
    const request = message('functionLoadRequestCollection', { functionLoadRequests }, 'loads');
    const answer = await worker.admitted.request(request, 'functionLoadResponseCollection');
    expect(answer.requestId).toBe('loads');
    expect(answer.value.functionLoadResponses.map(({ functionId, result }) => [functionId, result?.status])).toEqual([
      ['hello', Success],
      ['goodbye', Failure],
      ['later', Success],
    ]);
  });
});

describe('an app that is broken', () => {
  it('does not fail the first request, but the question for functions', async () => {
    const worker = await WorkerUnderTest.start();
    const directory = fixture('only-throwing');
    expect((await worker.init(directory)).result?.status).toBe(Success);
    const { result, functionMetadataResults } = await worker.metadata();
    expect(functionMetadataResults).toEqual([]);
    expect(result?.status).toBe(Failure);
    expect(result?.exception?.message).toBe(
      `Worker was unable to load entry point "index.js" of the app in ${directory}: the only file throws (at index.js:1:7)`,
    );
    expect(result?.exception?.stackTrace).toContain('only-throwing/index.js:1');
    expect((await worker.load('any')).result?.exception?.stackTrace).toContain('only-throwing/index.js:1');
  });

  it('keeps the functions of the files that do load', async () => {
    const worker = await WorkerUnderTest.withApp('throwing-file');
    const { result, functionMetadataResults } = await worker.metadata();
    expect(result?.status).toBe(Failure);
    expect(result?.exception?.message).toContain('"functions/bad.js"');
    expect(functionMetadataResults.map(({ name }) => name)).toEqual(['good']);
    expect((await worker.load('good')).result?.status).toBe(Success);
    const { response } = await worker.call('good', httpRequest('GET', 'http://localhost/api/good'));
    expect(String(response.returnValue?.http?.body?.bytes)).toBe('good');
  });

  it.each([
    [
      'missing-main',
      `"main": "dist/src/{index.js,functions/*.js}" in PATH/package.json matches no file in PATH, and no folder in PATH has a function.json. Build the app first.`,
    ],
    ['no-main', 'PATH/package.json names no "main", and no folder in PATH has a function.json.'],
    [
      'no-functions',
      '"main": "index.js" in PATH/package.json names index.js, which registered none (with app.http, app.storageQueue, …), and no folder in PATH has a function.json.',
    ],
    ['does-not-exist', 'there is no PATH/package.json, and no folder in PATH has a function.json.'],
  ])('never has silently no functions: %s', async (name, reason) => {
    const worker = await WorkerUnderTest.withApp(name);
    const { result } = await worker.metadata();
    expect(result?.status).toBe(Failure);
    expect(result?.exception?.message).toBe(`No functions were found: ${reason.replaceAll('PATH', fixture(name))}`);
  });

  it('reports a package.json that is not JSON', async () => {
    await withScratchDirectory(async (directory) => {
      writeFileSync(path.join(directory, 'package.json'), '{ "name": "x", }');
      const worker = await WorkerUnderTest.start();
      await worker.init(directory);
      const { result } = await worker.metadata();
      expect(result?.exception?.message).toContain(`${directory}/package.json cannot be used, it is not valid JSON: `);
    });
  });

  it('blocks everything when an appStart hook fails', async () => {
    const worker = await WorkerUnderTest.withApp('bad-hook');
    const { result, functionMetadataResults } = await worker.metadata();
    expect(functionMetadataResults).toEqual([]);
    expect(result?.exception?.message).toContain('An appStart hook of the app in');
    expect(result?.exception?.message).toContain('no database');
    expect((await worker.load('never')).result?.status).toBe(Failure);
  });

  it('is logged as well', async () => {
    const worker = await WorkerUnderTest.withApp('only-throwing');
    const logs = worker.messages.flatMap((one) => (one.kind === 'rpcLog' ? [one.value.message] : []));
    expect(logs.join('\n')).toContain('the only file throws');
  });
});
