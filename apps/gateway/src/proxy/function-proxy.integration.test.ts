import { createServer, request, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { writeFile } from 'node:fs/promises';
import { createServer as createTcpServer, type AddressInfo } from 'node:net';
import path from 'node:path';
import { FastLane } from '@drover/http-edge';
import { systemClock, systemRandomness } from '@drover/service-kit';
import { eventually, withScratchDirectory } from '@drover/testkit';
import { afterEach, describe, expect, it } from 'vitest';
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
async function openPort(lane: Lane, proxy: FunctionProxy): Promise<string> {
  closing.push(() => proxy.stop());
  const { url, server } = await listen((incoming, response) => {
    if (lane === 'fast lane') response.setHeader('x-handed-over', '1');
    if (!proxy.serve(incoming, response)) response.writeHead(418).end('not a function');
  });
  if (lane === "Node's server") return url;
  const fastLane = new FastLane(server, { limits, clock: systemClock, serve: proxy.serveFastLane });
  closing.push(async () => fastLane.close());
  return url;
}

type Lane = 'fast lane' | "Node's server";
const limits = {
  headerBytes: 16_384,
  headers: 100,
  addressBytes: 8_192,
  requestBytes: 65_536,
  keepAliveMs: 5_000,
  checkEveryMs: 1_000,
};

async function readAll(message: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of message) text += String(chunk);
  return text;
}

describe.each<Lane>(['fast lane', "Node's server"])('the function proxy, on %s', (lane) => {
  const front = (runtimeUrl: string | undefined): Promise<string> =>
    openPort(lane, new FunctionProxy({ runtimeUrl, clock: systemClock, randomness: systemRandomness }));

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
      const proxy = new FunctionProxy({
        runtimeUrl: undefined,
        runtimeUrlFile: file,
        clock: systemClock,
        randomness: systemRandomness,
      });
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
