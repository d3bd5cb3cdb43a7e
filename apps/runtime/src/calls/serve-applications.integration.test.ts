import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { eventually } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { definitionOf, httpFunction, responseOf } from '../bindings/definition.test.fixture.js';
import { invocationFailed, invocationTimedOut, noWorker, outputFailed, saturated, workerLost } from '../errors.js';
import type { InvocationCall, InvocationOutcome } from '../invocations/invocation-call.js';
import {
  assign,
  failed,
  httpResponse,
  nodeCapabilities,
  succeeded,
  withServer,
  type ServedApp,
} from '../functions-http/http-server.test.fixture.js';

const queue = definitionOf('Work', { name: 'item', type: 'queueTrigger', direction: 'in', queueName: 'q' });
const off = { ...httpFunction('off', { type: 'HTTPTRIGGER' }), isDisabled: true };
const hello = httpFunction('hello');
const items = httpFunction('items', { route: 'items/{id:int}', methods: ['GET'] });
const functions = [queue, hello, off, items];
const key = { 'x-functions-key': 'master' };

interface Called {
  readonly status: number;
  readonly headers: Headers;
  readonly head: unknown;
  readonly output: unknown;
}

async function call(
  url: string,
  name: string,
  input: string | Uint8Array,
  { head, headers = {}, signal }: { head?: object; headers?: Record<string, string>; signal?: AbortSignal } = {},
): Promise<Called> {
  const about = head ? JSON.stringify(head) : '';
  const answer = await fetch(`${url}/admin/applications/app/functions/${name}/invoke`, {
    method: 'POST',
    headers: {
      ...key,
      ...headers,
      ...(head && { 'x-drover-head-bytes': String(Buffer.byteLength(about)) }),
    },
    body: Buffer.concat([Buffer.from(about), Buffer.from(input)]),
    ...(signal && { signal }),
  });
  const body = Buffer.from(await answer.arrayBuffer());
  const length = Number(answer.headers.get('x-drover-head-bytes') ?? 0);
  const parse = (text: string): unknown => (text === '' ? undefined : JSON.parse(text));
  return {
    status: answer.status,
    headers: answer.headers,
    head: parse(body.toString('utf8', 0, length)),
    output: parse(body.toString('utf8', length)),
  };
}

/** Serves with an invoker that remembers what came. */
async function serve(
  invoke: (call: InvocationCall) => Promise<InvocationOutcome> | InvocationOutcome,
  use: (url: string, calls: InvocationCall[]) => Promise<void>,
  more: Partial<ServedApp> = {},
): Promise<void> {
  const calls: InvocationCall[] = [];
  const remember = (one: InvocationCall) => {
    calls.push(one);
    return invoke(one);
  };
  await withServer({ functions, invoke: remember, ...more }, ({ url }) => use(url, calls));
}

describe('the list of applications', () => {
  it('names all functions, and is not sent again while it is the same', async () => {
    await serve(
      () => expect.unreachable(),
      async (url) => {
        const first = await fetch(`${url}/admin/applications`, { headers: key });
        expect(await first.json()).toEqual({
          applications: [
            {
              name: 'app',
              functions: [
                { name: 'Work', trigger: 'queueTrigger', isDisabled: false },
                { name: 'hello', trigger: 'httpTrigger', isDisabled: false },
                { name: 'off', trigger: 'httpTrigger', isDisabled: true },
                { name: 'items', trigger: 'httpTrigger', isDisabled: false },
              ],
            },
          ],
          problems: [],
        });
        const tag = first.headers.get('etag') ?? '';
        const ask = (tagSent: string) =>
          fetch(`${url}/admin/applications`, { headers: { ...key, 'if-none-match': tagSent } });
        expect((await ask(tag)).status).toBe(304);
        expect((await ask('"other"')).status).toBe(200);
      },
    );
  });

  it('is for the master key only, and so are calls', async () => {
    await serve(
      () => expect.unreachable(),
      async (url) => {
        for (const headers of [{}, { 'x-functions-key': 'host-key' }, { 'x-functions-key': 'function-key' }])
          for (const [method, path] of [
            ['GET', ''],
            ['POST', '/app/functions/hello/invoke'],
            ['POST', '/unknown/functions/hello/invoke'],
          ] as const)
            expect((await fetch(`${url}/admin/applications${path}`, { method, headers })).status).toBe(401);
      },
    );
  });

  it('is empty where there are none, but for the reason why', async () => {
    const problems = [{ application: 'shop', problem: 'it has no functions' }];
    const server = {
      applications: { resolve: () => undefined, named: () => undefined, all: () => [], problems: () => problems },
    };
    await withServer({ functions: [], invoke: () => expect.unreachable(), server }, async ({ url }) => {
      expect(await (await fetch(`${url}/admin/applications`)).json()).toEqual({ applications: [], problems });
      expect(await call(url, 'hello', 'null')).toMatchObject({
        status: 404,
        output: { error: 'APPLICATION_NOT_FOUND' },
      });
    });
  });
});

