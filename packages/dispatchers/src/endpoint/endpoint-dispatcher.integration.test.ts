import { defaultTenantId, type TenantId } from '@drover/contracts';
import { systemClock } from '@drover/service-kit';
import { eventually, seededRandomness } from '@drover/testkit';
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { EndpointGuard } from '../outbound/endpoint-guard.js';
import { EndpointHosts } from '../outbound/endpoint-hosts.js';
import { ForeignEndpoint } from '../testing/foreign-endpoint.js';
import { EndpointDispatcher, type EndpointDispatcherOptions } from './endpoint-dispatcher.js';
import { attemptOf, endpointFunction } from '../testing/attempts.js';
import { dispatcherContract } from '../testing/dispatcher-contract.js';

const endings: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0)) await end();
});

async function running<T extends { close(): Promise<void> }>(making: Promise<T>): Promise<T> {
  const made = await making;
  endings.push(() => made.close());
  return made;
}

function dispatcher(over: Partial<EndpointDispatcherOptions> = {}): EndpointDispatcher {
  const guard = new EndpointGuard({ hosts: EndpointHosts.parse('loopback'), clock: systemClock });
  const made = new EndpointDispatcher({
    guard,
    clock: systemClock,
    randomness: seededRandomness(1),
    observe: () => undefined,
    ...over,
  });
  endings.unshift(() => made.stop());
  return made;
}

