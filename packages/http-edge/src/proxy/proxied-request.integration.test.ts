import { createServer, request as httpRequest, type RequestListener, type Server } from 'node:http';
import net, { type AddressInfo, type Socket } from 'node:net';
import { systemClock } from '@drover/service-kit';
import { eventually } from '@drover/testkit';
import { afterEach, describe, expect, it } from 'vitest';
import { ScriptedServer } from '../client/scripted-server.test.fixture.js';
import { ConnectionPool } from '../client/connection-pool.js';
import type { ForwardedRequest } from '../client/client-request.js';
import { FastLane } from '../server/fast-lane/fast-lane.js';
import type { AnswerSink } from './answer-sink.js';
import { FastLaneSink } from './fast-lane-sink.js';
import { forwardFastLane, forwardStream } from './forwarded-request.js';
import { ProxiedRequest, type MissKind } from './proxied-request.js';
import { ResponseSink } from './response-sink.js';

const endings: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0).toReversed()) await end();
});

const limits = {
  headerBytes: 16_384,
  headers: 100,
  addressBytes: 8_192,
  requestBytes: 65_536,
  keepAliveMs: 5_000,
  checkEveryMs: 1_000,
};
const changes = { drops: (name: string) => name.toLowerCase() === 'x-dropped', added: 'x-added: 1\r\n' };

type Lane = 'fast lane' | "Node's server";

class Front {
  readonly misses: MissKind[] = [];
  readonly server: Server;
  /** Requests that Node's server was given. */
  byNode = 0;

  constructor(lane: Lane, port: number) {
    const pool = new ConnectionPool({
      url: new URL(`http://127.0.0.1:${port}`),
      maxConnections: 2,
      connectTimeoutMs: 5_000,
      clock: systemClock,
    });
    endings.push(() => pool.close());
    const pass = (request: ForwardedRequest, sink: AnswerSink, refuse: () => void): void =>
      new ProxiedRequest({
        pool,
        request,
        sink,
        onMissed: (miss) => {
          this.misses.push(miss);
          refuse();
        },
      }).start();
    this.server = createServer((request, response) => {
      this.byNode += 1;
      pass(forwardStream(request, changes), new ResponseSink(response), () => response.writeHead(502).end());
    });
    if (lane === "Node's server") return;
    const fastLane = new FastLane(this.server, {
      limits,
      clock: systemClock,
      serve: (request, exchange) => {
        pass(forwardFastLane(request, changes), new FastLaneSink(exchange), () => exchange.answer(502, [], undefined));
        return true;
      },
    });
    endings.push(async () => fastLane.close());
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port; // it listens on TCP
  }

  connections(): Promise<number> {
    return new Promise((resolve, reject) =>
      this.server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
    );
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }
}

async function frontOf(lane: Lane, port: number): Promise<Front> {
  const front = new Front(lane, port);
  await new Promise<void>((resolve) => front.server.listen(0, '127.0.0.1', resolve));
  endings.push(
    () =>
      new Promise((resolve) => {
        front.server.close(resolve);
        front.server.closeAllConnections();
        for (const socket of sockets.splice(0)) socket.destroy();
      }),
  );
  return front;
}

async function upstream(listener: RequestListener): Promise<ScriptedServer> {
  const server = await ScriptedServer.http(listener);
  endings.push(() => server.close());
  return server;
}

async function scripted(answer: (socket: Socket, text: string) => void): Promise<ScriptedServer> {
  const server = await ScriptedServer.raw(answer);
  endings.push(() => server.close());
  return server;
}

const sockets: Socket[] = [];
/** A bare connection, to see and send bytes as they are. */
async function bareClient(front: Front): Promise<{ readonly socket: Socket; received: string; isClosed: boolean }> {
  const socket = net.connect({ port: front.port, host: '127.0.0.1' });
  sockets.push(socket);
  const client = { socket, received: '', isClosed: false };
  socket.setEncoding('latin1').on('data', (text: string) => (client.received += text));
  socket.on('error', () => undefined).on('close', () => (client.isClosed = true));
  await new Promise((resolve) => socket.once('connect', resolve));
  return client;
}

