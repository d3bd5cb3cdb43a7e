import { connect, type Socket } from 'node:net';
import { systemClock, type Clock } from '@drover/service-kit';
import { eventually, FakeClock } from '@drover/testkit';
import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import type { Answer } from './answer-reader.js';
import { ClientConnection, type ClientConnectionOptions } from './client-connection.js';
import { requestHead, type ClientRequest } from './client-request.js';
import { ScriptedServer } from './scripted-server.test.fixture.js';

const good = 'HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\n1';

const endings: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0).toReversed()) await end();
});

async function running(making: Promise<ScriptedServer>): Promise<ScriptedServer> {
  const server = await making;
  endings.push(() => server.close());
  return server;
}

interface Trial {
  readonly connection: ClientConnection;
  /** How often it was said that it ended while idle. */
  idleEnds: number;
  call(body?: string | Buffer): Promise<Answer>;
}

function trial(server: ScriptedServer, over: Partial<ClientConnectionOptions> = {}): Trial {
  const head = requestHead('POST', server.url);
  const connection = new ClientConnection((onread) => connect({ port: server.port, host: '127.0.0.1', onread }), {
    clock: systemClock,
    connectTimeoutMs: 5_000,
    maxHeadBytes: 32_768,
    maxBodyBytes: 16_777_216,
    onIdleEnd: () => (made.idleEnds += 1),
    ...over,
  });
  const made: Trial = {
    connection,
    idleEnds: 0,
    call: (body = 'x') => callOn(connection, { head, body }),
  };
  endings.push(() => connection.destroy());
  return made;
}

function callOn(connection: ClientConnection, request: ClientRequest): Promise<Answer> {
  return new Promise((resolve, reject) => connection.send(request, { answered: resolve, failed: reject }));
}

/** Undefined: it succeeded. */
function faultOf(call: Promise<Answer>): Promise<string | undefined> {
  return call.then(
    () => undefined,
    (error: { code?: string }) => error.code,
  );
}

const textOf = ({ body }: Answer): string => body?.toString() ?? '';

describe('a connection', () => {
  it('fails a call that is sent at the moment in which the server resets the connection', async () => {
    const server = await running(ScriptedServer.raw((socket) => socket.write(good)));
    for (const body of ['x', 'x'.repeat(100_000)]) {
      const made = trial(server);
      await made.call();
      for (const socket of server.sockets) socket.resetAndDestroy();
      // Its write meets the reset before the end of the connection was read.
      expect(await faultOf(made.call(body))).toBeOneOf(['EPIPE', 'ECONNRESET', 'CONNECTION_LOST']);
    }
  });

  it('carries one call after the other', async () => {
    const server = await running(
      ScriptedServer.http((request, response) => {
        response.setHeader('x-seen', `${request.method} ${request.url} ${request.headers.host}`);
        response.setHeader('x-length', request.headers['content-length'] ?? 'none');
        request.pipe(response);
      }),
    );
    const made = trial(server);
    const { connection } = made;
    expect(connection.isConnected).toBe(false);
    for (const body of [
      '',
      'ascii',
      'ä€😀',
      '\u00ff',
      Buffer.from([0, 255, 10]),
      Buffer.alloc(0),
      'x€'.repeat(1_000_000),
    ]) {
      const answer = await made.call(body);
      const sent = typeof body === 'string' ? Buffer.from(body) : body;
      expect((answer.body ?? Buffer.alloc(0)).equals(sent)).toBe(true);
      expect(answer.headers[answer.headers.indexOf('x-length') + 1]).toBe(String(sent.length));
      expect(answer.headers[1]).toBe(`POST /call?a=1 127.0.0.1:${server.port}`);
      expect(connection.keepMs).toBe(4_000);
    }
    expect([server.connections, connection.isConnected]).toEqual([1, true]);
  });

  it('carries no second call beside the first', async () => {
    const server = await running(ScriptedServer.raw((socket) => socket.write(good)));
    const made = trial(server);
    const first = made.call();
    await expect(made.call()).rejects.toThrow('one call at a time');
    expect(textOf(await first)).toBe('1');
  });

  it('takes what comes by itself before the next call for no answer', async () => {
    const server = await running(ScriptedServer.raw((socket) => socket.write(good)));
    const made = trial(server);
    expect(textOf(await made.call())).toBe('1');
    for (const socket of server.sockets) socket.write(good.replace(/1$/, '9'));
    await eventually(() => made.idleEnds === 1 && server.sockets.size === 0);
    await expect(made.call()).rejects.toMatchObject({ code: 'CONNECTION_LOST' });
    expect(made.idleEnds).toBe(1);
  });

  it.each([
    ['closes', (socket: Socket) => socket.end()],
    ['is reset', (socket: Socket) => socket.resetAndDestroy()],
  ])('says so when it %s while nobody uses it', async (_what, end) => {
    const server = await running(ScriptedServer.raw((socket) => socket.write(good)));
    const made = trial(server);
    await made.call();
    for (const socket of server.sockets) end(socket);
    await eventually(() => made.idleEnds === 1);
    await expect(made.call()).rejects.toMatchObject({ code: 'CONNECTION_LOST' });
  });

  it('that the other side ends behind its answer is not used again', async () => {
    const server = await running(ScriptedServer.raw((socket) => socket.end(good)));
    const made = trial(server);
    expect(textOf(await made.call())).toBe('1');
    await eventually(() => made.idleEnds === 1 && server.sockets.size === 0);
  });

  it.each([
    ['says that it closes', good.replace('OK', 'OK\r\nconnection: close')],
    ['is followed by more', good + good],
  ])('ends itself after an answer that %s', async (_what, text) => {
    const server = await running(ScriptedServer.raw((socket) => socket.write(text)));
    const made = trial(server);
    expect(textOf(await made.call())).toBe('1');
    expect(made.connection.keepMs).toBe(0);
    await expect(made.call()).rejects.toMatchObject({ code: 'CONNECTION_LOST' });
    await eventually(() => server.sockets.size === 0);
    // Its call was told by `keepMs`.
    expect(made.idleEnds).toBe(0);
  });

  it('may be what ends an answer', async () => {
    const server = await running(ScriptedServer.raw((socket) => socket.end('HTTP/1.1 200 OK\r\n\r\nbye')));
    const made = trial(server);
    expect(textOf(await made.call())).toBe('bye');
    expect(made.connection.keepMs).toBe(0);
  });
});

