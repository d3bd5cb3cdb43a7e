import http from 'node:http';
import net, { type AddressInfo } from 'node:net';
import { systemClock, type Clock } from '@drover/service-kit';
import { eventually, FakeClock } from '@drover/testkit';
import { afterEach, describe, expect, it } from 'vitest';
import { FastLane, type FastLaneOptions } from './fast-lane.js';
import type { FastLaneExchange } from './fast-lane-exchange.js';
import type { FastLaneRequest } from './fast-lane-request.js';

const limits = { headerBytes: 16_384, headers: 100, addressBytes: 8_192, requestBytes: 65_536 };

/** Node's server, which says what it was sent, with a lane in front of it. */
class Stage {
  readonly server: http.Server;
  readonly lane: FastLane;
  readonly sockets: net.Socket[] = [];
  readonly handedOver: net.Socket[] = [];

  constructor(serve: FastLaneOptions['serve'], clock: Clock = systemClock) {
    this.server = http.createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const body = Buffer.concat(chunks).toString();
        response.end(`node ${request.method} ${request.url} ${body.length > 100 ? body.length : body}`);
      });
    });
    this.server.on('connection', (socket) => this.handedOver.push(socket)); // before the lane: hears of what it does not keep
    this.lane = new FastLane(this.server, {
      limits: { ...limits, keepAliveMs: 5_000, checkEveryMs: 1_000 },
      clock,
      serve,
    });
  }

  async open(): Promise<this> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    return this;
  }

  async connect(): Promise<Client> {
    const { port } = this.server.address() as AddressInfo; // it listens on TCP
    const socket = net.connect({ port, host: '127.0.0.1' });
    await new Promise((resolve) => socket.once('connect', resolve));
    this.sockets.push(socket);
    return new Client(socket);
  }

  async close(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    this.lane.cut();
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
    this.lane.close();
  }
}

class Client {
  readonly socket: net.Socket;
  received = '';
  isClosed = false;

  constructor(socket: net.Socket) {
    this.socket = socket;
    socket.setEncoding('latin1').on('data', (text: string) => (this.received += text));
    socket.on('error', () => undefined).on('close', () => (this.isClosed = true));
  }

  /** The bodies of what was answered so far. */
  get bodies(): string[] {
    const bodies: string[] = [];
    for (let rest = this.received; ; ) {
      const [, head = '', behind = ''] = /^(HTTP.*?)\r\n\r\n(.*)$/s.exec(rest) ?? [];
      const length = Number(/^content-length: (\d+)$/im.exec(head)?.[1] ?? 0);
      if (head === '' || behind.length < length) return bodies;
      bodies.push(behind.slice(0, length));
      rest = behind.slice(length);
    }
  }

  send(text: string): void {
    this.socket.write(text, 'latin1');
  }
}

/** The bodies of its answers are these, sooner or later. */
function answered(client: Client, ...bodies: readonly string[]): Promise<void> {
  return eventually(() => {
    expect(client.bodies).toEqual(bodies);
  });
}

let stage: Stage | undefined;
afterEach(() => stage?.close());

const post = (path: string, body = '', ...more: readonly string[]): string =>
  [`POST ${path} HTTP/1.1`, 'host: x', `content-length: ${Buffer.byteLength(body)}`, ...more, '', body].join('\r\n');

const answerAtOnce = ({ method, url, body }: FastLaneRequest, exchange: FastLaneExchange): boolean => {
  exchange.answer(200, ['x-lane', 'plain'], `plain ${method} ${url} ${body.toString()}`);
  return true;
};

/** Keeps what comes, to be answered later. */
function waitingRoom(): { readonly waiting: FastLaneExchange[]; readonly serve: FastLaneOptions['serve'] } {
  const waiting: FastLaneExchange[] = [];
  return { waiting, serve: (_, exchange) => waiting.push(exchange) > 0 };
}

