import { applicationRoutes, controlRoutes } from '@drover/contracts';
import { createTestDatabase, type TestDatabase } from '@drover/database/testing';
import { RequestDurations, publicPortLimits } from '@drover/http-edge';
import { systemClock, systemRandomness } from '@drover/service-kit';
import { eventually } from '@drover/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { HttpServer, type HttpServerOptions } from '../src/http/http-server.js';
import { handle, reply } from '../src/http/route-handler.js';
import type { ControlPlaneObservation } from '../src/observations.js';
import { controlPlaneSchema } from '../src/schema.js';
import { startControlPlane, type RunningControlPlane } from './support/control-plane.js';
import { exchange, get, parseAnswer, RawConnection, type Answer } from './support/raw-http.js';
import './support/refusal-matcher.js';
import { leavesNoSecretBehind } from './support/secrets.js';

let test: TestDatabase;
let plane: RunningControlPlane;

leavesNoSecretBehind();
beforeAll(async () => {
  test = await createTestDatabase(controlPlaneSchema);
  plane = await startControlPlane(test.url);
});
afterAll(async () => {
  await plane?.stop();
  await test.drop();
});

/** A POST to make a key, with these header lines and this body. */
function post(body: string, ...headers: readonly string[]): Promise<Answer> {
  const head = [
    'POST /control/keys HTTP/1.1',
    'host: x',
    'connection: close',
    `authorization: Bearer ${plane.adminKey}`,
    ...headers,
  ];
  return exchange(plane.url, `${head.join('\r\n')}\r\n\r\n${body}`);
}

const json = 'content-type: application/json';
const length = (body: string): string => `content-length: ${body.length}`;
const valid = JSON.stringify({ name: 'x', scopes: ['control:read'] });
/** A valid body of exactly this size: white space belongs to JSON. */
const bodyOf = (bytes: number): string => valid.padEnd(bytes, ' ');

describe('the limits of a request', () => {
  it('take a body of 1 MiB and refuse one byte more, by what it says and by what comes', async () => {
    const limit = 1_048_576;
    expect((await post(bodyOf(limit), json, length(bodyOf(limit)))).status).toBe(201);
    expect(await post('', json, `content-length: ${limit + 1}`)).toBeRefusedWith(413, 'PAYLOAD_TOO_LARGE');
    const chunked = (bytes: number): string => `${bytes.toString(16)}\r\n${bodyOf(bytes)}\r\n0\r\n\r\n`;
    expect((await post(chunked(limit), json, 'transfer-encoding: chunked')).status).toBe(201);
    expect(await post(chunked(limit + 1), json, 'transfer-encoding: chunked')).toBeRefusedWith(
      413,
      'PAYLOAD_TOO_LARGE',
    );
  });

  it('refuse a body that is too large without cutting off its sender, which can send the next request', async () => {
    const connection = await RawConnection.open(plane.url);
    const head = ['host: x', json, `authorization: Bearer ${plane.adminKey}`, 'content-length: 8000000', '', ''];
    connection.send(['POST /control/keys HTTP/1.1', ...head].join('\r\n'));
    await eventually(() => connection.received.includes('PAYLOAD_TOO_LARGE'));
    connection.send(' '.repeat(8_000_000)).send(get('/healthz'));
    await eventually(() => connection.closed);
    expect(connection.received).toContain('200 OK');
  });

  it('take headers just below 16 KiB and refuse 16 KiB', async () => {
    // The parser counts the address, the names and the values.
    const fixed = ['/healthz', 'host', 'x', 'connection', 'close', 'x-long'].join('');
    const withHeaders = (bytes: number): Promise<Answer> =>
      exchange(plane.url, get('/healthz', `x-long: ${'a'.repeat(bytes - fixed.length)}`));
    expect((await withHeaders(publicPortLimits.headerBytes - 1)).status).toBe(200);
    expect(await withHeaders(publicPortLimits.headerBytes)).toBeRefusedWith(431, 'HEADERS_TOO_LARGE');
  });

  it('take 100 headers and refuse the 101st, which Node alone would drop without a word', async () => {
    const withHeaders = (count: number): Promise<Answer> =>
      exchange(plane.url, get('/healthz', ...Array.from({ length: count - 2 }, (_, n) => `x-${n}: 1`)));
    expect((await withHeaders(100)).status).toBe(200);
    expect(await withHeaders(101)).toBeRefusedWith(431, 'HEADERS_TOO_LARGE');
    expect(await withHeaders(1_000)).toBeRefusedWith(431, 'HEADERS_TOO_LARGE');
  });

  it('take an address of 8 KiB and refuse one byte more', async () => {
    const address = (bytes: number): string => `/healthz?${'a'.repeat(bytes - 9)}`;
    expect((await exchange(plane.url, get(address(8_192)))).status).toBe(200);
    expect(await exchange(plane.url, get(address(8_193)))).toBeRefusedWith(414, 'URI_TOO_LONG');
    const parameter = `/control/keys/${'a'.repeat(9_000)}`;
    expect(await exchange(plane.url, get(parameter).replace('GET', 'DELETE'))).toBeRefusedWith(414, 'URI_TOO_LONG');
  });

  it('take JSON only, and none that is compressed', async () => {
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
      'text/json',
      ';',
    ])
      expect(await post(valid, `content-type: ${type}`, length(valid))).toBeRefusedWith(415, 'UNSUPPORTED_MEDIA_TYPE');
    expect(await post(valid, length(valid))).toBeRefusedWith(415, 'UNSUPPORTED_MEDIA_TYPE');
    for (const encoding of ['gzip', 'br', 'deflate', 'identity, gzip', 'x'.repeat(500)])
      expect(await post(valid, json, length(valid), `content-encoding: ${encoding}`)).toBeRefusedWith(
        415,
        'UNSUPPORTED_MEDIA_TYPE',
      );
    for (const fine of [json, 'content-type: application/json; charset=utf-8', 'Content-Type: APPLICATION/JSON'])
      expect((await post(valid, fine, length(valid), 'content-encoding: identity')).status).toBe(201);
  });

  it('take JSON in 32 levels, without keys that reach into prototypes', async () => {
    for (const body of [
      '['.repeat(33) + ']'.repeat(33),
      '{"__proto__":{"admin":true}}',
      '{"a":{"constructor":1}}',
      '{',
      '',
    ])
      expect(await post(body, json, length(body))).toBeRefusedWith(400, 'BAD_REQUEST');
  });
});

