import { readFileSync } from 'node:fs';
import path from 'node:path';
import {
  BindingInfoDirection,
  RpcLogLevel,
  StatusResultStatus,
  type RpcFunctionMetadataInit,
} from '@drover/function-rpc';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { endAll, fixture, httpRequest, WorkerUnderTest } from './support/worker-under-test.js';

/** What a host makes of a function.json. */
function metadataOf(name: string): RpcFunctionMetadataInit {
  const directory = path.join(fixture('v3'), name);
  const {
    bindings,
    scriptFile = 'index.js',
    entryPoint = '',
  } = JSON.parse(readFileSync(path.join(directory, 'function.json'), 'utf8')) as {
    bindings: { name: string; type: string; direction: 'in' | 'out' }[];
    scriptFile?: string;
    entryPoint?: string;
  };
  const infos = bindings.map(({ name: key, type, direction }) => [
    key,
    { type, direction: BindingInfoDirection[direction] },
  ]);
  return {
    name,
    directory,
    entryPoint,
    scriptFile: path.join(directory, scriptFile),
    bindings: Object.fromEntries(infos),
  };
}

describe('an app of the v3 model', () => {
  let worker: WorkerUnderTest;
  beforeAll(async () => {
    worker = await WorkerUnderTest.withApp('v3');
    await worker.metadata();
  });
  afterAll(endAll);

  const call = async (name: string, trigger: string, data: Parameters<typeof httpRequest>[1] | object, more = {}) => {
    const loaded = await worker.load(name, metadataOf(name));
    expect(loaded.result).toMatchObject({ status: StatusResultStatus.Success });
    const id = worker.invoke(name, { name: trigger, data: data as object }, more);
    return await worker.finished(id);
  };

  it('leaves the search for functions to the host, though its main does not exist', async () => {
    const { result, useDefaultMetadataIndexing, functionMetadataResults } = await worker.metadata();
    expect(useDefaultMetadataIndexing).toBe(true);
    expect(functionMetadataResults).toEqual([]);
    expect(result?.status).toBe(StatusResultStatus.Success);
  });

  it('answers HTTP by context.res', async () => {
    const request = httpRequest('POST', 'http://localhost/api/Http?name=you', { params: { id: '7' }, body: '{"a":1}' });
    const { response, logs } = await call('Http', 'req', request);
    expect(response.result?.status).toBe(StatusResultStatus.Success);
    const [output] = response.outputData;
    expect(output?.name).toBe('res');
    expect(output?.data?.http).toMatchObject({ statusCode: '202', body: { json: '{"hello":"you"}' } });
    expect(output?.data?.http?.cookies).toMatchObject([
      { name: 'c', value: 'v', sameSite: 1, secure: { value: true } },
    ]);
    expect(JSON.parse(output?.data?.http?.headers['x-seen'] ?? '')).toEqual({
      query: { name: 'you' },
      params: { id: '7' },
      body: { a: 1 },
      keys: ['headers', 'invocationId', 'query', 'sys'],
    });
    expect(logs).toMatchObject([
      { message: 'processed POST', category: 'Http.Invocation', level: RpcLogLevel.Information },
    ]);
  });

  it('runs the entry point that function.json names, with outputs by return and by context.bindings', async () => {
    const more = { triggerMetadata: { DequeueCount: { json: '3' } } };
    const { response } = await call('Queue', 'item', { string: '{"id":5}' }, more);
    expect(response.outputData.map(({ name, data }) => [name, data?.json])).toEqual([['copy', '[{"id":5},3]']]);
    expect(JSON.parse(response.returnValue?.json ?? '')).toEqual({ same: true, invocation: 'Queue', id: 5 });
  });

  it('may end by context.done or by the methods of context.res', async () => {
    const { response, logs } = await call('Done', 'req', httpRequest('GET', 'http://localhost/api/Done'));
    expect(response.outputData[0]?.data?.http).toMatchObject({ statusCode: '203', body: { json: '{"by":"res"}' } });
    expect({ ...response.outputData[0]?.data?.http?.headers }).toEqual({
      'x-by': 'res',
      'content-type': 'application/json',
    });
    expect(logs).toMatchObject([{ message: 'about to be done', level: RpcLogLevel.Warning }]);
  });

  it('fails by context.done with an error', async () => {
    const { response } = await call('Done', 'req', httpRequest('GET', 'http://localhost/api/Done?fail=1'));
    expect(response.result).toMatchObject({
      status: StatusResultStatus.Failure,
      exception: { message: 'told to fail' },
    });
  });

  it('may be an ES module, and has a signal in its context', async () => {
    const { response } = await call('Module', 'item', { string: 'x' });
    expect(JSON.parse(response.returnValue?.json ?? '')).toEqual({ item: 'x', aborted: false });
  });

  it('refuses to load a script without a clear entry point', async () => {
    const { result } = await worker.load('Broken', metadataOf('Broken'));
    expect(result?.status).toBe(StatusResultStatus.Failure);
    expect(result?.exception?.message).toMatch(
      /unable to load function Broken from .*Broken\/index\.js: Unable to determine function entry point\./,
    );
  });

  it('fails invocations of functions that are not loaded', async () => {
    const { response } = await worker.finished(worker.invoke('Never', { name: 'item', data: { string: 'x' } }));
    expect(response.result?.exception?.message).toBe("Function code for 'Never' is not loaded and cannot be invoked.");
  });
});
