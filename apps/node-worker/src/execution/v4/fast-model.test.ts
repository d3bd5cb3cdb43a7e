import {
  decodeStreamingMessage,
  encodeStreamingMessage,
  type InvocationRequestInit,
  type RpcHttpInit,
  type StreamingMessage,
} from '@drover/function-rpc';
import type { HttpRequest, HttpResponseInit, InvocationContext } from '@azure/functions';
import { afterEach, describe, expect, it } from 'vitest';
import { FunctionApp } from '../../loading/function-app.js';
import type { ProgrammingModel } from '../../loading/functions-core.js';
import { ContextSignals } from '../context-signal.js';
import { success } from '../exceptions.js';
import { InFlight } from '../in-flight.js';
import { toInvocationResponse } from '../invocation-response.js';
import { invocationOf } from '../invocation.test.fixture.js';
import { LoopTurns } from '../loop-turns.js';
import { runInvocation } from '../run-invocation.js';
import { loadLibrary } from './library.test.fixture.js';
import { withFastPath } from './fast-model.js';

/** What the handlers below do; set by each test. */
let handle: (input: unknown, context: InvocationContext) => unknown = () => undefined;
afterEach(() => {
  handle = () => undefined;
});

const { library, app, model } = loadLibrary(({ app: functions, input, output }) => {
  const handler = (...args: unknown[]): unknown =>
    handle(args.length > 1 ? args[0] : undefined, args.at(-1) as InvocationContext);
  const extra = { name: 'extra', queueName: 'out', connection: 'C' };
  functions.http('http', { handler: handler as () => HttpResponseInit });
  functions.storageQueue('queue', {
    queueName: 'in',
    connection: 'C',
    trigger: { type: 'queueTrigger', name: 'item', queueName: 'in', connection: 'C' },
    extraInputs: [input.generic({ type: 'blob', name: 'blob', path: 'p' })],
    extraOutputs: [output.storageQueue(extra)],
    handler,
  });
  functions.generic('returning', {
    trigger: { type: 'queueTrigger', name: 'item' },
    return: output.storageQueue(extra),
    handler,
  });
  functions.timer('timer', {
    schedule: '* * * * * *',
    trigger: { type: 'timerTrigger', name: 'item' },
    handler,
  } as never);
});

const quick = withFastPath(model);

/** Everything that can be seen of one run from outside: what goes back to the host, log lines included. */
async function run(
  used: ProgrammingModel,
  functionId: string,
  request: InvocationRequestInit,
): Promise<StreamingMessage[]> {
  const found = app.find(functionId);
  if (!found) throw new Error(`no function ${functionId}`);
  const { invocation, stream } = invocationOf({ ...found, model: () => used }, { functionId, ...request });
  const inFlight = new InFlight();
  inFlight.add(invocation);
  const parts = { signals: new ContextSignals(inFlight), turns: new LoopTurns() };
  const outcome = await runInvocation(invocation, new FunctionApp(() => undefined), parts);
  const value =
    'thrown' in outcome
      ? { invocationId: 'id', result: { ...invocation.resultOf(outcome.thrown) } }
      : toInvocationResponse('id', outcome.response, success);
  const answer = decodeStreamingMessage(encodeStreamingMessage({ kind: 'invocationResponse', value }));
  return [...stream.sent, withoutStack(answer)];
}

/** Stacks differ, of course. */
function withoutStack(message: StreamingMessage): StreamingMessage {
  return JSON.parse(
    JSON.stringify(message, (key, value: unknown) => (key === 'stackTrace' ? '' : value)),
  ) as StreamingMessage;
}

/** Runs it as the library does it, and as we do. */
async function bothWays(
  functionId: string,
  request: InvocationRequestInit,
): Promise<{ readonly plain: StreamingMessage[]; readonly ours: StreamingMessage[] }> {
  // The classes of the library are learned from its own first runs.
  const first = handle;
  handle = () => undefined;
  await run(quick, 'http', { inputData: [{ name: httpName, data: { http: get } }] });
  handle = first;
  const plain = await run(model, functionId, structuredClone(request));
  const ours = await run(quick, functionId, structuredClone(request));
  return { plain, ours };
}

