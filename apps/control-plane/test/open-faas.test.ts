import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '@drover/testkit';
import { postText, startFunctionsPlatform, type FunctionsPlatform } from './support/functions.js';
import { exchange, type Answer } from './support/raw-http.js';
import './support/refusal-matcher.js';
import { Gate } from './support/scripted-endpoint.js';
import { leavesNoSecretBehind } from './support/secrets.js';

let platform: FunctionsPlatform;

leavesNoSecretBehind();
beforeAll(async () => {
  platform = await startFunctionsPlatform();
  await platform.register('echo', ({ body }) => ({ json: body.input }));
  await platform.register('seen', ({ body }) => ({ json: body }));
});
afterAll(() => platform?.stop());

const send = (path: string, body: string | Buffer, ...headers: readonly string[]): Promise<Answer> =>
  exchange(platform.plane.url, postText(platform.key, path, body, ...headers));

describe('POST /function/{name}', () => {
  it('takes the body as the input and gives the output as it is, with the names that OpenFaaS has', async () => {
    const { status, headers, text } = await send('/function/echo', '{"a" : [1.0]}');
    expect([status, text]).toEqual([200, '{"a":[1]}']);
    expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(headers.get('x-call-id')).toBe(headers.get('x-execution-id'));
    expect(headers.get('x-duration-seconds')).toMatch(/^\d+\.\d{6}$/);
    expect(await platform.execution(headers.get('x-call-id') ?? '')).toMatchObject({ status: 'success' });
  });

  it.each([
    ['text/plain; charset=utf-8', 'plain text', { input: 'plain text' }],
    ['application/x-www-form-urlencoded', 'a=1&b=2', { input: 'a=1&b=2' }],
    ['application/vnd.api+json', '[1]', { input: [1] }],
    ['image/png', Buffer.from([0, 255, 128]), { input: 'AP+A', encoding: 'base64' }],
    ['application/json', '', { input: null }],
  ])('reads a body of the type %s', async (type, body, expected) => {
    const { text } = await send('/function/seen', body, `content-type: ${type}`);
    expect(JSON.parse(text)).toMatchObject(expected);
  });

  it('takes no body at all, by GET as well', async () => {
    for (const method of ['GET', 'POST']) {
      const { status, body } = await platform.request('/function/seen', { method });
      expect(status).toBe(200);
      expect(body).toMatchObject({ input: null });
    }
  });

  it('has text as text and bytes as bytes', async () => {
    await platform.register('texts', () => ({ text: 'grüße', headers: { 'content-type': 'text/csv' } }));
    const text = await platform.post('/function/texts', 1);
    expect([text.text, text.headers.get('content-type')]).toEqual(['grüße', 'text/csv']);
    await platform.register('bytes', () => ({
      json: Buffer.from([1, 2, 255]).toString('base64'),
      headers: { 'x-nanofaas-encoding': 'base64' },
    }));
    const bytes = await send('/function/bytes', '1');
    expect(Buffer.from(bytes.text, 'latin1')).toEqual(Buffer.from([1, 2, 255]));
    expect(bytes.headers.get('content-type')).toBe('application/octet-stream');
  });

  it('gives status and headers that the function chose, but none that are ours to set', async () => {
    await platform.register('chooses', () => ({
      status: 201,
      headers: {
        'x-nanofaas-function-status': 'true',
        'x-own': 'kept',
        'x-request-id': 'forged',
        'x-call-id': 'forged',
        'set-cookie': 'a=1',
      },
      json: 'made',
    }));
    const { status, headers, text } = await send('/function/chooses', '1');
    expect([status, text, headers.get('x-own')]).toEqual([201, 'made', 'kept']);
    expect(headers.get('x-request-id')).not.toContain('forged');
    expect(headers.get('x-call-id')).not.toContain('forged');
    expect(headers.has('set-cookie')).toBe(false);
  });

  it.each([
    [{ status: 500, json: { error: 'oops' } }, 500, 'EXECUTION_FAILED'],
    [{ cut: true }, 502, 'POOL_ERROR'],
    [{ status: 504 }, 504, 'POOL_TIMEOUT'],
  ] as const)('tells of a failure in the shape of all errors: %#', async (answer, status, code) => {
    const own = `fails-${status}`;
    await platform.register(own, () => answer);
    const found = await platform.post(`/function/${own}`, 1);
    expect(found).toBeRefusedWith(status, code);
    expect(found.headers.get('x-call-id')).toMatch(/./);
  });

  it('ends the wait at X-Timeout-Ms, and shares a run by its key', async () => {
    const gate = new Gate();
    await platform.register('slow', async () => {
      await gate.opened;
      return { json: 'late' };
    });
    const first = await platform.post('/function/slow', 1, { 'x-timeout-ms': '500', 'idempotency-key': 'k' });
    expect(first).toBeRefusedWith(408, 'WAIT_TIMEOUT');
    gate.open();
    expect((await platform.post('/function/slow', 1, { 'idempotency-key': 'k' })).text).toBe('late');
    expect(platform.endpoint.calls('slow')).toHaveLength(1);
  });

  it('understands a namespace behind the name, unless a function has that name', async () => {
    expect((await platform.post('/function/echo.openfaas-fn', 1)).text).toBe('1');
    await platform.register('echo.special', () => ({ json: 'special' }));
    expect((await platform.post('/function/echo.special', 1)).text).toBe('special');
    expect(await platform.post('/function/nobody.openfaas-fn', 1)).toBeRefusedWith(404, 'FUNCTION_UNKNOWN');
  });

  it('refuses JSON that is none, too deep, or reaches for the prototype', async () => {
    for (const body of ['{', '['.repeat(129) + ']'.repeat(129), '{"__proto__":1}', '[{"\\u005f_proto__":1}]'])
      for (const path of ['/function/echo', '/async-function/echo'])
        expect(await send(path, body)).toBeRefusedWith(400, 'BAD_REQUEST');
  });

  it('survives a result with headers and a status that HTTP cannot carry', async () => {
    await platform.register('handed', () => ({ status: 202 }));
    const waiting = platform.post('/function/handed', 1, { 'idempotency-key': 'k' });
    await eventually(() => platform.endpoint.calls('handed').length === 1);
    const id = String(platform.endpoint.calls('handed')[0]?.headers['x-execution-id']);
    const complete = (body: unknown) =>
      platform.post(`/v1/internal/executions/${id}:complete`, body, { 'x-dispatch-attempt': '1' });
    for (const headers of [{ 'x-a': 'a\r\nb: c' }, { 'x a': 'b' }, { 'x-a': 'x'.repeat(9_000) }, { 'x-snow': '☃' }])
      expect(await complete({ success: true, headers })).toBeRefusedWith(400, 'VALIDATION_ERROR');
    const taken = await complete({ success: true, output: 'done', statusCode: 102, headers: { 'X-Fine': 'yes' } });
    expect(taken.status).toBe(204);
    const { status, text, headers } = await waiting;
    expect([status, text, headers.get('x-fine')]).toEqual([200, 'done', 'yes']);
  });
});