describe('HTTP that cannot be read', () => {
  const smuggled = [
    'POST / HTTP/1.1',
    'host: x',
    'content-length: 5',
    'transfer-encoding: chunked',
    '',
    '0\r\n\r\nGET',
  ];
  it.each([
    ['garbage', '\u0000\u0001\u0002\r\n\r\n'],
    ['another protocol', 'SSH-2.0-OpenSSH_9.6\r\n\r\n'],
    ['a header without a colon', 'GET / HTTP/1.1\r\nhost x\r\n\r\n'],
    ['a header with a broken value', 'GET / HTTP/1.1\r\nhost: x\r\nx-a: \u0001\r\n\r\n'],
    ['a folded header', 'GET / HTTP/1.1\r\nhost: x\r\nx-a: 1\r\n 2\u0000\r\n\r\n'],
    ['two lengths', 'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n'],
    ['a length and chunks', smuggled.join('\r\n')],
    ['a negative length', 'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: -1\r\n\r\n'],
    ['an unknown method', 'BREW /coffee HTTP/1.1\r\nhost: x\r\n\r\n'],
    ['a version that does not exist', 'GET / HTTP/9.9\r\nhost: x\r\n\r\n'],
    ['a space in the address', 'GET /a b HTTP/1.1\r\nhost: x\r\n\r\n'],
    ['no host', 'GET /healthz HTTP/1.1\r\nconnection: close\r\n\r\n'],
    ['an address that is badly encoded', get('/control/keys/%zz')],
    ['another one', get('/%')],
  ])('is refused in the one shape: %s', async (_, request) => {
    expect(await exchange(plane.url, request)).toBeRefusedWith(400, 'BAD_REQUEST');
  });

  it('does not stop HTTP that is only unusual', async () => {
    const close = 'connection: close\r\n\r\n';
    expect((await exchange(plane.url, `GET /healthz HTTP/1.0\r\n${close}`)).status).toBe(200);
    expect((await exchange(plane.url, get('/healthz', 'expect: a-miracle'))).status).toBe(200);
    expect((await exchange(plane.url, get('/healthz', 'upgrade: websocket'))).status).toBe(200);
    expect((await exchange(plane.url, get('http://elsewhere.example/healthz'))).status).toBe(200);
  });

  it('is counted', async () => {
    const { text } = await plane.request('/metrics', { key: plane.adminKey });
    expect(text).toMatch(/^drover_http_unreadable_total\{.*status="400".*\} \d+$/m);
    expect(text).toMatch(/^drover_http_unreadable_total\{.*status="431".*\} \d+$/m);
  });
});