const httpName = Object.keys(app.find('http')?.metadata.bindings ?? {})[0] ?? '';
const get: RpcHttpInit = {
  method: 'GET',
  url: 'http://localhost:7071/api/http?name=x',
  nullableHeaders: { Host: { value: 'localhost' }, accept: { value: '' } },
  nullableQuery: { name: { value: 'x' }, empty: { value: '' } },
  nullableParams: { id: { value: '7' } },
};
const post = (body: string): RpcHttpInit => ({ ...get, method: 'POST', body: { bytes: Buffer.from(body) } });
const http = (data: RpcHttpInit): InvocationRequestInit => ({ inputData: [{ name: httpName, data: { http: data } }] });

describe('what a handler sees', () => {
  const everything = async (request: HttpRequest): Promise<object> => ({
    method: request.method,
    url: request.url,
    headers: [...request.headers],
    query: [...request.query],
    params: request.params,
    user: request.user,
    hasBody: request.body !== null,
    bodyUsed: request.bodyUsed,
    isRequest: request instanceof library.HttpRequest,
    name: request.constructor.name,
    text: await request.text(),
    used: request.bodyUsed,
  });

  it.each([
    ['GET', get],
    ['POST', post('body')],
    ['POST of nothing', post('')],
    ['POST with a byte order mark', post('\uFEFFbody')],
    [
      'without nullable maps',
      { method: 'PUT', url: 'http://localhost', headers: { a: 'b' }, query: { c: 'd' }, params: { e: 'f' } },
    ],
    ['GET with a body', { ...post('dropped'), method: 'GET' }],
    ['a method in lower case', { ...get, method: 'get' }],
    ['a method of its own', { ...get, method: 'PURGE' }],
    ['a body of text', { ...get, method: 'POST', body: { string: 'text' } }],
    ['no address', { ...get, url: 'nonsense' }],
    ['no method', { url: 'http://localhost' }],
    ['a header that cannot be', { ...get, nullableHeaders: { 'bad name': { value: 'x' } } }],
  ] as [string, RpcHttpInit][])('of a request: %s', async (_, data) => {
    handle = async (request) => ({ jsonBody: await everything(request as HttpRequest) });
    const both = await bothWays('http', http(data));
    expect(both.ours).toEqual(both.plain);
  });

  it.each([
    ['text twice', async (r: HttpRequest) => [await r.text(), await r.text()]],
    ['JSON', async (r: HttpRequest) => await r.json()],
    ['an ArrayBuffer', async (r: HttpRequest) => Buffer.from(await r.arrayBuffer()).toString('hex')],
    ['a blob', async (r: HttpRequest) => await (await r.blob()).text()],
    ['a stream', async (r: HttpRequest) => await new Response(r.body as ReadableStream).text()],
    ['a clone', async (r: HttpRequest) => [await r.clone().text(), await r.text()]],
    ['a clone after reading', async (r: HttpRequest) => [await r.text(), (() => r.clone())()].length],
    [
      'the body after reading',
      async (r: HttpRequest) => [await r.text(), (r.body as ReadableStream).locked, r.bodyUsed],
    ],
    ['text after the body was touched', async (r: HttpRequest) => [r.body !== null, await r.text(), r.bodyUsed]],
    ['a form that is none', async (r: HttpRequest) => await r.formData()],
  ])('of a body that it reads as %s', async (_, read) => {
    handle = async (request) => {
      try {
        return { jsonBody: await read(request as HttpRequest) };
      } catch (error) {
        return { jsonBody: error instanceof Error ? error.name : 'none' };
      }
    };
    const both = await bothWays('http', http(post('{"a":[1]}')));
    expect(both.ours).toEqual(both.plain);
  });

  const describeContext = (context: InvocationContext): object => ({
    invocationId: context.invocationId,
    functionName: context.functionName,
    metadata: context.triggerMetadata,
    retry: context.retryContext,
    trace: { ...context.traceContext },
    options: context.options,
    extra: context.extraInputs.get('blob'),
    missing: context.extraOutputs.get('extra') ?? 'unset',
    isContext: context instanceof library.InvocationContext,
    name: context.constructor.name,
    aborted: (context as InvocationContext & { signal: AbortSignal }).signal.aborted,
  });

  it.each([
    ['text', { string: 'text' }],
    ['JSON text', { string: '{"A":{"B":1}}' }],
    ['JSON', { json: '[1,{"A":2}]' }],
    ['JSON that is none', { json: 'nonsense' }],
    ['bytes', { bytes: Buffer.from([1]) }],
    ['an integer', { int: 5 }],
    ['a fraction', { double: 0.5 }],
    ['texts', { collectionString: { string: ['a', '1', '{}'] } }],
    ['integers', { collectionSint64: { sint64: [1, 2] } }],
    ['nothing', {}],
    ['HTTP where none belongs', { http: get }],
  ])('of an input and its context: %s', async (_, data) => {
    handle = (input, context) => ({ input, context: describeContext(context) });
    const both = await bothWays('queue', {
      inputData: [
        { name: 'item', data },
        { name: 'blob', data: { string: 'blob' } },
      ],
      triggerMetadata: {
        Id: { string: '12ab' },
        DequeueCount: { json: '3' },
        Nested: { json: '{"Outer":{"Inner":1}}' },
        Raw: { bytes: Buffer.from([1, 2]) },
        Nothing: {},
      },
      retryContext: { retryCount: 1, maxRetryCount: 2, exception: { message: 'm' } },
      traceContext: { traceParent: 'p', attributes: { k: 'v' } },
    });
    expect(both.ours).toEqual(both.plain);
  });

  it.each([
    ['no input', {}],
    ['no trace', { traceContext: undefined, inputData: [{ name: 'item', data: { string: 'x' } }] }],
    ['an input of no binding', { inputData: [{ name: 'other', data: { string: 'x' } }] }],
  ])('of an odd request: %s', async (_, request) => {
    handle = (input, context) => ({ input, context: describeContext(context) });
    const both = await bothWays('queue', request);
    expect(both.ours).toEqual(both.plain);
  });

  it('of a timer', async () => {
    handle = (input) => input;
    const json = '{"Schedule":{"AdjustForDST":true},"IsPastDue":false}';
    const { plain, ours } = await bothWays('timer', {
      inputData: [{ name: 'item', data: { json } }],
      triggerMetadata: { X: { string: 'y' } },
    });
    expect(ours).toEqual(plain);
    expect(ours.at(-1)).toMatchObject({
      value: { returnValue: { json: '{"schedule":{"adjustForDST":true},"isPastDue":false}' } },
    });
  });
});

