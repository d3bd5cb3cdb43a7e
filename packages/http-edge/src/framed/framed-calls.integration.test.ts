import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { systemClock, type Clock } from '@drover/service-kit';
import { eventually, FakeClock } from '@drover/testkit';
import { afterEach, describe, expect, it } from 'vitest';
import type { Answer } from '../client/answer-reader.js';
import { ScriptedServer } from '../client/scripted-server.test.fixture.js';
import type { FastLaneExchange } from '../server/fast-lane/fast-lane-exchange.js';
import type { FastLaneRequest } from '../server/fast-lane/fast-lane-request.js';
import type { HttpPort } from '../server/port.js';
import { openPort, TestClient } from '../server/port.test.fixture.js';
import { FramedCalls } from './framed-calls.js';

interface Served {
  readonly request: FastLaneRequest;
  readonly exchange: FastLaneExchange;
  readonly signal: AbortSignal;
  isComplete: boolean | undefined;
}

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

/** Of calls that only find out whether a connection takes calls. */
const probeTarget = '/framed/probe';

/** A port that serves frames, and remembers what it was asked; `answer` answers at once. */
async function server(answer?: (served: Served) => void): Promise<{ port: HttpPort; served: Served[] }> {
  const served: Served[] = [];
  const port = await openPort({
    clock: systemClock,
    serve: (request, response) => response.end(`node ${request.url} ${request.headers.upgrade}`),
    isFramed: (target) => target.startsWith('/framed'),
    serveFastLane: (request, exchange) => {
      const one: Served = { request, exchange, signal: exchange.signal, isComplete: undefined };
      exchange.onEnd = (isComplete) => (one.isComplete = isComplete);
      if (request.url === probeTarget) return true;
      served.push(one);
      answer?.(one);
      return true;
    },
  });
  closing.push(() => port.stop());
  return { port, served };
}

type Ending = { readonly answer: Answer } | { readonly error: unknown };

class Caller {
  readonly calls: FramedCalls;

  constructor(
    url: string,
    { clock = systemClock, maxBodyBytes = 1_000_000 }: { clock?: Clock; maxBodyBytes?: number } = {},
  ) {
    this.calls = new FramedCalls({
      url: new URL(url),
      target: '/framed',
      maxBodyBytes,
      connectTimeoutMs: 5_000,
      clock,
    });
    closing.push(() => this.calls.close());
  }

  /** Opens the connection, and waits until it takes calls. */
  async open(): Promise<this> {
    await eventually(() => {
      this.calls.open();
      const id = this.#send('', probeTarget, () => undefined);
      if (id !== 0) this.calls.connection?.cancel(id);
      return id !== 0;
    });
    return this;
  }

  /** Undefined: the connection does not take the call. */
  send(
    body: string | Buffer,
    target = '/framed/call',
  ): { readonly id: number; readonly end: Promise<Ending> } | undefined {
    let done: (end: Ending) => void = () => undefined;
    const end = new Promise<Ending>((resolve) => (done = resolve));
    const id = this.#send(body, target, done);
    return id === 0 ? undefined : { id, end };
  }

  /** Undefined: the connection does not take the call. */
  async end(body: string | Buffer, target?: string): Promise<Ending | undefined> {
    return await this.send(body, target)?.end;
  }

  async text(body: string | Buffer): Promise<string | undefined> {
    const end = await this.end(body);
    return end && 'answer' in end ? end.answer.body?.toString() : undefined;
  }

  #send(body: string | Buffer, target: string, done: (end: Ending) => void): number {
    const request = { head: `POST ${target} HTTP/1.1\r\nhost: localhost\r\n`, body };
    const receiver = {
      answered: (answer: Answer): void => done({ answer }),
      failed: (error: unknown): void => done({ error }),
    };
    return this.calls.connection?.send(request, receiver) ?? 0;
  }
}

const echo = ({ request, exchange }: Served): void =>
  exchange.answer(200, ['x-was', request.url, 'content-type', 'text/plain'], request.body);
const latestOf = (served: readonly Served[], count: number): readonly Served[] => served.slice(-count);

/** Passes bytes on in small pieces of changing size, in both directions. */
async function splitter(to: string): Promise<string> {
  const sockets = new Set<Socket>();
  let size = 1;
  const pass = (from: Socket, into: Socket): void =>
    void from.on('data', (bytes: Buffer) => {
      for (let at = 0; at < bytes.length; ) {
        size = (size * 7 + 3) % 61;
        into.write(bytes.subarray(at, at + size + 1));
        at += size + 1;
      }
    });
  const relay = createServer((socket) => {
    const behind = connect(Number(new URL(to).port), '127.0.0.1').setNoDelay(true);
    for (const one of [socket.setNoDelay(true), behind]) sockets.add(one.on('error', () => undefined));
    pass(socket, behind);
    pass(behind, socket);
    socket.on('close', () => behind.destroy());
    behind.on('close', () => socket.destroy());
  });
  await new Promise<void>((resolve) => relay.listen(0, '127.0.0.1', resolve));
  closing.push(() => {
    for (const socket of sockets) socket.destroy();
    return new Promise((resolve) => relay.close(resolve));
  });
  return `http://127.0.0.1:${(relay.address() as AddressInfo).port}`; // it listens on TCP
}