describe('an answer', () => {
  it('may come byte by byte, behind hints', async () => {
    const server = await running(
      ScriptedServer.raw((socket) => {
        const bytes = `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hint\r\na: b\r\n\r\n${good}`.split('');
        const drip = (): void => {
          const byte = bytes.shift();
          if (byte !== undefined) socket.write(byte, () => setImmediate(drip));
        };
        drip();
      }),
    );
    const made = trial(server);
    for (let round = 0; round < 3; round += 1)
      expect(await made.call()).toMatchObject({ status: 200, headers: ['content-length', '1'] });
    expect(server.connections).toBe(1);
  });

  it('may come before the request is out, and is the last one then', async () => {
    const server = await running(ScriptedServer.meeting((socket) => socket.write(good.replace('200', '413'))));
    const made = trial(server);
    expect(await made.call('x'.repeat(50_000_000))).toMatchObject({ status: 413 });
    expect(made.connection.keepMs).toBe(0);
    for (const socket of server.sockets) socket.resume();
    await eventually(() => server.sockets.size === 0);
  });

  it.each([
    ['nonsense', 'nonsense', 'ANSWER_NOT_HTTP', undefined],
    ['too much', 'HTTP/1.1 500 No\r\ncontent-length: 99999999\r\n\r\n', 'ANSWER_BODY_TOO_LARGE', 500],
    ['two lengths', good.replace('OK', 'OK\r\ncontent-length: 2'), 'ANSWER_AMBIGUOUS', undefined],
  ])('that is %s ends the connection', async (_what, text, code, status) => {
    const server = await running(ScriptedServer.raw((socket) => socket.write(text)));
    const made = trial(server);
    await expect(made.call()).rejects.toMatchObject({ code });
    expect(made.connection.begin?.status).toBe(status);
    await eventually(() => server.sockets.size === 0);
    expect(made.idleEnds).toBe(0);
  });

  it.each([
    ['before it', '', undefined],
    ['in its head', 'HTTP/1.1 200 OK\r\na', undefined],
    ['in its body', good.replace('1\r\n', '9\r\n'), 200],
    ['in its chunks', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n9\r\n1', 200],
  ])('is none when the connection breaks %s', async (_what, text, status) => {
    for (const end of [(socket: Socket) => socket.end(), (socket: Socket) => socket.resetAndDestroy()]) {
      const server = await running(
        ScriptedServer.raw((socket) => {
          if (text === '') end(socket);
          else socket.write(text);
        }),
      );
      const made = trial(server);
      const fault = faultOf(made.call());
      if (status !== undefined) await eventually(() => made.connection.begin?.status === status);
      if (text !== '') await eventually(() => server.sockets.size === 1);
      for (const socket of server.sockets) end(socket);
      expect(await fault).toMatch(/^(?:CONNECTION_LOST|ECONNRESET)$/);
      expect(made.connection.begin?.status).toBe(status);
    }
  });

  it('is read as Node writes it, whatever it is', async () => {
    let next: { status: number; headers: [string, string][]; pieces: string[]; isCounted: boolean } | undefined;
    const server = await running(
      ScriptedServer.http((request, response) => {
        request.resume().on('end', () => {
          const { status = 500, headers = [], pieces = [], isCounted = false } = next ?? {};
          response.sendDate = false;
          if (isCounted) response.setHeader('content-length', Buffer.byteLength(pieces.join('')));
          for (const [name, value] of headers) response.setHeader(name, value);
          response.writeHead(status);
          // As bytes: Node writes headers in the encoding of a text that follows them.
          for (const piece of pieces) response.write(Buffer.from(piece));
          response.end();
        });
      }),
    );
    const value = fc.string({ unit: fc.integer({ min: 0x21, max: 0xff }).map((code) => String.fromCharCode(code)) });
    const script = fc.record({
      status: fc.constantFrom(200, 201, 204, 304, 404, 500, 599),
      headers: fc.uniqueArray(
        fc.tuple(
          fc.stringMatching(/^x-[a-z0-9]{1,8}$/),
          value.filter((text) => !text.includes('\u007f')),
        ),
        {
          selector: ([name]) => name,
        },
      ),
      pieces: fc.array(fc.string({ unit: 'binary', minLength: 1, maxLength: 3_000 }), { maxLength: 5 }),
      isCounted: fc.boolean(),
    });
    fc.sample(script, 1); // on a busy machine the first value takes longer than the connection has to be made
    const made = trial(server);
    await fc.assert(
      fc.asyncProperty(script, async (given) => {
        const isBodiless = given.status === 204 || given.status === 304;
        next = isBodiless ? { ...given, isCounted: false } : given;
        const answer = await made.call();
        expect(answer.status).toBe(given.status);
        expect(textOf(answer)).toBe(isBodiless ? '' : Buffer.from(given.pieces.join('')).toString());
        for (const [name, text] of given.headers) expect(answer.headers[answer.headers.indexOf(name) + 1]).toBe(text);
      }),
      { numRuns: 200 },
    );
    expect(server.connections).toBe(1);
  });
});

describe('no connection', () => {
  /** Nobody ever says where it is. */
  const nowhere = (): void => undefined;

  function lost(clock: Clock): ClientConnection {
    const connection = new ClientConnection(
      (onread) => connect({ port: 1, host: 'nowhere.test', lookup: nowhere, onread }),
      { clock, connectTimeoutMs: 5_000, maxHeadBytes: 1_024, maxBodyBytes: 1_024, onIdleEnd: () => undefined },
    );
    endings.push(() => connection.destroy());
    return connection;
  }
  const request = { head: requestHead('GET', new URL('http://nowhere.test/')), body: '' };

  it('in time fails the call that waits for it', async () => {
    const clock = new FakeClock();
    const connection = lost(clock);
    const fault = faultOf(callOn(connection, request));
    await clock.advance(5_000);
    expect(await fault).toBe('CONNECT_TIMEOUT');
    expect(clock.pending).toBe(0);
  });

  it('is made any more once it is given up', async () => {
    const clock = new FakeClock();
    const connection = lost(clock);
    const fault = faultOf(callOn(connection, request));
    await connection.destroy();
    expect(await fault).toBe('CONNECT_GIVEN_UP');
    expect([clock.pending, connection.isConnected]).toEqual([0, false]);
    await connection.destroy();
  });

  it('where nobody listens fails with what the system says', async () => {
    const server = await ScriptedServer.raw(() => undefined);
    const { port } = server;
    await server.close();
    const clock = new FakeClock();
    const connection = new ClientConnection((onread) => connect({ port, host: '127.0.0.1', onread }), {
      clock,
      connectTimeoutMs: 5_000,
      maxHeadBytes: 1_024,
      maxBodyBytes: 1_024,
      onIdleEnd: () => undefined,
    });
    await expect(callOn(connection, request)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    expect(clock.pending).toBe(0);
  });

  it('is left when it is destroyed under a call, which hears of it', async () => {
    const server = await running(ScriptedServer.raw(() => undefined));
    const clock = new FakeClock();
    const made = trial(server, { clock });
    const fault = faultOf(made.call());
    await eventually(() => made.connection.isConnected);
    expect(clock.pending).toBe(0);
    await made.connection.destroy();
    expect(await fault).toBe('CONNECTION_LOST');
    await eventually(() => server.sockets.size === 0);
  });
});
