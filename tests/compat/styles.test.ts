import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import path from 'node:path';
import { RpcLogCategory, RpcLogLevel, StatusResultStatus } from '@drover/function-rpc';
import { workerTerminate } from '@drover/function-rpc/testing';
import { afterEach, describe, expect, it } from 'vitest';
import { app, CompatWorker, endAll, httpData, legacyMetadata } from './worker.js';

afterEach(endAll);

const { Success, Failure } = StatusResultStatus;

describe.each([
  ['as the worker is shipped', {}],
  ['with the library doing everything', { DROVER_WORKER_PLAIN_LIBRARY: '1' }],
])('hooks, %s', (_, env) => {
  it('run around every invocation, and may change its inputs, its handler, its result and its failure', async () => {
    const worker = await CompatWorker.withApp('v4-hooks', env);
    const run = async (text: string) => (await worker.call('hooked', { data: { string: text } })).response;
    expect((await run('as it is')).returnValue).toEqual({ string: 'as it is (2 arguments)' });
    expect(JSON.parse((await run('story')).returnValue?.json ?? '')).toEqual([
      'appStart',
      'pre hooked true',
      'second pre true',
      'post "as it is (2 arguments)" 1 true',
      'pre hooked true',
      'second pre true',
    ]);
    expect((await run('other input')).returnValue).toEqual({ string: 'another one (3 arguments)' });
    expect((await run('other handler')).returnValue).toEqual({ string: 'wrapped: other handler (2 arguments)' });
    expect((await run('other result')).returnValue).toEqual({ string: 'by a hook' });
    expect((await run('forgiven')).returnValue).toEqual({ string: 'forgiven' });
    expect((await run('fails')).result).toMatchObject({ status: Failure, exception: { message: 'thrown for fails' } });
    expect((await run('blamed')).result).toMatchObject({ status: Failure, exception: { message: 'blamed by a hook' } });
    expect((await run('refused')).result).toMatchObject({
      status: Failure,
      exception: { message: 'refused by a hook' },
    });
  });

  it('may change what is logged', async () => {
    const worker = await CompatWorker.withApp('v4-hooks', env);
    for (let round = 0; round < 2; round += 1) {
      const { logs } = await worker.call('hooked', { data: { string: 'x' } });
      expect(logs.filter(({ logCategory }) => logCategory === RpcLogCategory.User)).toMatchObject([
        { message: 'hidden in hooked', level: RpcLogLevel.Warning, category: 'hooked.Invocation' },
      ]);
    }
  });

  it('hear of the end of the app', async () => {
    const worker = await CompatWorker.withApp('v4-hooks', env);
    worker.admitted.send(workerTerminate());
    expect(await worker.child.exited).toEqual({ code: 0, signal: null });
    expect(worker.child.stdout).toContain('the app ends, kept');
    expect((await worker.admitted.inbox.ended).kind).toBe('halfClosed');
  });
});

describe('an app of ES modules', () => {
  it('is loaded, set up, hooked and run as any other', async () => {
    const worker = await CompatWorker.start();
    const { capabilities, workerMetadata } = await worker.init(app('v4-esm'));
    expect(capabilities).toMatchObject({ OfTheApp: 'hello from a module', TypedDataCollection: 'true' });
    expect(workerMetadata?.customProperties).toMatchObject({ modelName: '@azure/functions', modelVersion: '4.16.5' });
    await worker.index();
    expect([...worker.functions.keys()].toSorted()).toEqual(['copy', 'greet']);
    for (let round = 0; round < 2; round += 1) {
      const { response } = await worker.call('greet', {
        data: httpData('GET', 'http://localhost/api/greet/you', { params: { name: 'you' } }),
      });
      expect(String(response.returnValue?.http?.body?.bytes)).toBe('hello from a module, YOU');
      const copy = await worker.call('copy', { data: { string: '{"a":1}' } });
      expect(copy.response.returnValue).toEqual({ json: '{"copied":{"a":1}}' });
    }
  });
});