interface Seen {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** Answers `{"ok":true}` and keeps what it was asked. */
async function recording(): Promise<{ endpoint: ForeignEndpoint; seen: Seen[] }> {
  const seen: Seen[] = [];
  const endpoint = await running(
    ForeignEndpoint.http((request, response) => {
      let body = '';
      request.setEncoding('utf8').on('data', (text: string) => (body += text));
      request.on('end', () => {
        const { method, url, headers } = request;
        seen.push({ method, url, headers, body });
        response.setHeader('content-type', 'application/json').end('{"ok":true}');
      });
    }),
  );
  return { endpoint, seen };
}

describe('a call', () => {
  it('posts input, metadata and headers, and says which attempt of what it is', async () => {
    const { endpoint, seen } = await recording();
    const attempt = attemptOf(endpointFunction(`${endpoint.url}?code=k%20y#part`), {
      number: 3,
      payload: { json: '{"__proto__":{"x":1},"deep":[1.0,"ä"]}' },
      metadata: { from: 'test' },
      headers: { 'x-tenant': 'a' },
      traceId: 'trace-1',
      idempotencyKey: 'key-1',
      traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
      tracestate: 'a=b',
    });
    expect(await dispatcher().dispatch(attempt)).toEqual({ kind: 'success', output: { json: '{"ok":true}' } });
    const [request] = seen;
    expect(request?.method).toBe('POST');
    expect(request?.url).toBe('/invoke?code=k%20y');
    // As text: the payload must arrive as it was sent, 1.0 and __proto__ included.
    expect(request?.body).toBe(
      '{"input":{"__proto__":{"x":1},"deep":[1.0,"ä"]},"metadata":{"from":"test"},"headers":{"x-tenant":"a"}}',
    );
    expect(request?.headers).toMatchObject({
      'content-type': 'application/json',
      'accept-encoding': 'identity',
      'x-execution-id': attempt.accepted.executionId,
      'x-dispatch-attempt': '3',
      'x-trace-id': 'trace-1',
      'idempotency-key': 'key-1',
      traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
      tracestate: 'a=b',
      host: `127.0.0.1:${endpoint.port}`,
    });
  });

  it('leaves out what a caller sent that fits into no header, and goes on', async () => {
    const { endpoint, seen } = await recording();
    const attempt = attemptOf(endpointFunction(endpoint.url), {
      payload: { json: '"AAAA"', encoding: 'base64' },
      traceparent: 'a\r\nx-evil: 1',
      tracestate: 'ä',
    });
    expect((await dispatcher().dispatch(attempt)).kind).toBe('success');
    expect(seen[0]?.headers).not.toHaveProperty('traceparent');
    expect(seen[0]?.headers).not.toHaveProperty('tracestate');
    expect(seen[0]?.headers).not.toHaveProperty('x-evil');
    expect(seen[0]?.body).toBe('{"input":"AAAA","metadata":{},"encoding":"base64"}');
  });

  it('sends the URL that a runtime of nanoFaaS completes its id with', async () => {
    const { endpoint, seen } = await recording();
    const attempt = attemptOf(endpointFunction(endpoint.url));
    await dispatcher().dispatch(attempt);
    expect(seen[0]?.headers['x-callback-url']).toBe('http://platform.test/v1/internal/executions');
  });

  it('has to have an endpoint, and one that may be called', async () => {
    const pool = dispatcher({
      guard: new EndpointGuard({ hosts: EndpointHosts.parse(''), clock: systemClock }),
    });
    expect(await pool.dispatch(attemptOf(endpointFunction(undefined)))).toMatchObject({
      kind: 'failed',
      code: 'POOL_ENDPOINT_MISSING',
      transient: false,
    });
    const { endpoint, seen } = await recording();
    for (const url of [endpoint.url, `http://localhost:${endpoint.port}/`, 'file:///etc/passwd', 'no url']) {
      expect(await pool.dispatch(attemptOf(endpointFunction(url)))).toMatchObject({
        kind: 'failed',
        code: 'POOL_ERROR',
        transient: false,
      });
    }
    expect(seen).toEqual([]);
    expect(endpoint.connections).toBe(0);
  });

  it('carries megabytes both ways', async () => {
    const endpoint = await running(
      ForeignEndpoint.http((request, response) => {
        response.setHeader('content-type', 'application/json');
        request.pipe(response);
      }),
    );
    const json = JSON.stringify('x€'.repeat(1_000_000));
    const result = await dispatcher().dispatch(attemptOf(endpointFunction(endpoint.url), { payload: { json } }));
    expect(result).toEqual({ kind: 'success', output: { json: `{"input":${json},"metadata":{}}` } });
  });
});

describe('connections', () => {
  it('are kept alive and used again, one call at a time on each', async () => {
    const { endpoint } = await recording();
    const pool = dispatcher();
    const definition = endpointFunction(endpoint.url);
    for (let call = 0; call < 20; call += 1) await pool.dispatch(attemptOf(definition));
    expect(endpoint.connections).toBe(1);
    await Promise.all(Array.from({ length: 8 }, () => pool.dispatch(attemptOf(definition))));
    expect(endpoint.connections).toBe(8);
    await Promise.all(Array.from({ length: 8 }, () => pool.dispatch(attemptOf(definition))));
    expect(endpoint.connections).toBe(8);
  });

  it('belong to one tenant', async () => {
    const { endpoint } = await recording();
    const pool = dispatcher();
    const other = '01900000-0000-7000-8000-0000000000ff' as TenantId; // any other one
    await pool.dispatch(attemptOf(endpointFunction(endpoint.url)));
    await pool.dispatch(attemptOf(endpointFunction(endpoint.url, other)));
    await pool.dispatch(attemptOf(endpointFunction(endpoint.url, defaultTenantId)));
    expect(endpoint.connections).toBe(2);
  });

  it('that the endpoint closed while idle fail no call', async () => {
    const endpoint = await running(
      ForeignEndpoint.raw((socket) => {
        // Says that it will keep the connection, and does not.
        socket.end('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 1\r\n\r\n1');
      }),
    );
    const pool = dispatcher();
    const definition = endpointFunction(endpoint.url);
    for (let call = 1; call <= 5; call += 1) {
      expect(await pool.dispatch(attemptOf(definition))).toEqual({ kind: 'success', output: { json: '1' } });
      await eventually(() => endpoint.open === 0);
      expect(endpoint.connections).toBe(call);
    }
  });

  it('that the other side closes under a call make it one that may be tried again, since it may have run', async () => {
    let requests = 0;
    const endpoint = await running(
      ForeignEndpoint.raw((socket) => {
        requests += 1;
        if (requests === 1)
          socket.write('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 1\r\n\r\n1');
        else socket.destroy();
      }),
    );
    const pool = dispatcher();
    const definition = endpointFunction(endpoint.url);
    await pool.dispatch(attemptOf(definition));
    expect(await pool.dispatch(attemptOf(definition))).toMatchObject({ code: 'POOL_ERROR', transient: true });
    expect(requests).toBe(2);
  });

  it('of unused origins make room for others', async () => {
    const pool = dispatcher({ maxTargets: 2 });
    const places = await Promise.all([recording(), recording(), recording()]);
    for (const { endpoint } of places) await pool.dispatch(attemptOf(endpointFunction(endpoint.url)));
    await eventually(() => places[0]?.endpoint.open === 0);
    expect(places.map(({ endpoint }) => endpoint.open)).toEqual([0, 1, 1]);
    const again = endpointFunction(places[0]?.endpoint.url);
    expect((await pool.dispatch(attemptOf(again))).kind).toBe('success');
  });

  it('are gone after a stop, with calls in flight settled', async () => {
    const silent = await running(ForeignEndpoint.raw(() => undefined));
    const { endpoint } = await recording();
    const pool = dispatcher();
    await pool.dispatch(attemptOf(endpointFunction(endpoint.url)));
    const waiting = pool.dispatch(attemptOf(endpointFunction(silent.url)));
    await eventually(() => silent.open === 1);
    await pool.stop();
    expect(await waiting).toMatchObject({ kind: 'failed', code: 'POOL_ERROR', transient: true });
    await eventually(() => silent.open === 0 && endpoint.open === 0);
    expect(await pool.dispatch(attemptOf(endpointFunction(endpoint.url)))).toMatchObject({ code: 'POOL_ERROR' });
    await pool.stop();
  });

  it('are waited for in a drain while calls are in flight, until the deadline', async () => {
    let release = (): void => undefined;
    const endpoint = await running(
      ForeignEndpoint.http((_request, response) => {
        release = () => response.end('1');
      }),
    );
    const pool = dispatcher();
    const call = pool.dispatch(attemptOf(endpointFunction(endpoint.url)));
    await eventually(() => endpoint.open === 1);
    await pool.drain(AbortSignal.abort());
    let drained = false;
    const draining = pool.drain(new AbortController().signal).then(() => (drained = true));
    await new Promise((resolve) => setImmediate(resolve));
    expect(drained).toBe(false);
    await eventually(() => {
      release();
      return drained;
    });
    await draining;
    expect((await call).kind).toBe('success');
  });
});

dispatcherContract('endpoint', async () => {
  const held = new Set<ServerResponse>();
  const endpoint = await ForeignEndpoint.http((request, response) => {
    request.resume();
    response.setHeader('content-type', 'application/json');
    if (request.url === '/succeeds') response.end('{"ok":true}');
    else if (request.url === '/fails') response.writeHead(500).end('{"error":"no such plan"}');
    else {
      held.add(response);
      response.once('close', () => held.delete(response));
    }
  });
  const made = dispatcher();
  return {
    dispatcher: made,
    attempt: (behaviour) => attemptOf(endpointFunction(new URL(`/${behaviour}`, endpoint.url).href)),
    waiting: () => held.size,
    finish: () => {
      for (const response of held) response.end('{"ok":true}');
    },
    stop: () => made.stop(),
    cleanUp: () => endpoint.close(),
  };
});