describe('plain requests', () => {
  it('are served one after the other on one connection, with what every answer has', async () => {
    stage = await new Stage(answerAtOnce, new FakeClock()).open();
    const client = await stage.connect();
    client.send(post('/a', 'one'));
    await answered(client, 'plain POST /a one');
    client.send('GET /b HTTP/1.1\r\nhost: x\r\n\r\n');
    await answered(client, 'plain POST /a one', 'plain GET /b ');
    expect(client.received.split('\r\n').slice(0, 6)).toEqual([
      'HTTP/1.1 200 OK',
      'connection: keep-alive',
      'keep-alive: timeout=5',
      'x-lane: plain',
      'date: Tue, 01 Jan 2030 00:00:00 GMT',
      'content-length: 17',
    ]);
  });

  it('are answered in their order when many come at once, and served one at a time', async () => {
    const { waiting, serve } = waitingRoom();
    stage = await new Stage(serve).open();
    const client = await stage.connect();
    client.send(post('/1') + post('/2') + post('/3'));
    for (const number of [1, 2, 3]) {
      await eventually(() => expect(waiting).toHaveLength(number));
      waiting[number - 1]?.answer(200, [], `answer ${number}`);
    }
    await answered(client, 'answer 1', 'answer 2', 'answer 3');
  });

  it('may come in pieces, cut anywhere', async () => {
    stage = await new Stage(answerAtOnce).open();
    const text = post('/a', 'body');
    for (let cut = 1; cut < text.length; cut += 7) {
      const client = await stage.connect();
      client.socket.setNoDelay(true);
      client.send(text.slice(0, cut));
      await new Promise((resolve) => setImmediate(resolve));
      client.send(text.slice(cut));
      await eventually(() => expect(client.bodies).toEqual(['plain POST /a body']));
    }
  });

  it('get one answer each, however often somebody answers', async () => {
    const { waiting, serve } = waitingRoom();
    stage = await new Stage(serve).open();
    const client = await stage.connect();
    client.send(post('/1') + post('/2'));
    await eventually(() => expect(waiting).toHaveLength(1));
    waiting[0]?.answer(200, [], 'first');
    await eventually(() => expect(waiting).toHaveLength(2));
    waiting[0]?.answer(200, [], 'once more');
    waiting[0]?.handOver();
    waiting[1]?.answer(200, [], 'second');
    await answered(client, 'first', 'second');
  });

  it('get bytes as bytes, and a head that is not ASCII as latin1', async () => {
    stage = await new Stage((_, exchange) => {
      exchange.answer(200, ['x-a', 'ä'], Buffer.from([0xff, 0x00]));
      return true;
    }).open();
    const client = await stage.connect();
    client.send(post('/'));
    await answered(client, '\u00ff\u0000');
    expect(client.received).toContain('x-a: ä\r\n');
  });

  it('are not answered with a header that would end early; the connection goes on', async () => {
    const errors: unknown[] = [];
    stage = await new Stage((_, exchange) => {
      try {
        exchange.answer(200, ['x-a', '1\r\nx-evil: 1'], 'no');
      } catch (error) {
        errors.push(error);
        exchange.answer(500, [], 'refused');
      }
      return true;
    }).open();
    const client = await stage.connect();
    client.send(post('/'));
    await answered(client, 'refused');
    expect(errors).toHaveLength(1);
  });
});

describe('what is not plain', () => {
  const whole = 'GET /n HTTP/1.1\r\nhost: x\r\nx-a: ä\r\n\r\n';
  it.each([
    ['another method', 'PROPFIND /n HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\nhi', 'node PROPFIND /n hi'],
    [
      'chunks',
      'POST /n HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n',
      'node POST /n hi',
    ],
    ['a letter of another alphabet', whole, 'node GET /n '],
    ['a body too long for one piece', post('/n', 'a'.repeat(300_000)), 'node POST /n 300000'],
  ])('goes to the server, as if there were no lane: %s', async (_, text, answer) => {
    stage = await new Stage(answerAtOnce).open();
    const alone = await stage.connect();
    alone.send(text);
    await answered(alone, answer);
    const later = await stage.connect();
    later.send(post('/p', 'x') + text + post('/q', 'y'));
    await answered(later, 'plain POST /p x', answer, 'node POST /q y');
    const cut = await stage.connect();
    cut.socket.setNoDelay(true);
    for (const half of [text.slice(0, 20), text.slice(20, 45), text.slice(45)]) {
      cut.send(half);
      await new Promise((resolve) => setImmediate(resolve));
    }
    await eventually(() => expect(cut.bodies).toEqual([answer]));
  });

  it('is asked to go on by the server, too', async () => {
    stage = await new Stage(answerAtOnce).open();
    const client = await stage.connect();
    client.send('POST /n HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: 2\r\n\r\n');
    await eventually(() => expect(client.received).toContain('100 Continue'));
    client.send('hi');
    await eventually(() => expect(client.received).toContain('node POST /n hi'));
  });

  it('is also what nobody wants here, at once or later, with everything behind it', async () => {
    const { waiting, serve } = waitingRoom();
    stage = await new Stage((request, exchange) => request.url !== '/no' && serve(request, exchange)).open();
    const client = await stage.connect();
    client.send(post('/later', 'a') + post('/no', 'b') + post('/c', 'c'));
    await eventually(() => expect(waiting).toHaveLength(1));
    waiting[0]?.handOver();
    waiting[0]?.answer(200, [], 'too late');
    await answered(client, 'node POST /later a', 'node POST /no b', 'node POST /c c');
    const other = await stage.connect();
    other.send(post('/no', 'b'));
    await answered(other, 'node POST /no b');
  });

  it('is also a request of many small pieces, whose sender may be up to something', async () => {
    stage = await new Stage(answerAtOnce).open();
    const client = await stage.connect();
    client.socket.setNoDelay(true);
    const text = post('/n', 'a'.repeat(60));
    for (const byte of text) {
      client.send(byte);
      await new Promise((resolve) => setImmediate(resolve));
    }
    await eventually(() => expect(client.bodies[0]).toMatch(/^(node|plain) POST \/n a{60}$/));
  });
});

