import path from 'node:path';
import {
  FunctionEnvironmentReloadResponseCapabilitiesUpdateStrategy as Strategy,
  GrpcStatus,
  RpcLogCategory,
  RpcLogLevel,
  StatusResultStatus,
} from '@drover/function-rpc';
import { message, workerTerminate } from '@drover/function-rpc/testing';
import { nodeWorkerFile } from '@drover/node-worker';
import { Child } from '@drover/testkit';
import { afterEach, describe, expect, it } from 'vitest';
import { root } from '../architecture/workspace.js';
import { app, CompatWorker, endAll } from './worker.js';

afterEach(endAll);

const { Success, Failure } = StatusResultStatus;
const item = (name: string, text: string) => [{ name, data: { string: text } }];

/** What was seen when the official worker ran against a host: ours does the same, or what it says beside it. */
describe('the worker, where the official one was watched,', () => {
  it('ends with 1 when an argument is missing that it needs', async () => {
    const child = new Child(process.execPath, [nodeWorkerFile(), '--functions-uri', 'http://127.0.0.1:1/']);
    expect((await child.exited).code).toBe(1);
    expect(child.output).toContain('functions-worker-id');
  });

  it('takes a host without a version, and with a message length of all that an integer holds', async () => {
    const worker = await CompatWorker.start();
    const request = message('workerInitRequest', { functionAppDirectory: app('v4-esm') });
    const { value } = await worker.admitted.request(request, 'workerInitResponse');
    expect(value.result?.status).toBe(Success);
  });

  it('ends with 0 when the host closes the stream in good order, and with 1 when it breaks', async () => {
    const [closed, broken] = await Promise.all([CompatWorker.withApp('v4-esm'), CompatWorker.withApp('v4-esm')]);
    closed.admitted.stream.end();
    expect(await closed.child.exited).toEqual({ code: 0, signal: null });
    broken.admitted.stream.destroy(GrpcStatus.UNAVAILABLE, 'it breaks');
    expect(await broken.child.exited).toEqual({ code: 1, signal: null });
  });

  it('ends with 1, and takes what it runs with it, when a handler leaves an error uncaught', async () => {
    for (const kind of ['exception', 'rejection']) {
      const worker = await CompatWorker.withApp('v4-commonjs');
      worker.admitted.send(
        message('invocationRequest', {
          invocationId: 'i',
          functionId: 'crash',
          inputData: item(worker.trigger('crash'), kind),
        }),
      );
      expect(await worker.child.exited).toEqual({ code: 1, signal: null });
      expect(worker.child.stderr.join('\n')).toContain('nobody caught it');
      await worker.admitted.inbox.ended;
      expect(worker.messages.some(({ kind }) => kind === 'invocationResponse')).toBe(false);
    }
  });

  it('does not fail the first request for an app that is broken, but says so when it is asked for functions', async () => {
    const worker = await CompatWorker.start();
    const directory = path.join(root, 'tests/e2e/apps/broken-missing-main');
    expect((await worker.init(directory)).result?.status).toBe(Success);
    const { result, functionMetadataResults, useDefaultMetadataIndexing } = await worker.index();
    // The official worker reports success and no functions here, so the mistake stays unseen.
    expect(result?.status).toBe(Failure);
    expect(result?.exception?.message).toContain('dist/src/index.js');
    expect(functionMetadataResults).toEqual([]);
    expect(useDefaultMetadataIndexing).toBe(true);
  });

  it('runs functions that it was not asked to load', async () => {
    const worker = await CompatWorker.start();
    await worker.init(app('v4-hooks'));
    const { functionMetadataResults } = await worker.index();
    const trigger = Object.keys(functionMetadataResults[0]?.bindings ?? {})[0] ?? '';
    const { response } = await worker.invoke({ functionId: 'hooked', inputData: item(trigger, 'x') });
    expect(response.result?.status).toBe(Success);
  });

  it('fails an invocation with an input that no binding has, and takes one without any', async () => {
    const worker = await CompatWorker.withApp('v4-commonjs');
    for (let round = 0; round < 2; round += 1) {
      const wrong = await worker.invoke({ functionId: 'queue', inputData: item('unheardOf', 'x') });
      expect(wrong.response.result).toMatchObject({
        status: Failure,
        exception: { message: expect.stringContaining('Failed to find binding "unheardOf"') as string },
      });
      const none = await worker.invoke({ functionId: 'queue' });
      expect(none.response.result?.status).toBe(Success);
    }
  });

  it('has exactly the environment it is specialized with, in the directory of the app, and only once', async () => {
    const worker = await CompatWorker.start({ OF_THE_PLACEHOLDER: '1' });
    await worker.init('');
    const reload = async (directory: string) => {
      const value = { environmentVariables: { GIVEN: 'yes', PATH: '/bin' }, functionAppDirectory: directory };
      const request = message('functionEnvironmentReloadRequest', value, 'reload');
      return await worker.admitted.request(request, 'functionEnvironmentReloadResponse');
    };
    const first = await reload(app('v4-esm'));
    expect(first.requestId).toBe('reload');
    expect(first.value).toMatchObject({ result: { status: Success }, capabilitiesUpdateStrategy: Strategy.replace });
    expect(first.value.capabilities).toMatchObject({ OfTheApp: 'hello from a module' });
    await worker.index();
    expect([...worker.functions.keys()].toSorted()).toEqual(['copy', 'greet']);
    expect((await worker.call('copy', { data: { string: 'x' } })).response.returnValue).toEqual({
      json: '{"copied":"x"}',
    });
    expect((await reload(app('v4-commonjs'))).value.result?.status).toBe(Failure);
  });

  it('repeats the id of a request in its answer, and has none on log lines', async () => {
    const worker = await CompatWorker.withApp('v4-commonjs');
    await worker.call('logs', { data: { string: 'x' } });
    const status = message('workerStatusRequest', {}, 'status');
    expect((await worker.admitted.request(status, 'workerStatusResponse')).requestId).toBe('status');
    const answers = worker.messages.filter(({ kind }) => kind === 'invocationResponse');
    expect(answers.map(({ requestId }) => requestId)).toEqual(['request of invocation-1']);
    for (const one of worker.messages) if (one.kind === 'rpcLog') expect(one.requestId).toBe('');
  });

  it('sends what a handler logs before its answer, in order, by level and category', async () => {
    const worker = await CompatWorker.withApp('v4-commonjs');
    for (let round = 0; round < 2; round += 1) {
      const { logs } = await worker.call('logs', { data: { string: 'x' } });
      const user = logs.filter(({ logCategory }) => logCategory === RpcLogCategory.User);
      expect(user.map(({ level, message: text, category }) => [level, text, category])).toEqual(
        [
          [RpcLogLevel.Trace, 'trace'],
          [RpcLogLevel.Debug, 'debug 5'],
          [RpcLogLevel.Information, 'log { a: 1 }'],
          [RpcLogLevel.Information, 'info'],
          [RpcLogLevel.Warning, 'warn'],
          [RpcLogLevel.Error, 'error'],
        ].map(([level, text]) => [level, text, 'logs.Invocation']),
      );
    }
  });

  it.each([
    ['error', { message: 'plain', type: 'Error', stackTrace: expect.stringContaining('errors.js') as string }],
    ['own', { message: 'of our own', type: 'OrderError' }],
    ['string', { message: 'a text' }],
    ['object', { message: '{"code":5}' }],
  ])('reports what a handler throws: %s', async (kind, exception) => {
    const worker = await CompatWorker.withApp('v4-commonjs');
    for (let round = 0; round < 2; round += 1) {
      const { response } = await worker.call('fail', { data: { string: kind } });
      expect(response.result).toMatchObject({ status: Failure, exception: { isUserException: true, ...exception } });
      expect(response.returnValue).toBeUndefined();
    }
  });

  it('answers nothing to a terminate, ends its stream and exits with 0', async () => {
    const worker = await CompatWorker.withApp('v4-esm');
    const before = worker.messages.length;
    worker.admitted.send(workerTerminate());
    expect((await worker.admitted.inbox.ended).kind).toBe('halfClosed');
    expect(await worker.child.exited).toEqual({ code: 0, signal: null });
    expect(worker.messages.slice(before).filter(({ kind }) => kind !== 'rpcLog')).toEqual([]);
  });

  it('prints what is its own with the prefix that hosts look for, and what is the app’s without', async () => {
    const worker = await CompatWorker.withApp('v4-hooks');
    worker.admitted.send(workerTerminate());
    await worker.child.exited;
    const lines = [...worker.child.stdout, ...worker.child.stderr];
    expect(lines).toContain('the app ends, kept');
    for (const line of lines) if (line !== 'the app ends, kept') expect(line).toMatch(/^LanguageWorkerConsoleLog/);
  });
});
