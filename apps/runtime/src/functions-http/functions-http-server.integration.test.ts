import { connect } from 'node:net';
import { defineError } from '@drover/contracts';
import { eventually } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { httpFunction } from '../bindings/definition.test.fixture.js';
import { functionNotLoaded, functionRefused } from '../errors.js';
import type { InvocationCall } from '../invocations/invocation-call.js';
import { failed, httpResponse, nodeCapabilities, sendRaw, succeeded, withServer } from './http-server.test.fixture.js';

const hello = httpFunction('hello', { methods: ['GET', 'POST'] });
const echo = (call: InvocationCall) => {
  const { inputData, triggerMetadata } = call.inputs(nodeCapabilities);
  return httpResponse(JSON.stringify({ http: inputData[0]?.data?.http, triggerMetadata, trace: call.trace }));
};
interface Echoed {
  readonly http: {
    readonly url: string;
    readonly method: string;
    readonly nullableHeaders: Record<string, { value: string }>;
    readonly nullableQuery: Record<string, { value: string }>;
    readonly nullableParams: Record<string, { value: string }>;
    readonly body?: { readonly bytes: { readonly data: number[] } };
    readonly identities: readonly object[];
  };
  readonly triggerMetadata: Record<string, { json?: string; string?: string }>;
  readonly trace: { readonly traceParent: string };
}
const boom = defineError('TEST_BOOM', {
  fault: 'customer',
  retryable: true,
  status: 500,
  message: () => 'secret inside',
  help: '',
});
const noWorker = defineError('TEST_NO_WORKER', {
  fault: 'platform',
  retryable: true,
  status: 503,
  message: () => 'inside',
  help: '',
});
const late = defineError('TEST_LATE', {
  fault: 'customer',
  retryable: true,
  status: 504,
  message: () => 'took 5 ms',
  help: '',
});

describe('a call of a function', () => {
  it('brings the whole request and takes the whole answer', async () => {
    const item = httpFunction('item', { route: 'items/{id:int}/{*rest}' });
    await withServer({ functions: [item], invoke: echo }, async ({ url, port, observed }) => {
      const answer = await fetch(`${url}/api/items/7/a/b%20c?x=1&x=2&y=%C3%A9&code=k`, {
        method: 'POST',
        body: 'hi',
        headers: { 'X-Custom': 'v', traceparent: '00-11111111111111111111111111111111-2222222222222222-01' },
      });
      expect(answer.status).toBe(200);
      const { http, triggerMetadata, trace } = (await answer.json()) as Echoed;
      expect(http).toMatchObject({
        method: 'POST',
        url: `http://127.0.0.1:${port}/api/items/7/a/b%20c?x=1&x=2&y=%C3%A9&code=k`,
        nullableQuery: { x: { value: '1,2' }, y: { value: 'é' } },
        nullableParams: { id: { value: '7' }, rest: { value: 'a/b c' } },
        body: { bytes: { data: [104, 105] } },
      });
      expect(http.nullableHeaders['x-custom']).toEqual({ value: 'v' });
      expect(triggerMetadata['id']).toEqual({ string: '7' });
      expect(trace.traceParent).toMatch(/^00-1{32}-[0-9a-f]{16}-01$/);
      await eventually(() =>
        observed.some((o) => o.kind === 'http.request' && o.status === 200 && o.function === 'item'),
      );
    });
  });

  it('keeps status, headers and cookies of the handler as they are', async () => {
    const cookies = [
      { name: 'a', value: 'b', sameSite: 1 },
      { name: 'c', value: 'd', sameSite: 0 },
    ];
    const fields = { statusCode: '418', headers: { 'X-A': 'b', 'content-type': 'application/x-thing' }, cookies };
    await withServer({ functions: [hello], invoke: () => httpResponse('short', fields) }, async ({ url }) => {
      const answer = await fetch(`${url}/api/hello`);
      expect([answer.status, answer.headers.get('x-a'), answer.headers.get('content-type')]).toEqual([
        418,
        'b',
        'application/x-thing',
      ]);
      expect(answer.headers.getSetCookie()).toEqual(['a=b; path=/; samesite=lax', 'c=d; path=/']);
      expect(answer.headers.get('content-length')).toBe('5');
      expect(await answer.text()).toBe('short');
    });
  });

  it('answers 204 for nothing, and no body to HEAD', async () => {
    const head = httpFunction('head', { methods: ['HEAD'] });
    const invoke = (call: InvocationCall) => (call.definition.name === 'head' ? httpResponse('12345') : succeeded());
    await withServer({ functions: [hello, head], invoke }, async ({ url }) => {
      expect((await fetch(`${url}/api/hello`)).status).toBe(204);
      const answer = await fetch(`${url}/api/head`, { method: 'HEAD' });
      expect([answer.status, answer.headers.get('content-length'), await answer.text()]).toEqual([200, '5', '']);
    });
  });

  it('passes principals on only where they are trusted', async () => {
    const headers = { 'x-ms-client-principal': Buffer.from('{"auth_typ":"aad","claims":[]}').toString('base64') };
    for (const trustsClientPrincipal of [true, false])
      await withServer({ functions: [hello], invoke: echo, server: { trustsClientPrincipal } }, async ({ url }) => {
        const { http } = (await (await fetch(`${url}/api/hello`, { headers })).json()) as Echoed;
        expect(http.identities).toHaveLength(trustsClientPrincipal ? 1 : 0);
        expect('x-ms-client-principal' in http.nullableHeaders).toBe(trustsClientPrincipal);
      });
  });

  it('believes forwarded addresses only where they are trusted', async () => {
    const headers = { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'shop.example' };
    for (const trustsForwarded of [true, false])
      await withServer({ functions: [hello], invoke: echo, server: { trustsForwarded } }, async ({ url }) => {
        const { http } = (await (await fetch(`${url}/api/hello`, { headers })).json()) as Echoed;
        expect(http.url).toBe(trustsForwarded ? 'https://shop.example/api/hello' : `${url}/api/hello`);
      });
  });
});

