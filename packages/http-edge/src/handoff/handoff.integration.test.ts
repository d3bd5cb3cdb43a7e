import { fork, type ChildProcess } from 'node:child_process';
import path from 'node:path';
import net from 'node:net';
import { systemClock } from '@drover/service-kit';
import { eventually, FakeClock } from '@drover/testkit';
import { afterEach, describe, expect, it } from 'vitest';
import type { FastLaneExchange } from '../server/fast-lane/fast-lane-exchange.js';
import type { FastLaneRequest } from '../server/fast-lane/fast-lane-request.js';
import type { HttpPort } from '../server/port.js';
import { openPort } from '../server/port.test.fixture.js';
import type { PortLimits } from '../server/port-limits.js';
import { IpcConnectionChannel, type ConnectionChannel } from './connection-channel.js';
import type { IpcEnd } from './connection-messages.js';
import { ConnectionRelay } from './connection-relay.js';

const program = (name: string): string =>
  path.resolve(import.meta.dirname, `../../dist/handoff/${name}-child.test.fixture.js`);
const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()));
});

type Serve = (request: FastLaneRequest, exchange: FastLaneExchange) => boolean;

async function openNamed(
  name: string,
  serve: Serve,
  limits: Partial<PortLimits> = {},
): Promise<{ port: HttpPort; number: number }> {
  const port = await openPort({
    limits,
    clock: systemClock,
    serve: (request, response) => {
      let length = 0;
      request.on('data', (chunk: Buffer) => (length += chunk.length));
      request.on('end', () => response.end(`${name} by Node ${request.url} ${length}`));
    },
    serveFastLane: serve,
  });
  closing.push(() => port.stop());
  return { port, number: Number(new URL(port.url).port) };
}

/** Two ends of an IPC channel in one process: what one sends, the other receives, and the handle is not copied. */
function pairedEnds(): [IpcEnd, IpcEnd] {
  const listeners: ((message: unknown, handle: unknown) => void)[][] = [[], []];
  const end = (own: number): IpcEnd => ({
    send(message, handle: object | undefined, _options, callback) {
      if (handle) countCopy(handle);
      callback(null);
      queueMicrotask(() => listeners[1 - own]?.forEach((listener) => listener(message, handle)));
      return true;
    },
    on: (_event, listener) => listeners[own]?.push(listener),
  });
  return [end(0), end(1)];
}

const copies = new WeakMap<object, number>();

/** Each process would close a copy of its own; here the last one that closes does. */
function countCopy(handle: object): void {
  const before = copies.get(handle);
  copies.set(handle, (before ?? 0) + 1);
  if (before !== undefined) return;
  const prototype = Object.getPrototypeOf(handle) as { close(...given: unknown[]): void };
  const close = (...given: unknown[]): void => {
    const others = copies.get(handle) ?? 0;
    copies.set(handle, others - 1);
    if (others <= 0) prototype.close.apply(handle, given);
  };
  Object.assign(handle, { close });
}

/** A front port that passes connections on which it has answered a request, and a back port that adopts them. */
type Late = (request: FastLaneRequest, exchange: FastLaneExchange) => void;

async function openPair(
  late?: Late,
  less?: Partial<PortLimits>,
): Promise<{ front: HttpPort; back: HttpPort; number: number; relay: ConnectionRelay; channel: ConnectionChannel }> {
  const relay = new ConnectionRelay('front', 'back');
  const [frontEnd, frontRelay] = pairedEnds();
  const [backEnd, backRelay] = pairedEnds();
  const channel: ConnectionChannel = new IpcConnectionChannel(frontEnd, systemClock);
  const { port: front, number } = await openNamed('front', (request, exchange) => {
    if (request.url.startsWith('/api/') && exchange.answeredBefore > 0 && channel.isOpen) {
      const passed = exchange.detach();
      if (passed) channel.pass(passed);
      if (passed) return true;
    }
    return answer('front', request, exchange);
  });
  const { port: back } = await openNamed(
    'back',
    (request, exchange) => {
      if (!late) return answer('back', request, exchange);
      late(request, exchange);
      return true;
    },
    less,
  );
  front.takeBackFrom(channel);
  back.adoptFrom(new IpcConnectionChannel(backEnd, systemClock), (target) => target.startsWith('/api/'));
  relay.attach('front', frontRelay);
  relay.attach('back', backRelay);
  await eventually(() => expect(channel.isOpen).toBe(true));
  return { front, back, number, relay, channel };
}

