import { createServer, request, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { writeFile } from 'node:fs/promises';
import { createServer as createTcpServer, type AddressInfo } from 'node:net';
import path from 'node:path';
import { FastLane } from '@drover/http-edge';
import { systemClock, systemRandomness } from '@drover/service-kit';
import { eventually, withScratchDirectory } from '@drover/testkit';
import { afterEach, describe, expect, it } from 'vitest';
import { laneLimits, type Lane } from '../collections/gateway.test.fixture.js';
import { FunctionProxy } from './function-proxy.js';

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()));
});

async function listen(handler: RequestListener, port = 0): Promise<{ url: string; server: Server }> {
  const server = createServer(handler);
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  closing.push(
    () =>
      new Promise((resolve) => {
        server.close(resolve);
        server.closeAllConnections();
      }),
  );
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server };
}

/** A public port with the proxy on it: behind the fast lane, or on Node's server alone. */
async function openPort(lane: Lane, proxy: FunctionProxy, onArrival: () => void = () => undefined): Promise<string> {
  closing.push(() => proxy.stop());
  const { url, server } = await listen((incoming, response) => {
    if (lane === 'fast lane') response.setHeader('x-handed-over', '1');
    if (!proxy.serve(incoming, response)) response.writeHead(418).end('not a function');
    onArrival();
  });
  if (lane === "Node's server") return url;
  const fastLane = new FastLane(server, {
    limits: laneLimits,
    clock: systemClock,
    serve: (incoming, exchange) => {
      const isServed = proxy.serveFastLane(incoming, exchange);
      onArrival();
      return isServed;
    },
  });
  closing.push(async () => fastLane.close());
  return url;
}

const io = { clock: systemClock, randomness: systemRandomness };
const unheld = { holdMs: 0, maxHeldRequests: 0, ...io };

async function readAll(message: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of message) text += String(chunk);
  return text;
}

