import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { systemClock } from '@drover/service-kit';
import { eventually, FakeClock } from '@drover/testkit';
import { afterEach, describe, expect, it } from 'vitest';
import type { FastLaneOptions } from './fast-lane/fast-lane.js';
import type { HttpPort } from './port.js';
import { openPort, TestClient, type TestPortOptions } from './port.test.fixture.js';

type Way = 'the fast lane' | "Node's server";
const large = Buffer.alloc(32 * 1_048_576, 'x');

const bodyOf = (url: string): string | Buffer => (url === '/large' ? large : `answer to ${url}`);
const serve: RequestListener = ({ url = '' }, response) => void response.end(bodyOf(url));
const serveFastLane: FastLaneOptions['serve'] = ({ url }, exchange) => {
  exchange.answer(200, [], bodyOf(url));
  return true;
};

const ports: HttpPort[] = [];
const clients: TestClient[] = [];
afterEach(async () => {
  for (const { socket } of clients.splice(0)) socket.destroy();
  await Promise.all(ports.splice(0).map((port) => port.stop()));
});

async function open(way: Way, options: Partial<TestPortOptions> = {}): Promise<HttpPort> {
  const lane = way === 'the fast lane' ? (options.serveFastLane ?? serveFastLane) : undefined;
  const port = await openPort({ clock: systemClock, serve, ...options, serveFastLane: lane });
  ports.push(port);
  return port;
}