describe('POST /async-function/{name}', () => {
  it('accepts the call and names it', async () => {
    const { status, headers, body } = await send('/async-function/seen', 'text', 'content-type: text/plain');
    expect(status).toBe(202);
    const id = headers.get('x-call-id') ?? '';
    expect(body).toEqual({ executionId: id, status: 'queued' });
    expect(await platform.ended(id)).toMatchObject({ status: 'success', output: { input: 'text' } });
  });

  it.each(['ftp://x/', 'no url', `http://x/${'y'.repeat(2_100)}`])('refuses the callback URL %#', async (url) => {
    const answer = await send('/async-function/seen', '1', `x-callback-url: ${url}`);
    expect(answer).toBeRefusedWith(400, 'VALIDATION_ERROR');
  });
});

describe('a CloudEvent', () => {
  const attributes = { specversion: '1.0', id: 'e-1', source: '/here', type: 'made.up' };
  const invoke = '/v1/functions/seen:invoke';

  it('in binary form: the body is the input, the attributes are metadata', async () => {
    const lines = [...Object.entries(attributes), ['subject', 's']].map(([name, value]) => `ce-${name}: ${value}`);
    const { body } = await send(invoke, '{"n":1}', ...lines);
    expect(body).toMatchObject({
      status: 'success',
      output: {
        input: { n: 1 },
        metadata: {
          'ce-specversion': '1.0',
          'ce-id': 'e-1',
          'ce-source': '/here',
          'ce-type': 'made.up',
          'ce-subject': 's',
        },
      },
    });
    const { body: text } = await send('/v1/functions/seen:enqueue', 'text', 'content-type: text/plain', ...lines);
    const { executionId } = text as { readonly executionId: string };
    expect(await platform.ended(executionId)).toMatchObject({
      output: { input: 'text' },
      metadata: { 'ce-id': 'e-1' },
    });
  });

  it('in structured form: `data` is the input', async () => {
    const type = 'content-type: application/cloudevents+json; charset=utf-8';
    const event = (more: object): string => JSON.stringify({ ...attributes, myext: 5, ...more });
    for (const path of [invoke, '/function/seen']) {
      const { text } = await send(path, event({ data: { n: [1] } }), type);
      expect(text).toContain('"input":{"n":[1]}');
      expect(text).toContain('"ce-myext":"5"');
    }
    expect((await send(invoke, event({ data_base64: 'AQID' }), type)).body).toMatchObject({
      output: { input: 'AQID', encoding: 'base64' },
    });
    expect((await send(invoke, event({}), type)).body).toMatchObject({ output: { input: null } });
    for (const wrong of [
      { specversion: '0.3' },
      { id: '' },
      { type: undefined },
      { source: null },
      { 'Not-A-Name': 'x' },
      { nested: {} },
      { data_base64: 5 },
      { data_base64: 'not base64!' },
      { data_base64: 'AQID', data: 1 },
      { long: 'x'.repeat(8_193) },
      Object.fromEntries(Array.from({ length: 65 }, (_, n) => [`a${n}`, 'x'])),
    ])
      expect(await send(invoke, event(wrong), type)).toBeRefusedWith(400, 'VALIDATION_ERROR');
    expect(await send(invoke, '{', type)).toBeRefusedWith(400, 'BAD_REQUEST');
  });

  it('in binary form without what it must have is refused', async () => {
    expect(await send(invoke, '1', 'ce-specversion: 1.0')).toBeRefusedWith(400, 'VALIDATION_ERROR');
    expect(await send(invoke, '1', 'ce-specversion: 2.0', 'ce-id: 1', 'ce-source: s', 'ce-type: t')).toBeRefusedWith(
      400,
      'VALIDATION_ERROR',
    );
  });
});