describe('calls in frames', () => {
  it('share one connection, and are answered in any order', async () => {
    const { port, served } = await server();
    const caller = await new Caller(port.url).open();
    const before = served.length;
    const ends = Array.from({ length: 100 }, (_, index) => caller.end(`{"n": ${index}}`));
    await eventually(() => served.length === before + 100);
    for (const one of latestOf(served, 100).toReversed()) echo(one);
    const answers = (await Promise.all(ends)).map((end) => (end && 'answer' in end ? end.answer : undefined));
    expect(answers.map((answer) => answer?.body?.toString())).toEqual(
      Array.from({ length: 100 }, (_, index) => `{"n": ${index}}`),
    );
    expect(answers[0]).toMatchObject({ status: 200, headers: expect.arrayContaining(['x-was', '/framed/call']) });
    expect(latestOf(served, 100).every(({ isComplete }) => isComplete)).toBe(true);
  });

  it.each([
    ['directly', async (url: string) => url],
    ['through a connection that splits bytes anywhere', splitter],
  ])('keep every byte of requests and answers, %s', async (_how, way) => {
    const { port } = await server(echo);
    const caller = await new Caller(await way(port.url)).open();
    const bodies = [
      '',
      'ascii',
      'ä€😀',
      'x'.repeat(65_000),
      Buffer.from([0, 255, 13, 10, 13, 10]),
      Buffer.alloc(40_000, 7),
    ];
    const ends = await Promise.all([...bodies, ...bodies].map((body) => caller.end(body)));
    for (const [index, end] of ends.entries()) {
      const body = end && 'answer' in end ? (end.answer.body ?? Buffer.alloc(0)) : undefined;
      expect(body?.equals(Buffer.from(bodies[index % bodies.length] ?? ''))).toBe(true);
    }
  });

  it('have answers without a body, and headers in Latin-1', async () => {
    const { port } = await server(({ exchange }) => exchange.answer(204, ['x-name', 'Jörg'], undefined));
    const end = await (await new Caller(port.url).open()).send('x')?.end;
    expect(end).toMatchObject({ answer: { status: 204, headers: ['x-name', 'Jörg'], body: undefined } });
  });

  it('that are cancelled abort their own signal only, and the late answer goes nowhere', async () => {
    const { port, served } = await server();
    const caller = await new Caller(port.url).open();
    const first = caller.send('first');
    const second = caller.send('second');
    const start = served.length;
    await eventually(() => served.length === start + 2);
    const [one, other] = latestOf(served, 2);
    if (!one || !other || !first || !second) return expect.unreachable();
    let hasEnded = false;
    void first.end.then(() => (hasEnded = true));
    caller.calls.connection?.cancel(first.id);
    await eventually(() => one.signal.aborted);
    expect(one).toMatchObject({ isComplete: false });
    expect(one.exchange.signal.aborted).toBe(true);
    expect(other.signal.aborted).toBe(false);
    echo(one);
    echo(other);
    expect(await second.end).toMatchObject({ answer: { status: 200 } });
    expect(hasEnded).toBe(false);
    const third = caller.send('third');
    await eventually(() => served.length === start + 3);
    expect(served.at(-1)?.signal.aborted).toBe(false);
    const last = served.at(-1);
    if (last) echo(last);
    expect(await third?.end).toMatchObject({ answer: { status: 200 } });
  });

  it('fail one by one if an answer breaks off, cannot be sent, or is too large', async () => {
    const { port } = await server((one) => {
      const kind = one.request.body.toString();
      if (kind === 'breaks') one.exchange.destroy();
      else if (kind === 'streams')
        one.exchange.begin({ status: 200, text: 'HTTP/1.1 200 OK\r\n', hasDate: false }, true);
      else if (kind === 'large') one.exchange.answer(200, [], 'x'.repeat(2_000_000));
      else if (kind === 'larger') one.exchange.answer(200, [], 'x'.repeat(1_000_001));
      else echo(one);
    });
    const caller = await new Caller(port.url).open();
    const kinds = ['breaks', 'streams', 'large', 'larger', 'good'];
    const ends = await Promise.all(kinds.map((kind) => caller.end(kind)));
    expect(ends).toMatchObject([
      { error: { code: 'CONNECTION_LOST' } },
      { error: { code: 'CONNECTION_LOST' } },
      { error: { code: 'ANSWER_BODY_TOO_LARGE' } },
      { error: { code: 'ANSWER_BODY_TOO_LARGE' } },
      { answer: { status: 200 } },
    ]);
    expect(await caller.end('x', '/other')).toMatchObject({ error: { code: 'CONNECTION_LOST' } });
    expect(await caller.text('after')).toBe('after');
  });

  it('fail together when the connection is lost, and the next connection serves again', async () => {
    const { port, served } = await server((one) => (one.request.body.toString() === 'hold' ? undefined : echo(one)));
    const caller = await new Caller(port.url).open();
    const ends = [caller.end('hold'), caller.end('hold')];
    const held = () => served.filter(({ request }) => request.body.toString() === 'hold');
    await eventually(() => held().length === 2);
    await caller.calls.connection?.destroy();
    expect(await Promise.all(ends)).toMatchObject([
      { error: { code: 'CONNECTION_LOST' } },
      { error: { code: 'CONNECTION_LOST' } },
    ]);
    await eventually(() => held().every(({ signal }) => signal.aborted));
    expect(caller.send('none')).toBeUndefined();
    await caller.open();
    expect(await caller.text('again')).toBe('again');
  });

  it('are finished by a drain, which takes no more', async () => {
    const { port, served } = await server(({ request, exchange }) =>
      request.body.toString() === 'hold' ? undefined : exchange.answer(503, [], 'closing'),
    );
    const caller = await new Caller(port.url).open();
    const held = caller.send('hold');
    const silent = await TestClient.open(port.url);
    silent.send('GET /framed HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: drover-calls\r\n\r\n');
    await eventually(
      () => served.some(({ request }) => request.body.toString() === 'hold') && silent.statuses[0] === 101,
    );
    let isDrained = false;
    const drained = port.drain(new AbortController().signal).then(() => (isDrained = true));
    await eventually(() => caller.send('late') === undefined);
    expect(isDrained).toBe(false);
    for (const one of served) if (one.request.body.toString() === 'hold') echo(one);
    expect(await held?.end).toMatchObject({ answer: { status: 200 } });
    await drained; // without the client that never closes its connection
    await eventually(() => silent.isClosed);
  });

  it('are cut at the deadline of a drain', async () => {
    const { port, served } = await server();
    const caller = await new Caller(port.url).open();
    const held = caller.send('hold');
    await eventually(() => served.some(({ request }) => request.body.toString() === 'hold'));
    await port.drain(AbortSignal.abort());
    expect(await held?.end).toMatchObject({ error: { code: 'CONNECTION_LOST' } });
  });

  it('are finished after a client retires its connection', async () => {
    const { port, served } = await server();
    const caller = await new Caller(port.url).open();
    const held = caller.send('hold');
    await eventually(() => served.some(({ request }) => request.body.toString() === 'hold'));
    caller.calls.retire();
    caller.calls.open();
    expect(caller.send('late')).toBeUndefined();
    for (const one of served) echo(one);
    expect(await held?.end).toMatchObject({ answer: { status: 200 } });
  });

  it('are bounded in size and number', async () => {
    const { port } = await server(() => undefined);
    const caller = await new Caller(port.url).open();
    expect(caller.send('x'.repeat(65_536))).toBeUndefined();
    expect(caller.send('€'.repeat(30_000))).toBeUndefined();
    for (let count = 0; count < 1_024; count += 1) expect(caller.send('x')).toBeDefined();
    expect(caller.send('x')).toBeUndefined();
  });

  it.each([
    ['a frame that is too large', '\x01\x00\x00\x00\x00\x00\x00\x01'],
    ['a call with the id of no call', '\x00\x00\x00\x01\x00\x00\x00\x00x'],
  ])('end with %s', async (_what, bytes) => {
    const { port } = await server(echo);
    const client = await TestClient.open(port.url);
    client.send('GET / HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: drover-calls\r\n\r\n');
    client.send(bytes);
    await eventually(() => client.isClosed);
    expect(client.statuses).toEqual([101]);
  });
});