describe('what cannot be served', () => {
  it('says when it can: after the refusal of its function, or when a worker is ready again', async () => {
    const outcomes = {
      crash: failed(functionRefused({ functionName: 'crash', crashes: 3, retryAfterMs: 4_001 })),
      none: failed(noWorker({})),
      unloaded: failed(functionNotLoaded({ functionName: 'unloaded', reason: 'Cannot find module "x"' })),
    };
    const functions = Object.keys(outcomes).map((name) => httpFunction(name));
    const invoke = (call: InvocationCall) => outcomes[call.definition.name as keyof typeof outcomes];
    await withServer({ functions, invoke, app: { readyInMs: () => 2_100 } }, async ({ url }) => {
      const get = async (name: string) => {
        const answer = await fetch(`${url}/api/${name}`);
        return [answer.status, answer.headers.get('retry-after'), await answer.text()] as const;
      };
      expect((await get('crash')).slice(0, 2)).toEqual([503, '5']);
      expect((await get('none')).slice(0, 2)).toEqual([503, '3']);
      expect(await get('unloaded')).toEqual([500, null, expect.stringContaining('Cannot find module')]);
    });
  });

  it('is said in one shape, without the inside of anything', async () => {
    const outcomes = {
      fails: failed(boom({})),
      none: failed(noWorker({})),
      slow: failed(late({})),
      bad: httpResponse('', { headers: { 'x-a': 'b\r\nc: d' } }),
    };
    const functions = Object.keys(outcomes).map((name) => httpFunction(name));
    const invoke = (call: InvocationCall) => outcomes[call.definition.name as keyof typeof outcomes];
    await withServer({ functions, invoke }, async ({ url, observed }) => {
      const get = async (path: string) => {
        const answer = await fetch(`${url}${path}`);
        const body = (await answer.json()) as { error: string; message: string; requestId: string };
        return [answer.status, body.error, answer.headers.get('retry-after'), body.requestId, body.message] as const;
      };
      expect((await get('/api/fails')).slice(0, 4)).toEqual([500, 'FUNCTION_FAILED', null, 'invocation-1']);
      expect((await get('/api/bad')).slice(0, 3)).toEqual([500, 'FUNCTION_FAILED', null]);
      expect((await get('/api/none')).slice(0, 3)).toEqual([503, 'TEST_NO_WORKER', '1']);
      expect((await get('/api/slow')).slice(0, 3)).toEqual([504, 'TEST_LATE', null]);
      expect((await get('/api/unknown')).slice(0, 3)).toEqual([404, 'FUNCTION_NOT_FOUND', null]);
      for (const path of ['/api/fails', '/api/none', '/api/bad'])
        expect((await get(path))[4]).not.toMatch(/inside|x-a/);
      expect(observed.some((o) => o.kind === 'http.failed' && String(o.error).includes('secret inside'))).toBe(true);
    });
  });

  it('is a wrong method, a disabled function, or an application that is not there', async () => {
    const disabled = { ...httpFunction('off'), isDisabled: true };
    await withServer({ functions: [hello, disabled], invoke: () => httpResponse('ran') }, async ({ url }) => {
      expect((await fetch(`${url}/api/hello`, { method: 'DELETE' })).status).toBe(404);
      expect((await fetch(`${url}/api/off`)).status).toBe(404);
      expect((await fetch(`${url}/api/off`, { headers: { 'x-functions-key': 'host-key' } })).status).toBe(404);
      expect(await (await fetch(`${url}/api/off?code=master`)).text()).toBe('ran');
    });
    const none = { resolve: () => undefined, named: () => undefined, all: () => [] };
    const unknown = { applications: { ...none, problems: () => [] } };
    await withServer({ functions: [], invoke: echo, server: unknown }, async ({ url }) => {
      expect((await fetch(`${url}/api/hello`)).status).toBe(404);
    });
    const broken = {
      applications: { ...none, problems: () => [{ application: 'shop', problem: 'it has no "main"' }] },
    };
    await withServer({ functions: [], invoke: echo, server: broken }, async ({ url }) => {
      const answer = await fetch(`${url}/api/hello`);
      expect([answer.status, await answer.text()]).toEqual([503, expect.stringContaining('shop: it has no')]);
    });
  });

  it('is too large, which a client hears that is still sending', async () => {
    await withServer(
      { functions: [hello], invoke: echo, server: { limits: { bodyBytes: 1_000 } } },
      async ({ port, observed }) => {
        const socket = connect(port, '127.0.0.1');
        let received = '';
        socket.setEncoding('latin1').on('data', (text: string) => (received += text));
        socket.write('POST /api/hello HTTP/1.1\r\nhost: a\r\ncontent-length: 20000000\r\n\r\nabc');
        await eventually(() => expect(received).toMatch(/^HTTP\/1\.1 413 /));
        socket.write(Buffer.alloc(19_999_997));
        socket.write('GET /api/hello HTTP/1.1\r\nhost: a\r\n\r\n');
        await eventually(() => expect(received).toMatch(/HTTP\/1\.1 200 /));
        socket.destroy();
        expect(observed.filter((o) => o.kind === 'http.request').map(({ status }) => status)).toEqual([413, 200]);
      },
    );
  });

  it('is too large', async () => {
    await withServer(
      { functions: [hello], invoke: echo, server: { limits: { bodyBytes: 1_000 } } },
      async ({ url, port }) => {
        expect((await fetch(`${url}/api/hello`, { method: 'POST', body: 'x'.repeat(1_000) })).status).toBe(200);
        const answer = await fetch(`${url}/api/hello`, { method: 'POST', body: 'x'.repeat(1_001) });
        expect([answer.status, ((await answer.json()) as { error: string }).error]).toEqual([
          413,
          'FUNCTION_BODY_TOO_LARGE',
        ]);
        const chunk = `400\r\n${'x'.repeat(1_024)}\r\n`;
        const chunked = `POST /api/hello HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n${chunk}${chunk}`;
        expect(await sendRaw(port, chunked)).toContain('413 Payload Too Large');
      },
    );
  });

  it('is too much at once, all bodies together', async () => {
    const releases: (() => void)[] = [];
    const invoke = async () => {
      await new Promise<void>((resolve) => releases.push(resolve));
      return httpResponse('done');
    };
    await withServer({ functions: [hello], invoke, server: { limits: { heldBodyBytes: 1_500 } } }, async ({ url }) => {
      const post = () => fetch(`${url}/api/hello`, { method: 'POST', body: 'x'.repeat(1_000) });
      const first = post();
      await eventually(() => releases.length === 1);
      const second = await post();
      expect([second.status, second.headers.get('retry-after')]).toEqual([503, '1']);
      releases[0]?.();
      expect((await first).status).toBe(200);
      const third = post();
      await eventually(() => releases.length === 2);
      releases[1]?.();
      expect((await third).status).toBe(200);
    });
  });

  it('is a server that has been asked to stop', async () => {
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    let calls = 0;
    const invoke = async () => {
      calls += 1;
      await held;
      return httpResponse('finished');
    };
    await withServer({ functions: [hello], invoke }, async ({ url, server }) => {
      const running = fetch(`${url}/api/hello`);
      await eventually(() => calls === 1);
      const drained = server.drain(new AbortController().signal);
      await expect(fetch(`${url}/api/hello`)).rejects.toThrow();
      release();
      expect(await (await running).text()).toBe('finished');
      await drained;
    });
  });
});

