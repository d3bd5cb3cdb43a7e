import { eventually } from '@drover/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startFunctionsPlatform, type FunctionsPlatform } from './support/functions.js';
import { exchange } from './support/raw-http.js';
import './support/refusal-matcher.js';
import { Gate } from './support/scripted-endpoint.js';
import { leavesNoSecretBehind } from './support/secrets.js';

const uuidV7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

leavesNoSecretBehind();

describe.each(['postgres', 'memory'])('a synchronous call, executions in %s', (store) => {
  let platform: FunctionsPlatform;
  beforeAll(async () => {
    platform = await startFunctionsPlatform({ EXECUTION_STORE: store });
  });
  afterAll(() => platform?.stop());

  it('answers with the envelope, and names its execution', async () => {
    await platform.register('echo');
    const { status, headers, body, envelope } = await platform.invoke('echo', { a: [1, 'ü', null] });
    expect(status).toBe(200);
    expect(body).toEqual({
      executionId: expect.stringMatching(uuidV7),
      status: 'success',
      output: { a: [1, 'ü', null] },
      error: null,
    });
    expect(headers.get('x-execution-id')).toBe(envelope.executionId);
    expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.has('x-nanofaas-function-status')).toBe(false);
  });

  it('is not kept with its output, but can be looked at for a while', async () => {
    await platform.register('forgotten');
    const { envelope } = await platform.invoke('forgotten', 'x', { 'x-trace-id': 'trace-1' });
    const { startedAt, finishedAt, ...rest } = await platform.execution(envelope.executionId);
    expect(rest).toEqual({
      executionId: envelope.executionId,
      functionName: 'forgotten',
      status: 'success',
      output: null,
      error: null,
      attempts: 1,
      attemptLog: [],
      traceId: 'trace-1',
    });
    expect(Date.parse(finishedAt ?? '')).toBeGreaterThanOrEqual(Date.parse(startedAt));
  });

  it('carries numbers and texts to the endpoint exactly as they were written', async () => {
    await platform.register('exact', ({ text }) => ({ json: text }));
    const input = '{"n":12345678901234567890.10,"s":"\\u00fc\\ud800\\u0000","e":1E400,"k":1,"k":2}';
    const answer = await platform.plane.request('/v1/functions/exact:invoke', {
      method: 'POST',
      key: platform.key,
    });
    expect(answer).toBeRefusedWith(415, 'UNSUPPORTED_MEDIA_TYPE');
    const raw = `{"metadata":{}, "input" : ${input} }`;
    const { body } = await exchange(
      platform.plane.url,
      [
        'POST /v1/functions/exact:invoke HTTP/1.1',
        'host: x',
        'connection: close',
        `authorization: Bearer ${platform.key}`,
        'content-type: application/json',
        `content-length: ${raw.length}`,
        '',
        raw,
      ].join('\r\n'),
    );
    expect((body as { readonly output: string }).output).toContain(`"input":${input},`);
  });

  it('brings metadata and the headers of the caller to the handler, without those of the connection and credentials', async () => {
    await platform.register('headers');
    const body = JSON.stringify({
      input: 1,
      metadata: { tenant: 'said', 'Mixed-Case': 'kept' },
      headers: { authorization: 'forged', 'x-own': 'forged' },
    });
    const { status } = await exchange(
      platform.plane.url,
      [
        'POST /v1/functions/headers:invoke HTTP/1.1',
        'Host: somewhere',
        'Connection: close, X-Hop',
        'X-Hop: of the connection',
        'Keep-Alive: timeout=5',
        'TE: trailers',
        'Proxy-Authorization: Basic secret',
        'Cookie: session=secret',
        `Authorization: Bearer ${platform.key}`,
        'X-Own: first',
        'x-own: second',
        'Accept-Language: de',
        'X-Trace-Id: trace-7',
        'traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
        'tracestate: vendor=1',
        'Idempotency-Key: headers-1',
        'Content-Type: application/json; charset=utf-8',
        `Content-Length: ${body.length}`,
        '',
        body,
      ].join('\r\n'),
    );
    expect(status).toBe(200);
    const [call] = platform.endpoint.calls('headers');
    expect(call?.body).toEqual({
      input: 1,
      metadata: { tenant: 'said', 'Mixed-Case': 'kept' },
      headers: { 'x-own': 'first', 'accept-language': 'de' },
    });
    expect(call?.headers).toMatchObject({
      'x-execution-id': expect.stringMatching(uuidV7),
      'x-dispatch-attempt': '1',
      'x-trace-id': 'trace-7',
      'idempotency-key': 'headers-1',
      traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
      tracestate: 'vendor=1',
    });
    expect(call?.headers).not.toHaveProperty('authorization');
    expect(call?.headers).not.toHaveProperty('cookie');
  });

  it('ends the wait, and nothing else, when the time of the caller is over', async () => {
    const gate = new Gate();
    await platform.register('slow', async () => {
      await gate.opened;
      return { json: 'late but real' };
    });
    const { status, envelope, headers } = await platform.invoke('slow', 1, {
      'x-timeout-ms': '500',
      'idempotency-key': 'slow-1',
    });
    expect(status).toBe(408);
    expect(headers.get('x-execution-id')).toBe(envelope.executionId);
    expect(envelope).toMatchObject({ status: 'timeout', output: null, error: { code: 'WAIT_TIMEOUT' } });
    expect(await platform.execution(envelope.executionId)).toMatchObject({ status: 'running', finishedAt: null });
    gate.open();
    expect(await platform.ended(envelope.executionId)).toMatchObject({ status: 'success', output: 'late but real' });
    const again = await platform.invoke('slow', 1, { 'idempotency-key': 'slow-1' });
    expect(again).toMatchObject({
      status: 200,
      envelope: { executionId: envelope.executionId, output: 'late but real' },
    });
    expect(platform.endpoint.calls('slow')).toHaveLength(1);
  });

  it('goes on without a caller, when it runs and nobody waits any longer', async () => {
    const gate = new Gate();
    await platform.register('alone', async () => {
      await gate.opened;
      return { json: 1 };
    });
    const { envelope } = await platform.invoke('alone', 1, { 'x-timeout-ms': '200' });
    gate.open();
    expect(await platform.ended(envelope.executionId)).toMatchObject({ status: 'success', attempts: 1 });
  });

  it('gives a status that the function chose, marked, with the envelope', async () => {
    await platform.register('teapot', () => ({
      status: 418,
      headers: { 'x-nanofaas-function-status': 'true', 'x-brew': 'tea', 'content-type': 'application/vnd.tea+json' },
      json: { short: true },
    }));
    const { status, headers, envelope } = await platform.invoke('teapot', 1);
    expect(status).toBe(418);
    expect(headers.get('x-nanofaas-function-status')).toBe('true');
    expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(headers.get('x-brew')).toBeNull();
    expect(envelope).toMatchObject({
      status: 'success',
      output: { short: true },
      error: null,
      statusCode: 418,
      headers: { 'x-brew': 'tea', 'content-type': 'application/vnd.tea+json' },
    });
  });

  it.each([
    ['the handler failed', { status: 500, json: { error: 'it broke' } }, 500, 'error', 'EXECUTION_FAILED'],
    ['the endpoint takes no calls', { status: 503 }, 502, 'error', 'POOL_ERROR'],
    ['the endpoint hung up', { cut: true }, 502, 'error', 'POOL_ERROR'],
    [
      'the endpoint answered nonsense',
      { text: '{"a":', headers: { 'content-type': 'application/json' } },
      502,
      'error',
      'POOL_ERROR',
    ],
    ['the endpoint ran out of time', { status: 504 }, 504, 'timeout', 'POOL_TIMEOUT'],
  ] as const)('tells with status and envelope that %s', async (what, answer, status, state, code) => {
    const name = `f-${what.replaceAll(' ', '-')}`;
    await platform.register(name, () => answer);
    const found = await platform.invoke(name, 1);
    expect(found.status).toBe(status);
    expect(found.body).toEqual({
      executionId: found.headers.get('x-execution-id'),
      status: state,
      output: null,
      error: { code, message: expect.stringMatching(/./) },
    });
    expect(await platform.execution(found.envelope.executionId)).toMatchObject({ status: state, error: { code } });
  });

  it('has 504 and an end of its own, when the endpoint does not answer in the time of the function', async () => {
    const gate = new Gate();
    await platform.register(
      'hangs',
      async () => {
        await gate.opened;
        return {};
      },
      { timeoutMs: 60 },
    );
    const { status, envelope } = await platform.invoke('hangs', 1, { 'x-timeout-ms': '5000' });
    gate.open();
    expect(status).toBe(504);
    expect(envelope).toMatchObject({ status: 'timeout', error: { code: 'POOL_TIMEOUT' } });
  });

  it('is refused with 429 when the queue is full: when to come back, and why; the next one works', async () => {
    const gate = new Gate();
    await platform.register(
      'full',
      async ({ body }) => {
        await gate.opened;
        return { json: body.input };
      },
      { concurrency: 1, queueSize: 1 },
    );
    const first = platform.invoke('full', 1);
    await eventually(() => platform.endpoint.calls('full').length === 1);
    const second = platform.invoke('full', 2);
    await eventually(async () => {
      const { status } = await platform.post('/v1/functions/full:enqueue', { input: 3 });
      return status === 429;
    });
    for (const verb of ['invoke', 'enqueue']) {
      const refused = await platform.post(`/v1/functions/full:${verb}`, { input: 3 });
      expect(refused).toBeRefusedWith(429, 'QUEUE_FULL');
      expect(refused.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
      expect(refused.headers.get('x-queue-reject-reason')).toBe('depth');
    }
    gate.open();
    expect([(await first).status, (await second).status]).toEqual([200, 200]);
    expect((await platform.invoke('full', 4)).envelope.output).toBe(4);
  });

  it('is refused with 404 for a function that is not there, or not any more', async () => {
    for (const verb of ['invoke', 'enqueue', 'enqueue-batch'])
      expect(await platform.post(`/v1/functions/nobody:${verb}`, { input: 1, items: [{ input: 1 }] })).toBeRefusedWith(
        404,
        'FUNCTION_UNKNOWN',
      );
    await platform.register('gone');
    expect((await platform.invoke('gone', 1)).status).toBe(200);
    expect((await platform.request('/v1/functions/gone', { method: 'DELETE' })).status).toBe(204);
    expect(await platform.invoke('gone', 1)).toBeRefusedWith(404, 'FUNCTION_UNKNOWN');
  });

  it('ends what waits when its function is removed, and lets what runs finish', async () => {
    const gate = new Gate();
    await platform.register(
      'removed',
      async () => {
        await gate.opened;
        return { json: 'done' };
      },
      { concurrency: 1 },
    );
    const running = platform.invoke('removed', 1);
    await eventually(() => platform.endpoint.calls('removed').length === 1);
    const waiting = await platform.enqueue('removed', { input: 2 });
    await platform.request('/v1/functions/removed?queue=purge', { method: 'DELETE' });
    expect(await platform.ended(waiting.executionId)).toMatchObject({
      status: 'cancelled',
      error: { code: 'QUEUE_PURGED' },
    });
    gate.open();
    expect((await running).envelope).toMatchObject({ status: 'success', output: 'done' });
  });

  it('is tried again after a transient failure, with a number for each attempt and a log of those that failed', async () => {
    await platform.register('flaky', ({ attempt }) => (attempt < 3 ? { status: 503 } : { json: attempt }), {
      maxRetries: 3,
      retry: { delayMs: 1 },
    });
    const { envelope } = await platform.invoke('flaky', 1, { 'idempotency-key': 'flaky-1' });
    expect(envelope).toMatchObject({ status: 'success', output: 3 });
    const { attempts, attemptLog, lastError, error } = await platform.execution(envelope.executionId);
    expect(attempts).toBe(3);
    expect(error).toBeNull();
    expect(lastError).toMatchObject({ code: 'POOL_ERROR' });
    expect(attemptLog.map(({ attempt, error: one }) => [attempt, one?.code])).toEqual([
      [1, 'POOL_ERROR'],
      [2, 'POOL_ERROR'],
    ]);
    const calls = platform.endpoint.calls('flaky');
    expect(new Set(calls.map(({ headers }) => headers['x-execution-id']))).toEqual(new Set([envelope.executionId]));
  });

  it('is tried maxRetries times more and no more; errors of the handler only where that is asked for', async () => {
    await platform.register('down', () => ({ status: 503 }), { maxRetries: 2, retry: { delayMs: 1 } });
    expect((await platform.invoke('down', 1)).status).toBe(502);
    expect(platform.endpoint.calls('down')).toHaveLength(3);
    await platform.register('buggy', () => ({ status: 500 }), { maxRetries: 2, retry: { delayMs: 1 } });
    expect((await platform.invoke('buggy', 1)).status).toBe(500);
    expect(platform.endpoint.calls('buggy')).toHaveLength(1);
    await platform.register('stubborn', () => ({ status: 500 }), {
      maxRetries: 2,
      retry: { delayMs: 1, handlerErrors: true },
    });
    expect((await platform.invoke('stubborn', 1)).status).toBe(500);
    expect(platform.endpoint.calls('stubborn')).toHaveLength(3);
  });

  it('follows a PATCH at once', async () => {
    const gate = new Gate();
    await platform.register('patched', async () => {
      await gate.opened;
      return {};
    });
    const { status } = await platform.request('/v1/functions/patched', { method: 'PATCH', json: { timeoutMs: 40 } });
    expect(status).toBe(200);
    expect((await platform.invoke('patched', 1, { 'x-timeout-ms': '5000' })).status).toBe(504);
    gate.open();
  });
});