describe('an app with HTTP streams', () => {
  const ask = (
    base: string,
    target: string,
    invocationId: string,
    parts: readonly string[],
  ): Promise<{ status: number | undefined; headers: NodeJS.Dict<string | string[]>; chunks: string[] }> =>
    new Promise((resolve, reject) => {
      const chunks: string[] = [];
      const [first = '', ...rest] = parts;
      const outgoing = request(`${base}${target}`, {
        method: 'POST',
        headers: {
          'x-ms-invocation-id': invocationId,
          'x-forwarded-host': 'example.test',
          'x-forwarded-proto': 'https',
          'transfer-encoding': 'chunked',
        },
      });
      outgoing.on('error', reject);
      outgoing.on('response', (response) => {
        response.setEncoding('utf8').on('data', (chunk: string) => {
          chunks.push(chunk);
          const next = rest.shift();
          // The next part goes when the one before has come back: nothing is held until the end.
          if (next === undefined) outgoing.end();
          else outgoing.write(next);
        });
        response.on('end', () => resolve({ status: response.statusCode, headers: response.headers, chunks }));
      });
      outgoing.write(first);
    });

  it('takes requests at the address it offers, in either order with the invocation, and answers there alone', async () => {
    const worker = await CompatWorker.start();
    const { capabilities } = await worker.init(app('v4-stream'));
    expect(capabilities).toMatchObject({ OfTheApp: 'yes' });
    const base = capabilities['HttpUri'] ?? '';
    expect(base).toMatch(/^http:\/\/localhost:\d+\/$/);
    await worker.index();
    const invoke = (invocationId: string) =>
      worker.call('upper', {
        data: { http: {} },
        triggerMetadata: {
          Headers: { json: '{"x-in":"from the metadata"}' },
          Query: { json: '{"q":"1"}' },
          name: { string: 'you' },
        },
        more: { invocationId },
      });
    for (const order of ['request first', 'invocation first']) {
      const id = order.replace(' ', '-');
      const parts = ['first ', 'second ', 'third'];
      const before = order === 'invocation first' ? invoke(id) : undefined;
      const answered = ask(base, 'api/upper/you?q=1', id, parts);
      const { response } = await (before ?? invoke(id));
      const { status, headers, chunks } = await answered;
      expect(status).toBe(203);
      expect(chunks).toEqual(['FIRST ', 'SECOND ', 'THIRD']);
      expect(headers).toMatchObject({
        'x-name': 'you',
        'x-url': 'https://example.test/api/upper/you?q=1',
        'x-header': 'from the metadata',
        'x-ms-invocation-id': id,
        'set-cookie': ['c=v; Path=/'],
      });
      expect(response.result?.status).toBe(Success);
      expect(response.returnValue).toBeUndefined();
    }
  });

  it('fails as any other when its handler does, and has functions beside that know nothing of HTTP', async () => {
    const worker = await CompatWorker.start();
    const { capabilities } = await worker.init(app('v4-stream'));
    await worker.index();
    const invocationId = 'breaks';
    const asked = ask(capabilities['HttpUri'] ?? '', 'api/breaks', invocationId, ['x']).catch(String);
    const { response } = await worker.call('breaks', { data: { http: {} }, more: { invocationId } });
    expect(response.result).toMatchObject({ status: Failure, exception: { message: 'before any answer' } });
    const beside = await worker.call('beside', { data: { string: 'x' } });
    expect(beside.response.returnValue).toEqual({ json: '{"got":"x"}' });
    await worker.end();
    await asked; // it is for the host to answer that one
  });
});