function answer(name: string, { url, headers, body }: FastLaneRequest, exchange: FastLaneExchange): boolean {
  const forwarded = headers['x-forwarded-for'] === undefined ? '' : ` for ${headers['x-forwarded-for']}`;
  exchange.answer(200, [], `${name} ${url} ${body.length}${forwarded}`);
  return true;
}

class Client {
  readonly socket: net.Socket;
  received = '';
  isClosed = false;

  constructor(port: number) {
    this.socket = net.connect({ port, host: '127.0.0.1' });
    this.socket.setEncoding('latin1').on('data', (text: string) => (this.received += text));
    this.socket.on('error', () => undefined).on('close', () => (this.isClosed = true));
    closing.push(async () => this.socket.destroy());
  }

  get bodies(): string[] {
    return [...this.received.matchAll(/\r\n\r\n((?:front|back)[^\r]*?)(?=HTTP\/|$)/g)].map(([, body = '']) => body);
  }

  async ask(text: string): Promise<string> {
    const before = this.bodies.length;
    this.socket.write(text, 'latin1');
    await eventually(() => {
      if (this.bodies.length === before) throw new Error(`no answer to ${text.slice(0, 40)}`);
    });
    return this.bodies.at(-1) ?? '';
  }
}

const get = (path: string, more = ''): string => `GET ${path} HTTP/1.1\r\nhost: here\r\n${more}\r\n`;