describe('keys', () => {
  const functions = ['anonymous', 'function', 'system', 'admin'].map((authLevel) =>
    httpFunction(authLevel === 'function' ? 'guarded' : `my-${authLevel}`, { authLevel }),
  );
  const statusOf = async (url: string, name: string, key: string | undefined, how: 'header' | 'query') => {
    const query = how === 'query' && key !== undefined ? `?code=${key}` : '';
    const headers: Record<string, string> = how === 'header' && key !== undefined ? { 'x-functions-key': key } : {};
    return (await fetch(`${url}/api/${name}${query}`, { headers })).status;
  };

  it('open what their level says, in header or address', async () => {
    const table: Record<string, Record<string, number>> = {
      'my-anonymous': { none: 200, wrong: 200, 'function-key': 200 },
      guarded: {
        none: 401,
        wrong: 401,
        'function-key': 200,
        'host-key': 200,
        master: 200,
        'other-key': 401,
        'system-key': 401,
      },
      'my-system': { none: 401, 'host-key': 401, 'system-key': 200, master: 200 },
      'my-admin': { none: 401, 'host-key': 401, 'function-key': 401, master: 200 },
    };
    await withServer({ functions, invoke: () => httpResponse('ok') }, async ({ url }) => {
      for (const [name, keys] of Object.entries(table))
        for (const [key, status] of Object.entries(keys))
          for (const how of ['header', 'query'] as const)
            expect([name, key, how, await statusOf(url, name, key === 'none' ? undefined : key, how)]).toEqual([
              name,
              key,
              how,
              status,
            ]);
    });
  });

  it('in the header win over those in the address', async () => {
    await withServer({ functions, invoke: () => httpResponse('ok') }, async ({ url }) => {
      const wrong = await fetch(`${url}/api/guarded?code=function-key`, { headers: { 'x-functions-key': 'wrong' } });
      const right = await fetch(`${url}/api/guarded?code=wrong`, { headers: { 'x-functions-key': 'function-key' } });
      expect([wrong.status, right.status]).toEqual([401, 200]);
    });
  });

  it('are not asked for on a developer’s machine', async () => {
    await withServer({ functions, invoke: () => httpResponse('ok'), app: { requiresKeys: false } }, async ({ url }) => {
      expect(await statusOf(url, 'my-admin', undefined, 'header')).toBe(200);
    });
  });
});