describe('an app of the v3 model', () => {
  type FunctionJson = Parameters<typeof legacyMetadata>[2];

  async function start(): Promise<CompatWorker> {
    const worker = await CompatWorker.start();
    await worker.init(app('v3'));
    const { useDefaultMetadataIndexing, result } = await worker.index(app('v3'));
    expect(result?.status).toBe(Success);
    expect(useDefaultMetadataIndexing).toBe(true);
    for (const name of ['HttpRes', 'HttpReturn', 'QueueOut', 'TimerDone', 'Esm']) {
      const file = JSON.parse(readFileSync(path.join(app('v3'), name, 'function.json'), 'utf8')) as FunctionJson;
      await worker.load(name, legacyMetadata(app('v3'), name, file));
    }
    return worker;
  }

  it('answers HTTP by context.res, with the request of old', async () => {
    const worker = await start();
    const data = httpData('POST', 'http://localhost/api/v3/7?q=1', {
      headers: { 'content-type': 'application/json', 'x-in': 'h' },
      params: { id: '7' },
      body: '{"a":1}',
    });
    const { response, logs } = await worker.invoke({
      functionId: 'HttpRes',
      inputData: [{ name: 'req', data }],
      traceContext: { traceParent: '00-a-b-01' },
      retryContext: { retryCount: 1, maxRetryCount: 2 },
    });
    expect(response.result).toMatchObject({ status: Success });
    const [output] = response.outputData;
    expect(output?.name).toBe('res');
    expect(output?.data?.http).toMatchObject({ statusCode: '202', cookies: [{ name: 'c', sameSite: 1 }] });
    expect(output?.data?.http?.headers).toMatchObject({ 'x-by': 'v3' });
    expect(JSON.parse(output?.data?.http?.body?.json ?? '')).toMatchObject({
      method: 'POST',
      query: { q: '1' },
      params: { id: '7' },
      header: 'h',
      body: { a: 1 },
      raw: '{"a":1}',
      get: 'h',
      same: true,
      name: 'HttpRes',
      directory: true,
      retry: { retryCount: 1, maxRetryCount: 2 },
      trace: '00-a-b-01',
    });
    expect(logs.map(({ message: text, level }) => [text, level])).toEqual([
      ['log', RpcLogLevel.Information],
      ['warn', RpcLogLevel.Warning],
      ['verbose', RpcLogLevel.Trace],
    ]);
  });

  it('answers HTTP by what it returns', async () => {
    const worker = await start();
    const data = httpData('GET', 'http://localhost/api/v3return?x=5');
    const { response } = await worker.invoke({ functionId: 'HttpReturn', inputData: [{ name: 'req', data }] });
    expect(response.returnValue?.http).toMatchObject({ statusCode: '201', body: { string: 'returned 5' } });
  });

  it('has several inputs and outputs, and a shared file with an entry point', async () => {
    const worker = await start();
    const { response } = await worker.invoke({
      functionId: 'QueueOut',
      inputData: [
        { name: 'item', data: { string: '{"n":1}' } },
        { name: 'extra', data: { string: 'blob' } },
      ],
      triggerMetadata: { DequeueCount: { json: '2' }, Id: { string: 'the-id' } },
    });
    expect(response.result).toMatchObject({ status: Success });
    expect(response.outputData.map(({ name, data }) => [name, data?.json])).toEqual([
      ['copy', '[{"n":1},{"dequeueCount":2}]'],
    ]);
    expect(JSON.parse(response.returnValue?.json ?? '')).toEqual({ extra: 'blob', same: true, id: 'the-id' });
  });

  it('may end by context.done, and may be an ES module', async () => {
    const worker = await start();
    const timer = { Schedule: { AdjustForDST: true }, IsPastDue: true };
    const done = await worker.invoke({
      functionId: 'TimerDone',
      inputData: [{ name: 'timer', data: { json: JSON.stringify(timer) } }],
    });
    expect(done.response.result).toMatchObject({ status: Success });
    expect(JSON.parse(done.response.outputData[0]?.data?.string ?? '')).toMatchObject({ isPastDue: true });
    const esm = await worker.invoke({ functionId: 'Esm', inputData: [{ name: 'item', data: { string: 'x' } }] });
    expect(JSON.parse(esm.response.returnValue?.json ?? '')).toEqual({ module: true, item: 'x' });
  });
});