describe('a connection that is passed to another port', () => {
  it('stays for its first request, and is served there from the second on', async () => {
    const client = new Client((await openPair()).number);
    expect(await client.ask(get('/api/a'))).toBe('front /api/a 0');
    expect(await client.ask(get('/api/b'))).toBe('back /api/b 0 for 127.0.0.1');
    expect(await client.ask(get('/api/c'))).toBe('back /api/c 0 for 127.0.0.1');
  });

  it('takes the body of the request and all pipelined requests along, in order', async () => {
    const client = new Client((await openPair()).number);
    await client.ask(get('/api/a'));
    const post = 'POST /api/b HTTP/1.1\r\nhost: here\r\ncontent-length: 5\r\n\r\nhello';
    client.socket.write(post + get('/api/c') + get('/v1/d') + get('/api/e'));
    await eventually(() =>
      expect(client.bodies.slice(1)).toEqual([
        'back /api/b 5 for 127.0.0.1',
        'back /api/c 0 for 127.0.0.1',
        'front /v1/d 0',
        'front /api/e 0',
      ]),
    );
  });

  it('believes no forwarded headers of the client', async () => {
    const client = new Client((await openPair()).number);
    await client.ask(get('/api/a'));
    expect(await client.ask(get('/api/b', 'x-forwarded-for: 1.2.3.4\r\n'))).toBe('back /api/b 0 for 127.0.0.1');
  });

  it('goes back with a request for another path, and stays', async () => {
    const client = new Client((await openPair()).number);
    await client.ask(get('/api/a'));
    await client.ask(get('/api/b'));
    expect(await client.ask(get('/v1/x'))).toBe('front /v1/x 0');
    expect(await client.ask(get('/api/c'))).toBe('front /api/c 0');
  });

  it.each([
    ['in chunks', 'POST /api/x HTTP/1.1\r\nhost: here\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n', 3],
    [
      'that is large',
      `POST /api/x HTTP/1.1\r\nhost: here\r\ncontent-length: 70000\r\n\r\n${'x'.repeat(70_000)}`,
      70_000,
    ],
    ['that closes', get('/api/x', 'connection: close\r\n'), 0],
  ])("goes back to Node's server of the first port with a request %s", async (_, text, length) => {
    const client = new Client((await openPair()).number);
    await client.ask(get('/api/a'));
    expect(await client.ask(get('/api/b'))).toMatch(/^back/);
    expect(await client.ask(text)).toBe(`front by Node /api/x ${length}`);
  });

  it('goes back with a request that has an API key: only the first port knows whether it is about a collection', async () => {
    const client = new Client((await openPair()).number);
    await client.ask(get('/api/a'));
    expect(await client.ask(get('/api/b', 'authorization: Bearer other\r\n'))).toBe('back /api/b 0 for 127.0.0.1');
    expect(await client.ask(get('/api/b', 'Authorization: Bearer drv_0_x\r\n'))).toBe('front /api/b 0');
  });

  it('goes back with a request for a name that the first port has reserved', async () => {
    const { channel, number, relay } = await openPair();
    channel.reserve(['orders', 'größe']);
    const served = async (path: string): Promise<string> => {
      const client = new Client(number);
      await client.ask(get('/api/a'));
      await client.ask(get('/api/b'));
      return client.ask(get(path));
    };
    await eventually(async () => expect(await served('/api/orders/1?x=y')).toBe('front /api/orders/1?x=y 0'));
    expect(await served('/api/gr%C3%B6%C3%9Fe')).toMatch(/^front/);
    expect(await served('/api/orders-archive')).toMatch(/^back/);
    // A process that comes later is told as well.
    const [lateEnd, lateRelay] = pairedEnds();
    const late = new IpcConnectionChannel(lateEnd, systemClock);
    relay.attach('back', lateRelay);
    await eventually(() => expect(late.isReserved('/api/orders')).toBe(true));
  });

  it('goes back unused when the other port closes', async () => {
    const { back, relay, number } = await openPair();
    const idle = new Client(number);
    await idle.ask(get('/api/a'));
    await idle.ask(get('/api/b'));
    await back.drain(new AbortController().signal);
    relay.detach('back');
    expect(idle.isClosed).toBe(false);
    expect(await idle.ask(get('/api/c'))).toBe('front /api/c 0');
  });

  it('gets the answer that is under way when the other port drains, which waits for it', async () => {
    let finish: (() => void) | undefined;
    const { back, number } = await openPair((_request, exchange) => {
      finish = () => exchange.answer(200, [], 'back in the end');
    });
    const client = new Client(number);
    await client.ask(get('/api/a'));
    const asked = client.ask(get('/api/slow'));
    await eventually(() => expect(finish).toBeDefined());
    let isDrained = false;
    const drained = back.drain(new AbortController().signal).then(() => (isDrained = true));
    await new Promise((resolve) => setImmediate(resolve));
    expect(isDrained).toBe(false);
    finish?.();
    expect(await asked).toBe('back in the end');
    await drained;
    await eventually(() => expect(client.isClosed).toBe(true));
  });

  it('is answered by the first port when both drain while it is on its way', async () => {
    const { front, back, number } = await openPair();
    const client = new Client(number);
    await client.ask(get('/api/a'));
    const asked = client.ask(get('/api/b'));
    const drained = back.drain(new AbortController().signal);
    expect(await asked).toMatch(/^(?:front|back) \/api\/b/);
    await Promise.all([drained, front.drain(new AbortController().signal)]);
  });

  it('goes back with its request if the other port has no room for its client', async () => {
    const { number } = await openPair(undefined, { connectionsPerClient: 1 });
    const [first, second] = [new Client(number), new Client(number)];
    for (const client of [first, second]) await client.ask(get('/api/a'));
    expect(await first.ask(get('/api/b'))).toMatch(/^back/);
    expect(await second.ask(get('/api/b'))).toBe('front /api/b 0');
  });

  it('stays where it is while the other process is not there', async () => {
    const { relay, number } = await openPair();
    relay.detach('back');
    const client = new Client(number);
    await client.ask(get('/api/a'));
    await eventually(async () => expect(await client.ask(get('/api/b'))).toBe('front /api/b 0'));
  });

  it('passes with its process: a real child process serves it', async () => {
    const child = fork(program('adopting'));
    closing.push(async () => child.kill('SIGKILL'));
    const relay = new ConnectionRelay('front', 'back');
    const [frontEnd, frontRelay] = pairedEnds();
    const channel = new IpcConnectionChannel(frontEnd, systemClock);
    const { port: front, number } = await openNamed('front', (request, exchange) => {
      const passed = exchange.answeredBefore > 0 && channel.isOpen ? exchange.detach() : undefined;
      if (passed) channel.pass(passed);
      return passed !== undefined || answer('front', request, exchange);
    });
    front.takeBackFrom(channel);
    await new Promise((resolve) => child.once('message', resolve));
    relay.attach('front', frontRelay);
    relay.attach('back', child);
    await eventually(() => expect(channel.isOpen).toBe(true));
    const client = new Client(number);
    await client.ask(get('/api/a'));
    expect(await client.ask(get('/api/b'))).toBe(`back ${child.pid} /api/b`);
    expect(await client.ask(get('/v1/c'))).toBe('front /v1/c 0');
  });
});