describe('limits of host.json', () => {
  it('turn requests away, and let others wait', async () => {
    const releases: (() => void)[] = [];
    const invoke = async () => {
      await new Promise<void>((resolve) => releases.push(resolve));
      return httpResponse('done');
    };
    const hostJson = { maxConcurrentRequests: 1, maxOutstandingRequests: 2 };
    await withServer({ functions: [hello], invoke, hostJson }, async ({ url }) => {
      const first = fetch(`${url}/api/hello`);
      await eventually(() => releases.length === 1);
      // One of the two waits, the other is refused: whichever arrives last.
      const others = [fetch(`${url}/api/hello`), fetch(`${url}/api/hello`)];
      const refused = await Promise.race(others);
      expect([refused.status, refused.headers.get('retry-after'), releases.length]).toEqual([429, '1', 1]);
      releases[0]?.();
      expect((await first).status).toBe(200);
      await eventually(() => releases.length === 2);
      releases[1]?.();
      expect(new Set((await Promise.all(others)).map(({ status }) => status))).toEqual(new Set([200, 429]));
    });
  });

  it('add headers to every answer, and strict transport over https', async () => {
    const hostJson = {
      customHeaders: { 'X-Frame-Options': 'DENY' },
      hsts: { isEnabled: true, maxAge: '1', preload: true },
    };
    await withServer(
      { functions: [hello], invoke: echo, hostJson, server: { trustsForwarded: true } },
      async ({ url }) => {
        const plain = await fetch(`${url}/api/hello`);
        expect([plain.headers.get('x-frame-options'), plain.headers.get('strict-transport-security')]).toEqual([
          'DENY',
          null,
        ]);
        const headers = { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'a.example' };
        const secure = await fetch(`${url}/api/hello`, { headers });
        expect(secure.headers.get('strict-transport-security')).toBe('max-age=86400; preload');
        const local = await fetch(`${url}/api/hello`, { headers: { 'x-forwarded-proto': 'https' } });
        expect(local.headers.get('strict-transport-security')).toBeNull();
      },
    );
  });
});