describe('a server without frames', () => {
  it('is asked again only after a while', async () => {
    const clock = new FakeClock();
    const plain = await ScriptedServer.http((_request, response) => response.end('hello'));
    closing.push(() => plain.close());
    const caller = new Caller(plain.url.origin, { clock });
    caller.calls.open();
    await eventually(() => caller.calls.connection === undefined);
    caller.calls.open();
    expect(caller.calls.connection).toBeUndefined();
    expect(plain.connections).toBe(1);
    await clock.advance(10_000);
    caller.calls.open();
    await eventually(() => plain.connections === 2);
  });

  it('that does not answer is given up', async () => {
    const clock = new FakeClock();
    const silent = await ScriptedServer.meeting(() => undefined);
    closing.push(() => silent.close());
    const caller = new Caller(silent.url.origin, { clock });
    caller.calls.open();
    await eventually(() => silent.connections === 1);
    expect(caller.send('x')).toBeUndefined();
    await clock.advance(5_000);
    await eventually(() => caller.calls.connection === undefined);
    expect(silent.connections).toBe(1);
  });

  it('answers requests to switch to any other protocol as it did before', async () => {
    const { port } = await server(echo);
    const client = await TestClient.open(port.url);
    client.send('GET /framed HTTP/1.1\r\nhost: x\r\nconnection: upgrade, HTTP2-Settings\r\nupgrade: h2c\r\n\r\n');
    await eventually(() => client.received.includes('node /framed h2c'));
    expect(client.statuses).toEqual([200]);
  });
});