describe('a call of an HTTP function', () => {
  const inputOf = (one: InvocationCall) => one.inputs(nodeCapabilities).inputData[0]?.data?.http ?? undefined;

  it('reaches it as a request, and brings back its response', async () => {
    const answer = httpResponse('{"ok": true}', {
      statusCode: '418',
      headers: { 'content-type': 'application/json', 'X-Own': '1' },
    });
    await serve(
      () => answer,
      async (url, calls) => {
        const head = { headers: { 'user-agent': 'me', 'x-ms-client-principal-id': 'root', host: 'shop.example' } };
        const headers = { 'x-execution-id': 'e-1', 'x-dispatch-attempt': '2', 'x-trace-id': 't' };
        expect(await call(url, 'HELLO', '{"a": "ä"}', { head, headers })).toMatchObject({
          status: 200,
          head: { statusCode: 418, headers: { 'content-type': 'application/json', 'x-own': '1' } },
          output: { ok: true },
        });
        const [one] = calls;
        const http = one && inputOf(one);
        expect(http).toMatchObject({
          method: 'POST',
          url: 'http://shop.example/api/hello',
          body: { bytes: Buffer.from('{"a": "ä"}') },
        });
        expect(http?.nullableHeaders).toEqual({
          'user-agent': { value: 'me' },
          host: { value: 'shop.example' },
          'x-execution-id': { value: 'e-1' },
          'x-dispatch-attempt': { value: '2' },
          'x-trace-id': { value: 't' },
          'content-length': { value: '11' },
          'content-type': { value: 'application/json' },
        });
      },
    );
  });

  it('carries bytes both ways', async () => {
    const bytes = new Uint8Array([0, 255, 1]);
    const answer = httpResponse('', { headers: { 'content-type': 'image/png' }, body: { bytes } });
    await serve(
      () => answer,
      async (url, calls) => {
        const headers = { 'content-type': 'application/octet-stream' };
        const head = { headers: { 'content-type': 'image/gif' } };
        expect(await call(url, 'hello', bytes, { headers, head })).toMatchObject({
          head: { encoding: 'base64' },
          output: Buffer.from(bytes).toString('base64'),
        });
        const http = calls[0] && inputOf(calls[0]);
        expect(http?.body).toEqual({ bytes: Buffer.from(bytes) });
        expect(http?.nullableHeaders?.['content-type']).toEqual({ value: 'image/gif' });
      },
    );
  });

  it('fills the route, or says what is missing', async () => {
    await serve(
      () => succeeded(),
      async (url, calls) => {
        expect(await call(url, 'items', '{"id":5,"q":"x"}', { head: { metadata: { m: '1' } } })).toMatchObject({
          status: 200,
          head: { statusCode: 204 },
          output: null,
        });
        const http = calls[0] && inputOf(calls[0]);
        expect(http).toMatchObject({ method: 'GET', nullableParams: { id: { value: '5' } }, body: undefined });
        expect(http?.url).toMatch(/\/api\/items\/5\?q=x&m=1$/);
        expect(await call(url, 'items', '{}')).toMatchObject({
          status: 400,
          output: { error: 'ADMIN_CALL_REFUSED', message: expect.stringContaining('needs a value for "id"') },
        });
        expect(calls).toHaveLength(1);
      },
    );
  });

  it('stands in the same line as requests do', async () => {
    const release: (() => void)[] = [];
    const wait = async () => {
      await new Promise<void>((resolve) => release.push(resolve));
      return httpResponse('done');
    };
    const hostJson = { maxOutstandingRequests: 1, maxConcurrentRequests: 1 };
    await serve(
      wait,
      async (url) => {
        const first = call(url, 'hello', 'null');
        await eventually(() => release.length === 1);
        const second = await call(url, 'hello', 'null');
        expect([second.status, second.headers.get('retry-after')]).toEqual([429, '1']);
        release[0]?.();
        expect((await first).output).toBe('done');
      },
      { hostJson },
    );
  });

  it('goes through the server of a worker that has one', async () => {
    const own = createServer((request, response) => {
      let body = '';
      request.on('data', (chunk: Buffer) => (body += chunk.toString()));
      request.on('end', () => {
        const seen = {
          id: request.headers['x-ms-invocation-id'],
          url: request.url,
          body,
          own: request.headers['x-own'],
        };
        response.writeHead(202, { 'content-type': 'application/json' });
        response.end(JSON.stringify(seen));
      });
    }).listen(0, '127.0.0.1');
    await once(own, 'listening');
    const httpUri = `http://127.0.0.1:${(own.address() as AddressInfo).port}`; // listens
    const capabilities = { HttpUri: httpUri };
    let invoke: (one: InvocationCall) => Promise<InvocationOutcome> = async (one) => {
      void assign(one, capabilities, 'i-1');
      return succeeded();
    };
    try {
      await serve(
        (one) => invoke(one),
        async (url) => {
          expect(await call(url, 'hello', '[1]', { head: { headers: { 'x-own': 'mine' } } })).toMatchObject({
            status: 200,
            head: { statusCode: 202 },
            output: { id: 'i-1', url: '/api/hello', body: '[1]', own: 'mine' },
          });
          invoke = (one) => assign(one, { HttpUri: 'http://evil.example' });
          expect(await call(url, 'hello', '1')).toMatchObject({ status: 502 });
          invoke = async () => failed(invocationFailed({ functionName: 'hello', type: '', text: 'oh' }));
          expect(await call(url, 'hello', '1')).toMatchObject({ status: 500 });
        },
        { app: { streamsHttp: () => true } },
      );
    } finally {
      own.close();
      own.closeAllConnections();
    }
  });
});