async function connect({ url }: HttpPort, localAddress?: string): Promise<TestClient> {
  const client = await TestClient.open(url, localAddress);
  clients.push(client);
  return client;
}

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`;

/** Asks on a new connection; the answer, once the server has closed it or answered. */
async function ask(port: HttpPort, path: string, localAddress?: string): Promise<TestClient> {
  const client = await connect(port, localAddress);
  client.send(get(path));
  await eventually(() => client.statuses.length > 0 || client.isClosed);
  return client;
}

describe.each<Way>(['the fast lane', "Node's server"])('the connections of a port, on %s', (way) => {
  const few = { connections: 5, connectionsPerClient: 3, reservedConnections: 2 };
  const taken = async (port: HttpPort, count: number, from?: string): Promise<TestClient[]> =>
    Promise.all(Array.from({ length: count }, () => ask(port, '/work', from)));

  it('are shared: a client that has its share does not take the places of another', async () => {
    const port = await open(way, { limits: few });
    await taken(port, 3);
    const refused = await ask(port, '/work');
    expect(refused.received).toContain('503 Service Unavailable');
    expect(refused.received).toContain('TOO_MANY_CONNECTIONS');
    await eventually(() => refused.isClosed);
    expect((await ask(port, '/work', '127.0.0.2')).statuses).toEqual([200]);
  });

  it('answer probes beyond the share and beyond the total, and close then', async () => {
    const port = await open(way, { limits: few });
    await taken(port, 3);
    await taken(port, 2, '127.0.0.2');
    for (const from of ['127.0.0.1', '127.0.0.3'])
      for (const path of ['/healthz', '/readyz?verbose']) {
        const probe = await ask(port, path, from);
        expect(probe.statuses).toEqual([200]);
        await eventually(() => probe.isClosed);
      }
    expect((await ask(port, '/healthzz', '127.0.0.3')).statuses).toEqual([503]);
  });

  it('answer a probe while the reserve is full of silent and of slow connections', async () => {
    const port = await open(way, { limits: few });
    await taken(port, 3);
    const others = await Promise.all(Array.from({ length: 20 }, () => connect(port)));
    for (const other of others) other.send('GET /healthz HTT');
    expect((await ask(port, '/healthz')).statuses).toEqual([200]);
    await Promise.all(Array.from({ length: 20 }, () => connect(port)));
    expect((await ask(port, '/readyz')).statuses).toEqual([200]);
  });

  it('give the place of a closed connection to the next one', async () => {
    const port = await open(way, { limits: few });
    const [first] = await taken(port, 3);
    first?.socket.destroy();
    await eventually(async () => expect((await ask(port, '/work')).statuses).toEqual([200]));
  });

  it('are closed when nothing arrives on them, and stay when something has', async () => {
    const clock = new FakeClock();
    const port = await open(way, { clock });
    const silent = await connect(port);
    const used = await ask(port, '/work');
    await clock.advance(4_000);
    expect(silent.isClosed).toBe(false);
    await clock.advance(2_000);
    await eventually(() => silent.isClosed);
    expect(silent.received).toBe('');
    used.send(get('/more'));
    await eventually(() => expect(used.received).toContain('answer to /more'));
  });

  it('are closed when their client takes nothing of an answer', async () => {
    const clock = new FakeClock();
    const port = await open(way, { clock, limits: { connections: 1, connectionsPerClient: 1 } });
    const deaf = await connect(port);
    deaf.socket.pause();
    deaf.send(get('/large'));
    await eventually(() => deaf.socket.readableLength > 0);
    const isFree = async (): Promise<boolean> => (await ask(port, '/work')).statuses[0] === 200;
    expect(await isFree()).toBe(false);
    await eventually(async () => {
      await clock.advance(10_000);
      return isFree();
    });
  });

  it('stay while their client takes a large answer slowly', async () => {
    const clock = new FakeClock();
    const port = await open(way, { clock });
    const slow = await connect(port);
    slow.send(get('/large'));
    for (let step = 1; step <= 5; step += 1) {
      await eventually(() => slow.received.length >= step * 6_000_000);
      slow.socket.pause();
      await clock.advance(9_000);
      slow.socket.resume();
    }
    await eventually(() => slow.received.length > large.length);
    expect(slow.isClosed).toBe(false);
  });

  it('take turns: thousands of requests that were sent ahead do not hold up another client', async () => {
    let served = 0;
    const port = await open(way, {
      serve: (request, response) => {
        served += 1;
        setImmediate(() => serve(request, response));
      },
      serveFastLane: (request, exchange) => {
        served += 1;
        setImmediate(() => serveFastLane(request, exchange));
        return true;
      },
    });
    const probe = await connect(port);
    const flood = await Promise.all(Array.from({ length: 8 }, () => connect(port)));
    for (const client of flood) client.send(get('/').repeat(1_000));
    await eventually(() => served > 0);
    const before = served;
    const servedBefore = new Promise<number>((resolve) => probe.socket.once('data', () => resolve(served - before)));
    probe.send(get('/healthz'));
    expect(await servedBefore).toBeLessThan(200);
    expect(probe.statuses).toEqual([200]);
  });

  it('answer all requests that were sent ahead, in their order', async () => {
    const port = await open(way);
    const client = await connect(port);
    client.send(Array.from({ length: 500 }, (_, n) => get(`/${n}`)).join(''));
    await eventually(() => client.received.includes('answer to /499'));
    const answered = [...client.received.matchAll(/answer to \/(\d+)/g)].map(([, n]) => Number(n));
    expect(answered).toEqual(Array.from({ length: 500 }, (_, n) => n));
  });
});

describe('what cannot be read', () => {
  const held: { request: IncomingMessage; response: ServerResponse }[] = [];
  const holding: RequestListener = (request, response) => void held.push({ request, response });
  const start = async (): Promise<{
    client: TestClient;
    current: () => Promise<ServerResponse>;
    refused: () => Promise<unknown>;
  }> => {
    held.length = 0;
    let unreadable = 0;
    const port = await open("Node's server", { serve: holding, onUnreadable: () => (unreadable += 1) });
    const client = await connect(port);
    const current = async (): Promise<ServerResponse> => {
      await eventually(() => held.length > 0);
      return held.shift()?.response ?? expect.unreachable();
    };
    return { client, current, refused: () => eventually(() => unreadable > 0) };
  };

  it('is answered after the answer that is under way, not in the middle of it', async () => {
    const { client, current, refused } = await start();
    client.send(get('/'));
    const response = await current();
    response.writeHead(200, { 'content-length': '8' }).write('half');
    await eventually(() => client.received.endsWith('half'));
    client.send('garbage\r\n\r\n');
    await refused();
    response.end('half');
    await eventually(() => client.isClosed);
    expect(client.statuses).toEqual([200, 503]);
    expect(client.received).toContain('halfhalfHTTP/1.1 503');
  });

  it('does not hide that the client leaves', async () => {
    const { client, current, refused } = await start();
    client.send(get('/'));
    const response = await current();
    client.send('garbage\r\n\r\n');
    await refused();
    let hasLeft = false;
    response.once('close', () => (hasLeft = true));
    client.send('more garbage\r\n\r\n').socket.destroy();
    await eventually(() => expect(hasLeft).toBe(true));
  });

  it('does not answer for a request before it that still waits for its answer', async () => {
    const { client, current } = await start();
    client.send(`${get('/1')}${get('/2')}garbage\r\n\r\n`);
    (await current()).end('one');
    (await current()).end('two');
    await eventually(() => client.isClosed);
    expect(client.statuses).toEqual([200, 200, 503]);
  });

  it('ends the connection when it is the rest of a request whose answer has begun', async () => {
    const { client, current } = await start();
    client.send('POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n');
    (await current()).writeHead(200, { 'content-length': '100' }).write('begun');
    await eventually(() => client.received.endsWith('begun'));
    client.send('garbage\r\n');
    await eventually(() => client.isClosed);
    expect(client.statuses).toEqual([200]);
    expect(client.received.endsWith('begun')).toBe(true);
  });

  it('is the answer to a request whose own rest it is', async () => {
    const { client, current } = await start();
    client.send('POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\ngarbage\r\n');
    await current();
    await eventually(() => client.isClosed);
    expect(client.statuses).toEqual([503]);
  });

  it('is nothing when it comes behind the last request of a connection', async () => {
    const { client, current } = await start();
    client.send('GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\nmore\r\n\r\n');
    (await current()).end('only');
    await eventually(() => client.isClosed);
    expect(client.statuses).toEqual([200]);
  });
});