describe('what a handler does', () => {
  const text = { inputData: [{ name: 'item', data: { string: 'x' } }] };

  it('logs at every level', async () => {
    handle = (_, context) => {
      for (const level of ['trace', 'debug', 'log', 'info', 'warn', 'error'] as const)
        context[level]('%s is %d', level, 1, { a: 1 });
    };
    const both = await bothWays('queue', text);
    expect(both.ours).toEqual(both.plain);
  });

  it('sets outputs by name and by binding', async () => {
    handle = (_, context) => {
      context.extraOutputs.set('extra', ['a', 'b']);
      context.extraOutputs.set({ type: 'queue', name: 'unknown' }, 'x');
      return 'result';
    };
    const both = await bothWays('queue', text);
    expect(both.ours).toEqual(both.plain);
  });

  it.each([
    ['text', 'text'],
    ['no text', ''],
    ['an integer', 7],
    ['a fraction', 7.5],
    ['no number', Number.NaN],
    ['a truth', false],
    ['an object', { a: { b: [1] } }],
    ['bytes', Buffer.from('bytes')],
    ['a view', new Uint16Array([1, 2])],
    ['an ArrayBuffer', new Uint8Array([1]).buffer],
    ['nothing', undefined],
    ['null', null],
    ['a promise', Promise.resolve({ a: 1 })],
    ['a date', new Date(0)],
  ])('returns %s', async (_, value) => {
    handle = () => value;
    const both = await bothWays('returning', text);
    expect(both.ours).toEqual(both.plain);
    const again = await bothWays('queue', text);
    expect(again.ours).toEqual(again.plain);
  });

  it.each([
    [
      'an error',
      () => {
        throw new RangeError('r');
      },
    ],
    ['a rejection', () => Promise.reject(new Error('e'))],
    [
      'undefined',
      () => {
        throw undefined;
      },
    ],
    ['a cookie of the wrong type', () => ({ cookies: [{ name: 5 }] })],
  ] as [string, () => unknown][])('throws %s', async (_, fail) => {
    handle = fail;
    const both = await bothWays('queue', text);
    expect(both.ours).toEqual(both.plain);
    const again = await bothWays('http', http(get));
    expect(again.ours).toEqual(again.plain);
  });

  it.each([
    ['nothing', undefined],
    ['null', null],
    ['an empty object', {}],
    ['a body', { body: 'text' }],
    ['an empty body', { body: '' }],
    ['bytes', { body: Buffer.from([1, 2]) }],
    ['an ArrayBuffer', { body: new Uint8Array([3]).buffer }],
    ['JSON', { jsonBody: { a: 1 } }],
    ['JSON with its own type', { jsonBody: [1], headers: { 'Content-Type': 'application/x' } }],
    ['null as JSON', { jsonBody: null, body: 'kept' }],
    ['a status', { status: 404, body: 'none' }],
    ['no content', { status: 204, body: 'dropped', jsonBody: { a: 1 } }],
    ['not modified', { status: 304, headers: { etag: 'x' } }],
    ['headers', { headers: { 'X-B': ' 2 ', 'x-a': '1' }, body: 'x' }],
    [
      'a list of headers',
      {
        headers: [
          ['X-A', '1'],
          ['x-a', '2'],
        ],
      },
    ],
    ['headers of the platform', { headers: new Headers({ a: 'b' }) }],
    ['a content type of its own', { headers: { 'content-type': 'text/html' }, body: '<p>' }],
    ['cookies', { cookies: [{ name: 'a', value: 'b', sameSite: 'Lax', expires: new Date(9_000), maxAge: 1 }] }],
    ['negotiation', { enableContentNegotiation: true, body: 'x' }],
    ['a response of the library', () => new library.HttpResponse({ status: 201, body: 'made' })],
    ['a response of the platform', () => new Response('platform', { status: 202 })],
    ['a stream', () => ({ body: new Blob(['stream']).stream() })],
    ['parameters', () => ({ body: new URLSearchParams({ a: 'b' }) })],
    ['a number as body', { body: 5 }],
    ['text', 'not an object'],
    ['a number', 5],
    ['a list', []],
    ['a status that is none', { status: 99 }],
    ['a status of text', { status: '200' }],
    ['a header that cannot be', { headers: { 'bad name': 'x' } }],
  ] as [string, unknown][])('answers HTTP with %s', async (_, response) => {
    handle = () => (typeof response === 'function' ? (response as () => unknown)() : response);
    const both = await bothWays('http', http(get));
    expect(both.ours).toEqual(both.plain);
  });
});