describe('other origins', () => {
  const preflight = {
    method: 'OPTIONS',
    headers: {
      origin: 'https://a.example',
      'access-control-request-method': 'PUT',
      'access-control-request-headers': 'x-b',
    },
  };

  it('are answered without running anything', async () => {
    const app = { cors: { origins: ['https://a.example'], allowsCredentials: true } };
    await withServer({ functions: [hello], invoke: () => expect.unreachable(), app }, async ({ url }) => {
      const answer = await fetch(`${url}/api/hello`, preflight);
      expect(answer.status).toBe(204);
      expect(Object.fromEntries(answer.headers)).toMatchObject({
        'access-control-allow-origin': 'https://a.example',
        'access-control-allow-credentials': 'true',
        'access-control-allow-methods': 'PUT',
        'access-control-allow-headers': 'x-b',
        vary: 'Origin',
      });
      const foreign = await fetch(`${url}/api/hello`, {
        ...preflight,
        headers: { ...preflight.headers, origin: 'https://evil.example' },
      });
      expect(foreign.headers.get('access-control-allow-origin')).toBeNull();
    });
  });

  it('may read answers if their origin is allowed, and never with credentials for all origins', async () => {
    const app = { cors: { origins: ['*'], allowsCredentials: true } };
    await withServer({ functions: [hello], invoke: echo, app }, async ({ url }) => {
      const answer = await fetch(`${url}/api/hello`, { headers: { origin: 'https://x.example' } });
      expect(answer.headers.get('access-control-allow-origin')).toBe('*');
      expect(answer.headers.get('access-control-allow-credentials')).toBeNull();
    });
  });

  it('hear what the function says itself only once', async () => {
    const app = {
      cors: { origins: ['https://own.example'], allowsCredentials: true, exposedHeaders: ['ETag'], maxAgeSeconds: 60 },
    };
    const own = { 'Access-Control-Allow-Origin': '*', Vary: 'Accept' };
    const invoke = () => httpResponse('', { headers: own });
    await withServer({ functions: [hello], invoke, app }, async ({ url }) => {
      const { headers } = await fetch(`${url}/api/hello`, { headers: { origin: 'https://own.example' } });
      // Credentials from us for an answer that the function shows to all would be more than either allows.
      expect([...headers].filter(([name]) => name.startsWith('access-control'))).toEqual([
        ['access-control-allow-origin', '*'],
      ]);
      expect(headers.get('vary')).toBe('Accept, Origin');
      expect((await fetch(`${url}/api/hello`, preflight)).headers.get('access-control-max-age')).toBeNull();
    });
  });

  it('go to the function where nothing is set up', async () => {
    const options = httpFunction('options', { methods: ['OPTIONS'] });
    await withServer({ functions: [options, hello], invoke: () => httpResponse('mine') }, async ({ url }) => {
      expect(await (await fetch(`${url}/api/options`, preflight)).text()).toBe('mine');
      expect((await fetch(`${url}/api/hello`, preflight)).status).toBe(404);
    });
  });
});