describe('a call of a function with another trigger', () => {
  it.each([
    ['{"a": 1}', '{"a": 1}'],
    ['"plain \\u00e4"', 'plain ä'],
    ['7', '7'],
    ['null', 'null'],
  ])('with %s delivers %s', async (input, data) => {
    const answer = succeeded({ returnValue: { json: '{"done":true}' } });
    await serve(
      () => answer,
      async (url, calls) => {
        const headers = { 'x-execution-id': 'e-1', 'x-dispatch-attempt': '3' };
        const head = { metadata: { shop: 'x', Id: 'forged' } };
        expect(await call(url, 'work', input, { headers, head })).toMatchObject({
          status: 200,
          head: undefined,
          output: { done: true },
        });
        const inputs = calls[0]?.inputs(nodeCapabilities);
        expect(inputs?.inputData).toEqual([{ name: 'item', data: { string: data } }]);
        expect(inputs?.triggerMetadata).toMatchObject({
          shop: { string: 'x' },
          Id: { string: 'e-1' },
          DequeueCount: { json: '3' },
          QueueTrigger: { string: data },
        });
        expect(calls[0]?.bindingData?.()).toMatchObject({ shop: 'x' });
      },
    );
  });
});

describe('a call that fails', () => {
  const functionName = 'hello';

  it.each([
    [invocationFailed({ functionName, type: 'TypeError', text: 'no such order' }), 500, 'RUNTIME_INVOCATION_FAILED'],
    [invocationTimedOut({ functionName, timeoutMs: 5 }), 504, 'RUNTIME_INVOCATION_TIMED_OUT'],
    [workerLost({ workerId: 'w', reason: 'gone' }), 503, 'RUNTIME_WORKER_LOST'],
    [noWorker({ functionName }), 503, 'RUNTIME_NO_WORKER'],
    [saturated({ functionName, limit: 5 }), 429, 'RUNTIME_SATURATED'],
    [outputFailed({ functionName, binding: 'b', text: 't', written: [] }), 500, 'RUNTIME_OUTPUT_FAILED'],
  ])('with %s answers %d', async (error, status, code) => {
    await serve(
      () => failed(error),
      async (url) => {
        for (const name of ['hello', 'work'])
          expect(await call(url, name, 'null')).toMatchObject({ status, output: { error: code } });
      },
    );
  });

  it('says what the function said', async () => {
    const outcomes: InvocationOutcome[] = [
      failed(invocationFailed({ functionName, type: 'TypeError', text: 'no such order' })),
      {
        kind: 'rejected',
        invocationId: 'i',
        reason: 'never',
        response: responseOf({}),
      },
      httpResponse('', { statusCode: '99' }),
    ];
    await serve(
      () => outcomes.shift() ?? succeeded(),
      async (url) => {
        const messages: unknown[] = [];
        for (let count = 0; count < 3; count += 1) messages.push((await call(url, 'hello', '1')).output);
        expect(messages).toMatchObject([
          { message: 'Function hello failed with TypeError: no such order' },
          { message: 'Function hello failed: never' },
          { error: 'FUNCTION_ANSWER_INVALID', message: expect.stringContaining('"99"') },
        ]);
      },
    );
  });

  it.each([
    ['unknown', 404],
    ['off', 404],
    ['hello/invoke/x', 404],
  ])('since there is no %s answers %d', async (name, status) => {
    await serve(
      () => expect.unreachable(),
      async (url) => {
        expect(await call(url, name, 'null')).toMatchObject({ status, output: { error: 'FUNCTION_NOT_FOUND' } });
      },
    );
  });

  it.each(['999', '-1', 'x', '1', '4', '18'])('since its head is not %s bytes long answers 400', async (length) => {
    await serve(
      () => expect.unreachable(),
      async (url) => {
        const headers = { 'x-drover-head-bytes': length };
        expect((await call(url, 'hello', 'null{"metadata":{"a":1}}', { headers })).status).toBe(400);
      },
    );
  });

  it('is called off when the caller goes away', async () => {
    let signal: AbortSignal | undefined;
    await serve(
      (one) => {
        ({ signal } = one);
        return new Promise(() => undefined);
      },
      async (url) => {
        for (const name of ['hello', 'work']) {
          const leave = new AbortController();
          const gone = call(url, name, 'null', { signal: leave.signal });
          await eventually(() => signal !== undefined);
          leave.abort();
          await expect(gone).rejects.toThrow();
          await eventually(() => signal?.aborted === true);
          signal = undefined;
        }
      },
    );
  });
});