describe.each<Lane>(['fast lane', "Node's server"])('a proxied request, on the %s', (lane) => {
  it('reaches the server with path, headers and body as they were sent, but for those of the connection', async () => {
    const seen: string[] = [];
    const server = await scripted((socket, text) => {
      seen.push(text);
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n');
    });
    const front = await frontOf(lane, server.port);
    const { socket } = await bareClient(front);
    socket.write(
      'PATCH /a%2Fb/..?x=%C3%A4&y=1%20+2 HTTP/1.1\r\nHost: Some.Where:80\r\nX-Two: b\r\nx-One: A  b\r\nX-Dropped: 1\r\nConnection: keep-alive\r\nContent-Length: 3\r\n\r\nabc',
    );
    await eventually(() =>
      expect(seen.join('')).toBe(
        'PATCH /a%2Fb/..?x=%C3%A4&y=1%20+2 HTTP/1.1\r\nHost: Some.Where:80\r\nX-Two: b\r\nx-One: A  b\r\nContent-Length: 3\r\nx-added: 1\r\nconnection: keep-alive\r\n\r\nabc',
      ),
    );
  });

  it('brings back the answer as it was sent, but for what is about the connection', async () => {
    const server = await scripted((socket) =>
      socket.write(
        'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 218 Fine by me\r\nSet-Cookie: a=1\r\nDATE: never\r\nset-cookie: b=2\r\nX-Hop: 1\r\nConnection: keep-alive, x-hop\r\nKeep-Alive: timeout=9\r\nContent-Length: 2\r\n\r\nhi',
      ),
    );
    const front = await frontOf(lane, server.port);
    const client = await bareClient(front);
    client.socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
    await eventually(() => expect(client.received.endsWith('\r\n\r\nhi')).toBe(true));
    const [status, ...lines] = client.received.split('\r\n');
    expect(status).toBe('HTTP/1.1 218 Fine by me');
    expect(lines.slice(0, 4)).toEqual(['Set-Cookie: a=1', 'DATE: never', 'set-cookie: b=2', 'Content-Length: 2']);
    expect(lines.filter((line) => /^(?:date|x-hop|link|keep-alive: timeout=9)/i.test(line))).toEqual(['DATE: never']);
  });

  it.each([
    ['HEAD', 'HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n', 'content-length: 5'],
    ['GET', 'HTTP/1.1 304 Not Modified\r\netag: "a"\r\n\r\n', 'etag: "a"'],
    ['DELETE', 'HTTP/1.1 204 No Content\r\n\r\n', 'HTTP/1.1 204 No Content'],
  ])('has no body where there is none: %s', async (method, answer, line) => {
    const server = await scripted((socket) => socket.write(answer));
    const front = await frontOf(lane, server.port);
    const client = await bareClient(front);
    for (const times of [1, 2]) {
      client.socket.write(`${method} / HTTP/1.1\r\nhost: x\r\n\r\n`);
      await eventually(() => expect(client.received.split(line)).toHaveLength(times + 1));
    }
    expect(client.received).not.toMatch(/transfer-encoding/i);
    expect(server.connections).toBe(1);
  });

  it('passes an answer on in parts as they come', async () => {
    const server = await upstream((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.flushHeaders();
      const socket = response.socket;
      response.once('finish', () => socket?.emit('told'));
      answers.push((text, isLast) => (isLast ? response.end(text) : response.write(text)));
    });
    const answers: ((text: string, isLast: boolean) => unknown)[] = [];
    const front = await frontOf(lane, server.port);
    const client = await bareClient(front);
    client.socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
    await eventually(() => expect(client.received).toMatch(/content-type: text\/event-stream/));
    answers[0]?.('data: 1\n\n', false);
    await eventually(() => expect(client.received).toMatch(/\r\n9\r\ndata: 1\n\n\r\n$/));
    answers[0]?.('data: 2\n\n', true);
    await eventually(() => expect(client.received).toMatch(/9\r\ndata: 2\n\n\r\n0\r\n\r\n$/));
    client.socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
    await eventually(() => expect(answers).toHaveLength(2));
  });

  it.each([
    ['with its length', true],
    ['in chunks', false],
  ])('passes large bodies on in both directions: %s', async (_, hasLength) => {
    const size = 5_000_000;
    const server = await upstream((request, response) => {
      if (hasLength) response.setHeader('content-length', String(size));
      request.pipe(response);
    });
    const front = await frontOf(lane, server.port);
    const sent = Buffer.alloc(size, 'abcdefghij');
    const received = await new Promise<Buffer>((resolve, reject) => {
      const outgoing = httpRequest(front.url, { method: 'POST' }, (answer) => {
        const chunks: Buffer[] = [];
        answer.on('data', (chunk: Buffer) => chunks.push(chunk)).on('error', reject);
        answer.on('end', () => resolve(Buffer.concat(chunks)));
      });
      outgoing.on('error', reject);
      if (hasLength) outgoing.setHeader('content-length', size);
      else outgoing.write('');
      outgoing.end(sent);
    });
    expect(received.equals(sent)).toBe(true);
    expect(front.byNode).toBe(1);
  });

  it('lets a client that does not read hold up the server', async () => {
    let written = 0;
    const server = await upstream((_request, response) => {
      const write = (): void => {
        for (let isTaken = true; isTaken && written < 200_000_000; written += 65_536)
          isTaken = response.write(Buffer.alloc(65_536));
      };
      response.on('drain', write);
      write();
    });
    const front = await frontOf(lane, server.port);
    const { socket } = await bareClient(front);
    socket.pause();
    socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
    let before = -1;
    await eventually(() => {
      const isStill = written === before && written > 0;
      before = written;
      expect(isStill).toBe(true);
    });
    expect(written).toBeLessThan(50_000_000);
  });

  it('is given up when the client leaves, before and during the answer', async () => {
    const events: string[] = [];
    const server = await upstream((request, response) => {
      events.push(`begun ${request.url}`);
      response.once('close', () => events.push(`closed ${request.url}`));
      if (request.url === '/during') response.writeHead(200).write('a');
    });
    const front = await frontOf(lane, server.port);
    for (const url of ['/before', '/during']) {
      const client = await bareClient(front);
      client.socket.write(`GET ${url} HTTP/1.1\r\nhost: x\r\n\r\n`);
      await eventually(() => expect(events).toContain(`begun ${url}`));
      if (url === '/during') await eventually(() => expect(client.received).toMatch(/1\r\na\r\n$/));
      client.socket.destroy();
      await eventually(() => expect(events).toContain(`closed ${url}`));
    }
    expect(front.misses).toEqual([]);
  });

  it('breaks the connection of the client when the answer breaks', async () => {
    const server = await scripted((socket) => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf', () => socket.destroy());
    });
    const front = await frontOf(lane, server.port);
    const client = await bareClient(front);
    client.socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
    await eventually(() => expect(client.isClosed).toBe(true));
    expect(client.received).toMatch(/half$/);
  });

  it('is told apart by how it was missed', async () => {
    let isCut = true;
    const server = await scripted((socket) => {
      if (isCut) socket.destroy();
      else socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n');
    });
    const front = await frontOf(lane, server.port);
    const statusOf = async (): Promise<number> => (await fetch(front.url)).status;
    expect(await statusOf()).toBe(502);
    isCut = false;
    expect(await statusOf()).toBe(200);
    isCut = true;
    expect(await statusOf()).toBe(502);
    await server.close();
    expect(await statusOf()).toBe(502);
    expect(front.misses).toEqual(['unknown', 'stale', 'unsent']);
  });

  it('brings back an answer that comes before the request is complete', async () => {
    const server = await scripted((socket, text) => {
      if (text.startsWith('POST')) socket.write('HTTP/1.1 413 Too Large\r\ncontent-length: 2\r\n\r\nno');
    });
    const front = await frontOf(lane, server.port);
    const client = await bareClient(front);
    client.socket.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1000000\r\n\r\nabc');
    await eventually(() => expect(client.received).toMatch(/^HTTP\/1\.1 413 Too Large\r\n[^]*no$/));
    client.socket.write(Buffer.alloc(999_997));
    client.socket.write('POST /next HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n');
    await eventually(() => expect(client.received.match(/413 Too Large/g)).toHaveLength(2));
  });

  it('waits for a connection when all are in use, and not after its client has left', async () => {
    const waiting: { readonly url: string; answer: () => void }[] = [];
    const server = await upstream((request, response) => {
      waiting.push({ url: request.url ?? '', answer: () => void response.end() });
    });
    const front = await frontOf(lane, server.port);
    const ask = async (path: string): Promise<Socket> => {
      const { socket } = await bareClient(front);
      socket.write(`GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`);
      return socket;
    };
    await ask('/1');
    await ask('/2');
    await eventually(() => expect(waiting).toHaveLength(2));
    const leaving = await ask('/3');
    await ask('/4');
    leaving.destroy();
    await eventually(async () => expect(await front.connections()).toBe(3));
    waiting[0]?.answer();
    await eventually(() => expect(waiting.map(({ url }) => url)).toContain('/4'));
    expect(waiting).toHaveLength(3);
  });

  it('never opens more connections than allowed, also when clients leave during their requests', async () => {
    const urls: string[] = [];
    const server = await upstream((request) => void urls.push(request.url ?? ''));
    const front = await frontOf(lane, server.port);
    const ask = async (path: string): Promise<Socket> => {
      const { socket } = await bareClient(front);
      socket.write(`GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`);
      return socket;
    };
    const leaving = [await ask('/1'), await ask('/2')];
    await eventually(() => expect(urls).toHaveLength(2));
    for (const path of ['/3', '/4', '/5', '/6']) await ask(path);
    for (const socket of leaving) socket.destroy();
    await eventually(() => expect(urls).toHaveLength(4));
    await eventually(() => expect(server.sockets.size).toBe(2));
    expect(server.connections).toBe(4);
  });
});