describe('a client', () => {
  it('that leaves is noticed, and what is said to it then goes nowhere', async () => {
    const { waiting, serve } = waitingRoom();
    stage = await new Stage(serve).open();
    const left: number[] = [];
    for (const end of ['destroy', 'end'] as const) {
      const client = await stage.connect();
      client.send(post('/'));
      await eventually(() => waiting.length > left.length);
      const exchange = waiting.at(-1);
      if (!exchange) return expect.unreachable();
      exchange.onLeft = () => left.push(1);
      client.socket[end]();
      const before = left.length;
      await eventually(() => left.length > before);
      expect(exchange.isOver).toBe(true);
      exchange.answer(200, [], 'nobody hears it');
      exchange.handOver();
    }
    expect(left).toHaveLength(2);
  });

  it('that does not read its answers gets no more of them, and everything once it does', async () => {
    let served = 0;
    const large = 'x'.repeat(4_000_000);
    stage = await new Stage((_, exchange) => {
      served += 1;
      exchange.answer(200, [], large);
      return true;
    }).open();
    const client = await stage.connect();
    client.socket.pause();
    client.send(post('/').repeat(10));
    await eventually(() => served > 0);
    for (let turn = 0; turn < 50; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    expect(served).toBeLessThan(10);
    client.socket.resume();
    await eventually(() => expect(client.bodies).toHaveLength(10));
  });

  it('that sends on and on without waiting for answers has to wait', async () => {
    const { waiting, serve } = waitingRoom();
    stage = await new Stage(serve).open();
    const accepted = new Promise<net.Socket>((resolve) => stage?.server.once('connection', resolve));
    const client = await stage.connect();
    client.send(post('/').repeat(500_000));
    const socket = await accepted;
    await eventually(() => socket.isPaused());
    expect(waiting).toHaveLength(1);
    expect(socket.bytesRead).toBeLessThan(1_000_000);
    waiting[0]?.answer(200, [], 'bye', true);
    await eventually(() => client.isClosed);
  });

  it('that rests is let go, and one that is slow or silent is the server’s', async () => {
    const clock = new FakeClock();
    stage = await new Stage(answerAtOnce, clock).open();
    const resting = await stage.connect();
    resting.send(post('/a'));
    await answered(resting, 'plain POST /a ');
    const silent = await stage.connect();
    const slow = await stage.connect();
    slow.send('POST /slow HTTP/1.1\r\nhost: x\r\ncontent-le');
    const { handedOver } = stage;
    await eventually(async () => {
      await clock.advance(1_000);
      expect(handedOver).toHaveLength(2);
    });
    slow.send('ngth: 1\r\n\r\nx');
    silent.send(post('/silent'));
    await answered(slow, 'node POST /slow x');
    await answered(silent, 'node POST /silent ');
    await eventually(async () => {
      await clock.advance(1_000);
      return resting.isClosed;
    });
    expect(clock.pending).toBeLessThanOrEqual(1);
  });
});

describe('the end', () => {
  it('comes at once for connections without a request, and with the answer for the others', async () => {
    const { waiting, serve } = waitingRoom();
    stage = await new Stage(serve).open();
    const busy = await stage.connect();
    const idle = await stage.connect();
    const half = await stage.connect();
    busy.send(post('/'));
    half.send('POST / HT');
    await eventually(() => expect(waiting).toHaveLength(1));
    stage.lane.close();
    await eventually(() => idle.isClosed && half.isClosed);
    expect(busy.isClosed).toBe(false);
    waiting[0]?.answer(200, [], 'bye');
    await eventually(() => busy.isClosed);
    expect(busy.bodies).toEqual(['bye']);
    expect(busy.received).toContain('connection: close\r\n');
  });

  it('is the end: requests behind the last answer are not served', async () => {
    const urls: string[] = [];
    stage = await new Stage(({ url }, exchange) => {
      urls.push(url);
      exchange.answer(200, [], url, url === '/2');
      return true;
    }).open();
    const client = await stage.connect();
    client.send(post('/1') + post('/2') + post('/3'));
    await eventually(() => client.isClosed);
    expect([urls, client.bodies]).toEqual([
      ['/1', '/2'],
      ['/1', '/2'],
    ]);
  });

  it('can be had at any time', async () => {
    const { waiting, serve } = waitingRoom();
    stage = await new Stage(serve).open();
    const busy = await stage.connect();
    busy.send(post('/'));
    await eventually(() => expect(waiting).toHaveLength(1));
    stage.lane.cut();
    await eventually(() => busy.isClosed);
    expect(busy.received).toBe('');
  });
});