/** A relay between two processes, as `drover up` has it. */
class Processes {
  readonly relay = new ConnectionRelay('passing', 'adopting');
  port = 0;

  /** Starts a process and resolves when it takes part. */
  async start(side: 'passing' | 'adopting'): Promise<ChildProcess> {
    const child = fork(program(side), [String(this.port)]);
    closing.push(async () => child.kill('SIGKILL'));
    child.once('close', () => this.relay.detach(side));
    const port = await new Promise<number>((resolve) => child.once('message', (message) => resolve(Number(message))));
    if (side === 'passing') this.port = port;
    this.relay.attach(side, child);
    return child;
  }

  /** Returns a client whose connection is passed with its next request, as long as a connection can be passed. */
  async client(): Promise<Client> {
    const client = new Client(this.port);
    await client.ask(get('/api/first'));
    return client;
  }

  /** Resolves when a connection was passed. */
  async arePassing(): Promise<void> {
    await eventually(async () => (await (await this.client()).ask(get('/api/passed'))).startsWith('back'));
  }
}

describe('a connection that is passed has an end', () => {
  it('if the process that shall take it is frozen, and then killed: the one that passed it serves it', async () => {
    const processes = new Processes();
    await processes.start('passing');
    const back = await processes.start('adopting');
    await processes.arePassing();
    const clients = await Promise.all(Array.from({ length: 12 }, () => processes.client()));
    back.kill('SIGSTOP');
    const asked = clients.map((client) => client.ask(get('/api/b')));
    const first = await Promise.race(asked);
    expect(first).toBe('front /api/b'); // not passed: two are under way
    back.kill('SIGKILL');
    expect(await Promise.all(asked)).toEqual(clients.map(() => 'front /api/b'));
    await processes.start('adopting');
    await processes.arePassing();
    expect(await clients[0]?.ask(get('/api/c'))).toMatch(/ \/api\/c$/);
  });

  it('if the process that has taken it is killed: it is closed', async () => {
    const processes = new Processes();
    await processes.start('passing');
    const back = await processes.start('adopting');
    await processes.arePassing();
    const client = await processes.client();
    expect(await client.ask(get('/api/b'))).toMatch(/^back/);
    client.socket.write(get('/api/never'));
    back.kill('SIGKILL');
    await eventually(() => expect(client.isClosed).toBe(true));
  });

  it('if the process that it goes back to is killed: the next one serves it', async () => {
    const processes = new Processes();
    const front = await processes.start('passing');
    await processes.start('adopting');
    await processes.arePassing();
    const client = await processes.client();
    expect(await client.ask(get('/api/b'))).toMatch(/^back/);
    const ended = new Promise((resolve) => front.once('close', resolve));
    front.kill('SIGSTOP');
    const asked = client.ask(get('/v1/c'));
    front.kill('SIGKILL');
    await ended;
    await processes.start('passing');
    expect(await asked).toBe('front /v1/c');
  });

  it('if the process that it goes back to stays away: it is closed after a while', async () => {
    const clock = new FakeClock();
    const [end, relayEnd] = pairedEnds();
    const channel = new IpcConnectionChannel(end, clock);
    new ConnectionRelay('front', 'back').attach('back', relayEnd);
    let isClosed = false;
    channel.pass({ handle: { close: () => (isClosed = true) }, received: Buffer.alloc(0) });
    await clock.advance(9_000);
    expect(isClosed).toBe(false);
    await clock.advance(1_000);
    expect(isClosed).toBe(true);
  });

  it('if the process that gives it back drains, and ends: the other one has it before', async () => {
    const processes = new Processes();
    await processes.start('passing');
    const back = await processes.start('adopting');
    await processes.arePassing();
    const clients: Client[] = [];
    await eventually(async () => {
      const client = await processes.client();
      if ((await client.ask(get('/api/b'))).startsWith('back')) clients.push(client);
      expect(clients).toHaveLength(10);
    });
    const ended = new Promise((resolve) => back.once('close', resolve));
    back.send('drain');
    await ended;
    expect(await Promise.all(clients.map((client) => client.ask(get('/api/c'))))).toEqual(
      clients.map(() => 'front /api/c'),
    );
  });
});