describe.each<Lane>(['fast lane', "Node's server"])('the function proxy, on %s', (lane) => {
  const front = (runtimeUrl: string | undefined): Promise<string> =>
    openPort(lane, new FunctionProxy({ runtimeUrl, ...unheld }));

  it('hands on method, path, headers and body, and brings back status, headers and body', async () => {
    const { url } = await listen((incoming, response) => {
      void readAll(incoming).then((body) => {
        response.writeHead(201, 'Made', [
          'set-cookie',
          'a=1',
          'set-cookie',
          'b=2',
          'x-seen',
          String(incoming.headers['x-mine']),
        ]);
        response.end(`${incoming.method} ${incoming.url} ${body}`);
      });
    });
    const answer = await fetch(`${await front(url)}/api/orders?x=%2F`, {
      method: 'POST',
      headers: { 'x-mine': 'yes' },
      body: 'an order',
    });
    expect(answer.status).toBe(201);
    expect(answer.headers.getSetCookie()).toEqual(['a=1', 'b=2']);
    expect(answer.headers.get('x-seen')).toBe('yes');
    expect(await answer.text()).toBe('POST /api/orders?x=%2F an order');
  });

  it('leaves what is not for functions to others', async () => {
    const { url } = await listen((_incoming, response) => void response.end());
    expect((await fetch(`${await front(url)}/control/keys`)).status).toBe(418);
    expect((await fetch(`${await front(url)}/metrics?x=/api/`)).status).toBe(418);
  });

  it('passes on every path that is not of the platform, since applications choose their route prefix', async () => {
    const { url } = await listen((incoming, response) => void response.end(incoming.url));
    const base = await front(url);
    for (const address of ['/', '/apis', '/orders/7?x=1', '/v2/orders', '/admin/functions'])
      expect(await (await fetch(`${base}${address}`)).text()).toBe(address);
  });

  it('says itself where a request came from, whatever the client claims', async () => {
    const { url } = await listen((incoming, response) => void response.end(JSON.stringify(incoming.headers)));
    const base = await front(url);
    const headers = { 'x-forwarded-host': 'evil.example', 'x-forwarded-for': '1.2.3.4' };
    const seen = (await (await fetch(`${base}/api/x`, { headers })).json()) as Record<string, string>;
    expect(seen['x-forwarded-host']).toBe(new URL(base).host);
    expect(seen['x-forwarded-for']).toMatch(/127\.0\.0\.1$/);
    expect(seen['x-forwarded-proto']).toBe('http');
  });

  it('lets bodies through as they come, in both directions', async () => {
    const { url } = await listen((incoming, response) => {
      response.writeHead(200);
      incoming.on('data', (chunk: Buffer) => response.write(`got ${chunk.toString()};`));
      incoming.on('end', () => response.end('end'));
    });
    const outgoing = request(`${await front(url)}/api/stream`, { method: 'POST' });
    const seen: string[] = [];
    outgoing.on('response', (answer) => answer.on('data', (chunk: Buffer) => seen.push(chunk.toString())));
    outgoing.write('one');
    await eventually(() => expect(seen.join('')).toBe('got one;'));
    outgoing.end('two');
    await eventually(() => expect(seen.join('')).toBe('got one;got two;end'));
  });

  it('passes on an answer that comes while the client still sends, also when the connection ends with it', async () => {
    const early = 'HTTP/1.1 413 Payload Too Large\r\ncontent-length: 5\r\nconnection: close\r\n\r\nlarge';
    // With unread bytes the system resets the connection: the next write to it fails.
    const runtime = createTcpServer((socket) => {
      socket.on('error', () => undefined).once('data', () => socket.end(early, () => socket.destroy()).pause());
    });
    await new Promise<void>((resolve) => runtime.listen(0, '127.0.0.1', resolve));
    closing.push(() => new Promise((resolve) => runtime.close(resolve)));
    const base = await front(`http://127.0.0.1:${(runtime.address() as AddressInfo).port}`);
    const statuses = new Set<number | undefined>();
    const part = Buffer.alloc(65_536);
    for (let turn = 0; turn < 30; turn += 1)
      statuses.add(
        await new Promise((resolve, reject) => {
          const upload = request(`${base}/api/x`, { method: 'POST' });
          let left = 64;
          const send = (): void => {
            if (upload.destroyed || left === 0) return void upload.end();
            left -= 1;
            upload.write(part, () => setImmediate(send));
          };
          upload.on('error', reject).on('response', (answer) => {
            resolve(answer.statusCode);
            answer.resume();
            left = 0;
          });
          send();
        }),
      );
    expect([...statuses]).toEqual([413]);
  });

  it('ends the call when the client goes away', async () => {
    const calls: string[] = [];
    const { url } = await listen((_incoming, response) => {
      calls.push('begun');
      response.once('close', () => calls.push('closed'));
    });
    const leaving = new AbortController();
    const asked = fetch(`${await front(url)}/api/slow`, { signal: leaving.signal }).catch(() => 'left');
    await eventually(() => expect(calls).toEqual(['begun']));
    leaving.abort();
    expect(await asked).toBe('left');
    await eventually(() => expect(calls).toEqual(['begun', 'closed']));
  });

  it('says that nothing is deployed, that the runtime does not listen, and that it broke off', async () => {
    const none = await fetch(`${await front(undefined)}/api/x`);
    expect([none.status, ((await none.json()) as { error: string }).error]).toEqual([404, 'GATEWAY_NO_FUNCTIONS']);
    const { url, server } = await listen(() => undefined);
    await new Promise((resolve) => server.close(resolve));
    const refused = await fetch(`${await front(url)}/api/x`);
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
    const { url: cut } = await listen((incoming) => void incoming.socket.destroy());
    const broke = await fetch(`${await front(cut)}/api/x`, { method: 'POST', body: 'x' });
    expect([broke.status, ((await broke.json()) as { error: string }).error]).toEqual([
      502,
      'GATEWAY_RUNTIME_BROKE_OFF',
    ]);
  });

  it('finds a runtime that comes later, and one that has moved', () =>
    withScratchDirectory(async (directory) => {
      const file = path.join(directory, 'runtime-url');
      const proxy = new FunctionProxy({ runtimeUrl: undefined, runtimeUrlFile: file, ...unheld });
      const base = await openPort(lane, proxy);
      const ask = async (): Promise<number> => (await fetch(`${base}/api/x`)).status;
      expect(await ask()).toBe(503);
      const first = await listen((_incoming, response) => void response.writeHead(201).end());
      await writeFile(file, first.url);
      expect(await ask()).toBe(201);
      first.server.closeAllConnections();
      await new Promise((resolve) => first.server.close(resolve));
      const second = await listen((_incoming, response) => void response.writeHead(202).end());
      await writeFile(file, second.url);
      await eventually(async () => expect(await ask()).toBe(202));
    }));

  it('does not pass half an answer off as a whole one', async () => {
    const { url } = await listen((_incoming, response) => {
      response.writeHead(200, { 'content-length': '100' });
      response.write('half', () => response.destroy());
    });
    const answer = await fetch(`${await front(url)}/api/x`);
    await expect(answer.text()).rejects.toThrow();
  });
});

