import { systemClock } from '@drover/service-kit';
import { eventually, selfSigned } from '@drover/testkit';
import { createServer, type Server } from 'node:https';
import { createServer as createTlsServer, type TLSSocket } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EndpointGuard } from '../outbound/endpoint-guard.js';
import { EndpointHosts } from '../outbound/endpoint-hosts.js';
import { ForeignEndpoint } from '../testing/foreign-endpoint.js';
import type { AttemptResult } from '../dispatcher.js';
import { EndpointDispatcher } from './endpoint-dispatcher.js';
import { attemptOf, endpointFunction } from '../testing/attempts.js';

const trusted = selfSigned('functions.test');
const seen: { readonly host: string | undefined; readonly servername: unknown; readonly resumed: boolean }[] = [];
let server: Server;
let endpoint: ForeignEndpoint;
beforeAll(async () => {
  server = createServer(trusted, (request, response) => {
    const socket = request.socket as TLSSocket; // an https server has no others
    seen.push({ host: request.headers.host, servername: socket.servername, resumed: socket.isSessionReused() });
    request.resume().on('end', () => response.setHeader('content-type', 'application/json').end('1'));
  });
  endpoint = await ForeignEndpoint.of(server);
});
afterAll(() => endpoint.close());

const guard = new EndpointGuard({
  hosts: EndpointHosts.parse('loopback'),
  clock: systemClock,
  lookup: () => Promise.resolve([{ address: '127.0.0.1', family: 4 }]),
});

async function call(host: string, { ca, times = 1 }: { ca?: string; times?: number }): Promise<AttemptResult[]> {
  const pool = new EndpointDispatcher({
    guard,
    clock: systemClock,
    randomness: { fraction: () => 1 },
    observe: () => undefined,
    ...(ca === undefined ? {} : { ca }),
  });
  const definition = endpointFunction(`https://${host}:${endpoint.port}/`);
  try {
    await pool.dispatch(attemptOf(definition));
    return await Promise.all(Array.from({ length: times }, () => pool.dispatch(attemptOf(definition))));
  } finally {
    await pool.stop();
  }
}

describe('an https endpoint', () => {
  it('is called by its name, and need not prove everything for every connection', async () => {
    for (const result of await call('Functions.test', { ca: trusted.cert, times: 3 }))
      expect(result).toEqual({ kind: 'success', output: { json: '1' } });
    for (const { host, servername } of seen)
      expect([host, servername]).toEqual([`functions.test:${endpoint.port}`, 'functions.test']);
    // Two calls on the first connection, one on each of the others.
    expect(seen.filter(({ resumed }) => resumed)).toHaveLength(2);
    expect(seen).toHaveLength(4);
  });

  it('is sent megabytes, and sends them back', async () => {
    const echo = await ForeignEndpoint.of(
      createServer(trusted, (request, response) => {
        response.setHeader('content-type', 'application/json');
        request.pipe(response);
      }),
    );
    const pool = new EndpointDispatcher({
      guard,
      clock: systemClock,
      randomness: { fraction: () => 1 },
      observe: () => undefined,
      ca: trusted.cert,
    });
    const json = JSON.stringify('x€'.repeat(1_000_000));
    const definition = endpointFunction(`https://functions.test:${echo.port}/`);
    for (let round = 0; round < 2; round += 1)
      expect(await pool.dispatch(attemptOf(definition, { payload: { json } }))).toEqual({
        kind: 'success',
        output: { json: `{"input":${json},"metadata":{}}` },
      });
    expect(echo.connections).toBe(1);
    await pool.stop();
    await echo.close();
  });

  it('that says something by itself is not believed', async () => {
    const good = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 1\r\n\r\n';
    const talking = await ForeignEndpoint.of(
      createTlsServer(trusted, (socket) => {
        socket.on('error', () => undefined);
        socket.on('data', () => socket.write(`${good}1`, () => setImmediate(() => socket.write(`${good}9`))));
      }),
    );
    const pool = new EndpointDispatcher({
      guard,
      clock: systemClock,
      randomness: { fraction: () => 1 },
      observe: () => undefined,
      ca: trusted.cert,
    });
    const definition = endpointFunction(`https://functions.test:${talking.port}/`);
    for (let round = 1; round <= 3; round += 1) {
      expect(await pool.dispatch(attemptOf(definition))).toEqual({ kind: 'success', output: { json: '1' } });
      await eventually(() => talking.open === 0);
    }
    await pool.stop();
    await talking.close();
  });

  it('whose name ends with a dot is the same', async () => {
    expect(await call('functions.test.', { ca: trusted.cert })).toMatchObject([{ kind: 'success' }]);
  });

  it.each([
    ['functions.test', undefined],
    ['functions.test', selfSigned('functions.test').cert],
    ['other.test', trusted.cert],
    ['127.0.0.1', trusted.cert],
  ])('as %s without a certificate for it is not told anything', async (host, ca) => {
    const before = seen.length;
    expect(await call(host, ca === undefined ? {} : { ca })).toMatchObject([
      {
        kind: 'failed',
        code: 'POOL_ERROR',
        transient: false,
        message: expect.stringContaining('has no trusted certificate'),
      },
    ]);
    expect(seen).toHaveLength(before);
  });

  it('that speaks no TLS fails', async () => {
    const plain = await ForeignEndpoint.raw((socket) => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'));
    const pool = new EndpointDispatcher({
      guard,
      clock: systemClock,
      randomness: { fraction: () => 1 },
      observe: () => undefined,
    });
    const result = await pool.dispatch(attemptOf(endpointFunction(`https://functions.test:${plain.port}/`)));
    expect(result).toMatchObject({ kind: 'failed', code: 'POOL_ERROR', transient: false });
    await pool.stop();
    await plain.close();
  });
});