describe('callers that go away', () => {
  it('abort the call', async () => {
    let [called, aborted] = [false, false];
    const invoke = (call: InvocationCall) => {
      called = true;
      return new Promise<never>(() => call.signal?.addEventListener('abort', () => (aborted = true)));
    };
    await withServer({ functions: [hello], invoke }, async ({ port, observed }) => {
      const socket = connect(port, '127.0.0.1');
      socket.write('GET /api/hello HTTP/1.1\r\nhost: a\r\n\r\n');
      await eventually(() => called);
      socket.destroy();
      await eventually(() => expect(aborted).toBe(true));
      await eventually(() => observed.some((o) => o.kind === 'http.request' && o.status === 499));
    });
  });

  it('in the middle of a body leave nothing behind', async () => {
    await withServer({ functions: [hello], invoke: () => expect.unreachable() }, async ({ port, observed }) => {
      const socket = connect(port, '127.0.0.1');
      const part = 'POST /api/hello HTTP/1.1\r\nhost: a\r\ncontent-length: 100000\r\n\r\nabc';
      await new Promise((resolve) => socket.write(part, resolve)); // the server reads what was sent, also after the end
      socket.destroy();
      await eventually(() => observed.some((o) => o.kind === 'http.request'));
      expect(observed.some((o) => o.kind === 'http.failed')).toBe(false);
    });
  });
});

describe('hostile requests', () => {
  const status = (answer: string) => Number(answer.slice(9, 12));
  const head = (target: string, ...headers: string[]) =>
    `GET ${target} HTTP/1.1\r\n${['host: a', 'connection: close', ...headers].join('\r\n')}\r\n\r\n`;

  it.each([
    ['/api/../admin/host/status', 400],
    ['/api/%2e%2e/admin', 400],
    ['/api/hello%00', 400],
    ['/api/hello%0d%0aset-cookie:x', 400],
    ['/api%2Fhello', 404],
    ['/api/hello%2F', 404],
    ['//api/hello', 404],
    ['/%61dmin/host/status', 404],
    ['/api/%zz', 404],
    ['/api/hello?%zz=%&__proto__=x', 200],
    ['http://other.example/api/hello', 200],
    ['*', 400],
  ])('GET %s is answered %d', async (target, expected) => {
    await withServer({ functions: [hello], invoke: echo }, async ({ port }) => {
      expect(status(await sendRaw(port, head(target)))).toBe(expected);
    });
  });

  it('with odd heads are refused in our shape', async () => {
    await withServer({ functions: [hello], invoke: echo }, async ({ port }) => {
      expect(status(await sendRaw(port, 'GET /api/hello HTTP/1.1\r\nconnection: close\r\n\r\n'))).toBe(400);
      expect(status(await sendRaw(port, 'GET /api/hello HTTP/1.1\r\nconnection: close\r\nhost: a/b?c@d\r\n\r\n'))).toBe(
        400,
      );
      expect(status(await sendRaw(port, head(`/api/${'a'.repeat(9_000)}`)))).toBe(414);
      expect(status(await sendRaw(port, head(`/api/${'a/'.repeat(4_000)}`)))).toBe(404);
      expect(status(await sendRaw(port, 'GET /api/hello HTTP/1.1\r\nhost: a\r\nbad header\r\n\r\n'))).toBe(400);
      expect(status(await sendRaw(port, 'nonsense\r\n\r\n'))).toBe(400);
      expect(status(await sendRaw(port, head('/api/hello', `x-long: ${'x'.repeat(40_000)}`)))).toBe(431);
      expect(
        status(await sendRaw(port, head('/api/hello', ...Array.from({ length: 101 }, (_, i) => `x-${i}: y`)))),
      ).toBe(431);
      const both = head('/api/hello', 'content-length: 3', 'transfer-encoding: chunked');
      expect(status(await sendRaw(port, both))).toBe(400);
      expect(await sendRaw(port, 'nonsense\r\n\r\n')).toContain('FUNCTION_REQUEST_UNREADABLE');
    });
  });

  it('with headers that come twice have both values, and a key that comes twice opens nothing', async () => {
    const guarded = httpFunction('guarded', { authLevel: 'function' });
    await withServer({ functions: [hello, guarded], invoke: echo }, async ({ port }) => {
      const answer = await sendRaw(port, head('/api/hello', 'x-a: 1', 'X-A: 2', '__proto__: x', 'constructor: y'));
      expect(answer).toContain('"x-a":{"value":"1, 2"}');
      expect(answer).toContain('"constructor":{"value":"y"}');
      const twice = head('/api/guarded', 'x-functions-key: wrong', 'x-functions-key: function-key');
      expect(status(await sendRaw(port, twice))).toBe(401);
    });
  });
});