describe.each<Lane>(['fast lane', "Node's server"])('requests while no runtime answers, on %s', (lane) => {
  const text = async (request: IncomingMessage): Promise<string> =>
    `${request.method} ${request.url} ${await readAll(request)}`;
  const echo: RequestListener = (incoming, response) => void text(incoming).then((body) => response.end(body));

  /** A port in front of a runtime that is not there yet. `start` starts it where it is expected. */
  async function openHolding(given: { holdMs?: number; maxHeldRequests?: number } = {}) {
    const { url, server } = await listen(() => undefined);
    await new Promise((resolve) => server.close(resolve));
    const proxy = new FunctionProxy({ runtimeUrl: url, holdMs: 60_000, maxHeldRequests: 100, ...io, ...given });
    let arrivals = 0;
    const base = await openPort(lane, proxy, () => void (arrivals += 1));
    const start = (handler: RequestListener = echo) => listen(handler, Number(new URL(url).port));
    return { proxy, base, start, arrivals: () => arrivals };
  }

  it('wait for it and are served, bodies included, also ones that still come in', async () => {
    const { base, start } = await openHolding();
    const asked = [
      fetch(`${base}/api/get`),
      fetch(`${base}/api/post`, { method: 'POST', body: 'whole' }),
      fetch(`${base}/api/large`, { method: 'PUT', body: 'x'.repeat(300_000) }),
    ];
    const slow = request(`${base}/api/slow`, { method: 'POST' });
    const answered = new Promise<string>((resolve, reject) => {
      slow.on('response', (answer) => resolve(readAll(answer))).on('error', reject);
    });
    slow.write('one ');
    await start();
    slow.end('two');
    const answers = await Promise.all(asked.map(async (one) => (await one).text()));
    expect(answers).toEqual(['GET /api/get ', 'POST /api/post whole', `PUT /api/large ${'x'.repeat(300_000)}`]);
    expect(await answered).toBe('POST /api/slow one two');
  });

  it('are sent once each, however long they waited', async () => {
    const { base, start } = await openHolding();
    const asked = Array.from({ length: 50 }, (_, n) => fetch(`${base}/api/${n}`).then(({ status }) => status));
    const seen: string[] = [];
    await start((incoming, response) => {
      seen.push(incoming.url ?? '');
      response.end();
    });
    expect(new Set(await Promise.all(asked))).toEqual(new Set([200]));
    expect(seen.toSorted()).toEqual(Array.from({ length: 50 }, (_, n) => `/api/${n}`).toSorted());
  });

  it('are answered with 503 when their time is over', async () => {
    const { base } = await openHolding({ holdMs: 60 });
    const answer = await fetch(`${base}/api/x`);
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '1']);
    expect(((await answer.json()) as { error: string }).error).toBe('GATEWAY_RUNTIME_UNREACHABLE');
  });

  it('are refused at once beyond their number', async () => {
    const { base, start } = await openHolding({ maxHeldRequests: 1 });
    const asked = [1, 2].map(() => fetch(`${base}/api/x`).then(({ status }) => status));
    expect(await Promise.race(asked)).toBe(503);
    await start();
    expect(new Set(await Promise.all(asked))).toEqual(new Set([200, 503]));
  });

  it('are not sent any more when their client has left', async () => {
    const { base, start, arrivals } = await openHolding();
    const leaving = new AbortController();
    const asked = fetch(`${base}/api/left`, { signal: leaving.signal }).catch(() => 'left');
    await eventually(() => expect(arrivals()).toBe(1));
    leaving.abort();
    expect(await asked).toBe('left');
    const next = fetch(`${base}/api/next`).then(({ status }) => status);
    await eventually(() => expect(arrivals()).toBe(2));
    const seen: string[] = [];
    await start((incoming, response) => {
      seen.push(incoming.url ?? '');
      response.end();
    });
    expect(await next).toBe(200);
    expect(seen).toEqual(['/api/next']);
  });

  it('are answered when the gateway drains', async () => {
    const { proxy, base, arrivals } = await openHolding();
    const asked = fetch(`${base}/api/x`).then(({ status }) => status);
    await eventually(() => expect(arrivals()).toBe(1));
    await proxy.drain();
    expect(await asked).toBe(503);
  });
});