/** The shipped server with shorter limits: nobody wants to wait for the real ones here. */
async function withServer(
  use: (url: string, seen: readonly ControlPlaneObservation[]) => Promise<void>,
  limits: Partial<HttpServerOptions['limits']>,
): Promise<void> {
  const seen: ControlPlaneObservation[] = [];
  const server = new HttpServer({
    host: '127.0.0.1',
    port: 0,
    bodyLimitBytes: 1_024,
    limits: { ...publicPortLimits, checkEveryMs: 50, ...limits },
    durations: new RequestDurations(),
    handlers: [
      handle(controlRoutes.getHealth, async () => reply(200, { status: 'ready', problems: {} })),
      handle(controlRoutes.createApiKey, () => Promise.reject(new Error('its body never comes'))),
      handle(applicationRoutes.uploadPayload, async ({ upload }) => {
        let bytes = 0;
        for await (const chunk of upload) bytes += chunk.length;
        return reply(201, { payload: 'a'.repeat(64), bytes, files: 1 });
      }),
    ],
    authenticator: {
      authenticate: async () => ({ caller: { scopes: ['control:write', 'apps:write'] } }),
    } as unknown as HttpServerOptions['authenticator'], // everybody may do everything here
    clock: systemClock,
    randomness: systemRandomness,
    observe: (observation) => void seen.push(observation),
  });
  await server.start();
  try {
    await use(server.url, seen);
  } finally {
    await server.stop();
  }
}

describe('a client that is too slow', () => {
  it('is told and cut when its headers do not come', async () => {
    await withServer(
      async (url, seen) => {
        const connection = await RawConnection.open(url);
        connection.send('GET /healthz HTTP/1.1\r\nhost: x\r\nx-slow: ');
        await eventually(() => connection.closed);
        expect(parseAnswer(connection.received)).toBeRefusedWith(408, 'REQUEST_TIMEOUT');
        expect(seen).toContainEqual(expect.objectContaining({ kind: 'http.unreadable', status: 408 }));
      },
      { headersMs: 200 },
    );
  });

  it('is cut when it says nothing at all', async () => {
    await withServer(
      async (url) => {
        const connection = await RawConnection.open(url);
        await eventually(() => connection.closed);
        expect(parseAnswer(connection.received)).toBeRefusedWith(408, 'REQUEST_TIMEOUT');
      },
      { headersMs: 200 },
    );
  });

  it('is told and cut when its body does not come', async () => {
    await withServer(
      async (url) => {
        const connection = await RawConnection.open(url);
        connection.send(`POST /control/keys HTTP/1.1\r\nhost: x\r\n${json}\r\ncontent-length: 100\r\n\r\n{"name`);
        await eventually(() => connection.closed);
        expect(parseAnswer(connection.received)).toBeRefusedWith(408, 'REQUEST_TIMEOUT');
      },
      { headersMs: 200, requestMs: 300 },
    );
  });

  it('may take its time for a file', async () => {
    await withServer(
      async (url) => {
        const file = await RawConnection.open(url);
        const head = 'host: x\r\ncontent-type: application/zip\r\ncontent-length: 4000\r\nconnection: close\r\n\r\n';
        file.send(`POST /v1/apps/hello/payloads HTTP/1.1\r\n${head}${'x'.repeat(1_500)}`);
        const body = await RawConnection.open(url);
        body.send(`POST /control/keys HTTP/1.1\r\nhost: x\r\n${json}\r\ncontent-length: 100\r\n\r\n{"name`);
        // The limit of both has passed when the other one, which came later, is cut.
        await eventually(() => body.closed);
        expect(file.closed).toBe(false);
        file.send('x'.repeat(2_500));
        await eventually(() => file.closed);
        expect(parseAnswer(file.received)).toMatchObject({ status: 201, body: { bytes: 4_000 } });
      },
      { headersMs: 200, requestMs: 300 },
    );
  });

  it('is cut after a request when it stays idle', async () => {
    await withServer(
      async (url) => {
        const connection = await RawConnection.open(url);
        connection.send('GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n');
        await eventually(() => connection.closed);
        expect(parseAnswer(connection.received).status).toBe(200);
      },
      { keepAliveMs: 100 },
    );
  });

  it('is refused when there are as many others as there may be, and may still ask for the health', async () => {
    await withServer(
      async (url) => {
        const both = [await RawConnection.open(url), await RawConnection.open(url)];
        for (const connection of both) connection.send('GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n');
        await eventually(() => both.every(({ received }) => received.includes('200 OK')));
        expect(await exchange(url, get('/control/keys'))).toBeRefusedWith(503, 'TOO_MANY_CONNECTIONS');
        expect((await exchange(url, get('/healthz'))).status).toBe(200);
        await both[0]?.close();
        await eventually(async () => expect((await exchange(url, get('/control/keys'))).status).not.toBe(503));
        await both[1]?.close();
      },
      { connections: 2 },
    );
  });
});