describe('the library', () => {
  /** Only contexts that the library made have their options from the start. */
  const madeByLibrary = (context: InvocationContext): boolean => Object.hasOwn(context, 'options');

  it('makes the first context and the first request of an app, and no others', async () => {
    const fresh = withFastPath(model);
    const seen: boolean[] = [];
    handle = (_, context) => void seen.push(madeByLibrary(context));
    const item = { inputData: [{ name: 'item', data: { string: 'x' } }] };
    for (const [functionId, request] of [
      ['queue', item],
      ['queue', item],
      ['http', http(get)],
      ['http', http(get)],
      ['queue', item],
    ] as const) {
      await run(fresh, functionId, request);
    }
    expect(seen).toEqual([true, false, true, false, false]);
  });

  it('does everything itself where we do not know it', async () => {
    const newer = withFastPath({
      ...model,
      name: model.name,
      version: '4.99.0',
      getInvocationModel: (core) => model.getInvocationModel(core),
    });
    handle = (_, context) => ({ body: String(madeByLibrary(context)) });
    for (const _ of [1, 2, 3]) {
      const [answer] = await run(newer, 'http', http(get));
      expect(answer).toMatchObject({
        value: { returnValue: { http: { body: { bytes: { data: [...Buffer.from('true')] } } } } },
      });
    }
  });

  it('is not looked at when it is another one', () => {
    const other = { ...model, name: 'other', version: '4.0.0', getInvocationModel: () => expect.unreachable() };
    expect(withFastPath(other)).toBe(other);
    const next = { ...other, name: model.name, version: '5.0.0' };
    expect(withFastPath(next)).toBe(next);
  });
});
