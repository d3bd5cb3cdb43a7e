import { toYaml } from '@drover/contracts';
import { eventually } from '@drover/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startFunctionsPlatform, type FunctionsPlatform } from './support/functions.js';
import { exchange } from './support/raw-http.js';
import './support/refusal-matcher.js';

/** Requests as clients generated for Java and .NET send them: null for each field that is not set, and always a content type. */
let platform: FunctionsPlatform;
beforeAll(async () => {
  platform = await startFunctionsPlatform();
});
afterAll(() => platform?.stop());

describe('null for a field that is not set', () => {
  it('is accepted in a registration, a change and a new API key', async () => {
    const endpointUrl = platform.endpoint.serve('nulls', ({ body }) => ({ json: body }));
    const registered = await platform.post('/v1/functions', {
      name: 'nulls',
      endpointUrl,
      image: null,
      command: null,
      env: null,
      resources: { requests: null, limits: null },
      timeoutMs: null,
      queueSize: null,
      retry: { handlerErrors: null, delayMs: 5 },
      executionMode: null,
      scalingConfig: null,
      offload: null,
    });
    expect(registered).toMatchObject({ status: 201, body: { queueSize: 100, retry: { delayMs: 5 } } });
    const changed = await platform.request('/v1/functions/nulls', {
      method: 'PATCH',
      json: { concurrency: 7, timeoutMs: null, maxRetries: null, retry: null, concurrencyControl: null },
    });
    expect(changed).toMatchObject({ status: 200, body: { concurrency: 7, retry: { delayMs: 5 } } });
    const key = await platform.plane.request('/control/keys', {
      method: 'POST',
      key: platform.plane.adminKey,
      json: { name: 'of a client', scopes: ['functions:read'], expiresAt: null },
    });
    expect(key.status).toBe(201);
  });

  it('is accepted in calls, and stays null in their input', async () => {
    await platform.register('called', ({ body }) => ({ json: body }));
    const options = { metadata: { a: null, b: 'c' }, delayMs: null, runAt: null, callbackUrl: null };
    const input = { x: null };
    const invoked = await platform.post('/v1/functions/called:invoke', { input, ...options });
    expect(invoked).toMatchObject({ status: 200, body: { output: { input, metadata: { b: 'c' } } } });
    const { executionId } = await platform.enqueue('called', { input, ...options });
    expect(await platform.ended(executionId)).toMatchObject({ status: 'success', output: { input } });
    const batch = await platform.post('/v1/functions/called:enqueue-batch', {
      items: [{ input: null, ...options, idempotencyKey: null }],
    });
    expect(batch).toMatchObject({ status: 202, body: { accepted: 1 } });
  });

  it('is accepted in a CloudEvent, as its specification demands', async () => {
    await platform.register('event', ({ body }) => ({ json: body }));
    const answer = await platform.post(
      '/v1/functions/event:invoke',
      {
        specversion: '1.0',
        id: '1',
        source: 's',
        type: 't',
        subject: null,
        time: null,
        data: null,
        data_base64: 'aGk=',
      },
      { 'content-type': 'application/cloudevents+json' },
    );
    expect(answer).toMatchObject({ status: 200, body: { output: { input: 'aGk=', encoding: 'base64' } } });
    expect(answer.text).not.toContain('ce-subject');
  });

  it('is accepted in a result that a runtime reports', async () => {
    await platform.register('late', () => ({ status: 202 }), { timeoutMs: 20_000 });
    const { executionId } = await platform.enqueue('late', { input: 1 });
    await eventually(() => expect(platform.endpoint.calls('late')).toHaveLength(1));
    const reported = await platform.post(
      `/v1/internal/executions/${executionId}:complete`,
      { success: true, output: null, error: null, statusCode: null, headers: null, encoding: null },
      { 'x-dispatch-attempt': '1' },
    );
    expect(reported.status).toBe(204);
    expect(await platform.ended(executionId)).toMatchObject({ status: 'success', output: null });
  });

  it('is not accepted for a field that is required', async () => {
    expect(await platform.post('/v1/functions', { name: null, endpointUrl: 'http://x/' })).toBeRefusedWith(
      400,
      'VALIDATION_ERROR',
    );
  });
});

describe('a content type without a body', () => {
  const types = ['application/json', 'application/json; charset=utf-8', 'text/plain', 'application/xml'];

  it.each(types)('%s is accepted by requests that take no body', async (type) => {
    const name = `typed-${types.indexOf(type)}`;
    await platform.register(name);
    const { executionId } = await platform.enqueue(name, { input: 1 });
    await platform.ended(executionId);
    const headers = { 'content-type': type };
    for (const path of ['/v1/functions', `/v1/functions/${name}`, '/v1/executions', `/v1/executions/${executionId}`])
      expect([path, (await platform.request(path, { headers })).status]).toEqual([path, 200]);
    expect((await platform.request(`/v1/functions/${name}`, { method: 'DELETE', headers })).status).toBe(204);
  });

  it('is accepted with an explicit length of zero and with an empty chunked body', async () => {
    for (const [name, lines] of [
      ['no-bytes', ['content-length: 0', '', '']],
      ['no-chunks', ['transfer-encoding: chunked', '', '0', '', '']],
    ] as const) {
      await platform.register(name);
      const head = [`DELETE /v1/functions/${name} HTTP/1.1`, 'host: x', 'connection: close'];
      const own = [`authorization: Bearer ${platform.key}`, 'content-type: application/json'];
      const answer = await exchange(platform.plane.url, [...head, ...own, ...lines].join('\r\n'));
      expect([name, answer.status]).toEqual([name, 204]);
    }
  });

  it('is still refused where a body is needed, and so is a body of another type', async () => {
    const json = { 'content-type': 'application/json' };
    expect(await platform.request('/v1/functions', { method: 'POST', headers: json })).toBeRefusedWith(
      400,
      'BAD_REQUEST',
    );
    const text = await platform.request('/v1/functions', {
      method: 'POST',
      headers: { 'content-type': 'text/plain' },
      json: { name: 'x' },
    });
    expect(text).toBeRefusedWith(415, 'UNSUPPORTED_MEDIA_TYPE');
  });
});

describe('the names that nanoFaaS serves', () => {
  it.each(['/actuator/health', '/actuator/health/liveness', '/actuator/health/readiness'])(
    '%s answers UP without a key',
    async (path) => {
      expect(await platform.plane.request(path)).toMatchObject({ status: 200, body: { status: 'UP' } });
    },
  );

  it('/actuator/prometheus has the metrics of /metrics, for the same keys', async () => {
    expect(await platform.plane.request('/actuator/prometheus')).toBeRefusedWith(401, 'AUTHENTICATION_REQUIRED');
    const { status, headers, text } = await platform.plane.request('/actuator/prometheus', {
      key: platform.plane.adminKey,
    });
    expect([status, headers.get('content-type')]).toEqual([200, 'text/plain']);
    expect(text).toContain('# TYPE function_queue_depth gauge');
  });

  it('/openapi.yaml is the document of /openapi.json', async () => {
    const { status, headers, text } = await platform.plane.request('/openapi.yaml');
    expect([status, headers.get('content-type')]).toEqual([200, 'application/yaml']);
    const { body } = await platform.plane.request('/openapi.json');
    expect(text).toBe(toYaml(body));
  });
});