describe('garbage behind a request', () => {
  it('is refused after the answer to that request, not in its place', async () => {
    await withServer(async (url) => {
      const connection = await RawConnection.open(url);
      connection.send('GET /healthz HTTP/1.1\r\nhost: x\r\n\r\ngarbage\r\n\r\n');
      await eventually(() => connection.closed);
      expect([...connection.received.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)).toEqual([
        '200',
        '400',
      ]);
    }, {});
  });
});

describe('a client that sent garbage', () => {
  it('has lost its connection, also when it keeps its own half open', async () => {
    await withServer(
      async (url) => {
        const connection = await RawConnection.open(url, { allowHalfOpen: true });
        connection.send('garbage\r\n\r\n');
        await eventually(() => connection.received !== '');
        expect(parseAnswer(connection.received)).toBeRefusedWith(400, 'BAD_REQUEST');
        // its place, the only one there is, is free for another
        await eventually(async () => expect((await exchange(url, get('/healthz'))).status).toBe(200));
        await connection.close();
      },
      { connections: 1 },
    );
  });
});

describe('the settings of the port', () => {
  it('turn the fast lane off, and set how many connections there may be', async () => {
    const settings = { DROVER_FAST_LANE: 'off', DROVER_MAX_CONNECTIONS: '7', DROVER_MAX_CONNECTIONS_PER_CLIENT: '1' };
    const other = await startControlPlane(test.url, settings, plane.adminKey);
    try {
      const call = 'GET /v1/executions/none HTTP/1.1\r\nhost: x\r\n\r\n';
      const [byLane, byNode] = [await RawConnection.open(plane.url), await RawConnection.open(other.url)];
      for (const connection of [byLane, byNode]) connection.send(call);
      await eventually(() => byLane.received !== '' && byNode.received !== '');
      // Node's server writes the names of headers with capitals.
      expect(byLane.received).toContain('\r\nconnection: keep-alive\r\n');
      expect(byNode.received).toContain('\r\nConnection: keep-alive\r\n');
      const refused = await exchange(other.url, get('/v1/executions/none'));
      expect(refused).toBeRefusedWith(503, 'TOO_MANY_CONNECTIONS');
      expect(refused.text).toContain('7 in all, 1 from one client');
      await Promise.all([byLane.close(), byNode.close()]);
    } finally {
      await other.stop();
    }
  });
});

describe('the shipped limits', () => {
  it('are those of the security standard', () => {
    expect(publicPortLimits).toEqual({
      headerBytes: 16_384,
      headers: 100,
      addressBytes: 8_192,
      firstByteMs: 5_000,
      headersMs: 15_000,
      requestMs: 30_000,
      writeMs: 30_000,
      keepAliveMs: 5_000,
      checkEveryMs: 1_000,
      connections: 4_000,
      connectionsPerClient: 1_000,
      reservedConnections: 512,
    });
  });
});
