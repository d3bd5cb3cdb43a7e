import http from 'node:http';
import net, { type AddressInfo } from 'node:net';
import { FakeClock } from '@drover/testkit';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { HttpPort } from '../port.js';
import { portLimits } from '../port.test.fixture.js';

const keepAliveMs = 5_000;

interface Received {
  readonly method?: string | undefined;
  readonly url?: string | undefined;
  readonly headers: unknown;
  readonly rawHeaders: readonly string[];
}

/** The answer says what the server has read, in every detail. */
function answerTo({ method, url, headers, rawHeaders }: Received, body: Buffer): { headers: string[]; text: string } {
  const text = JSON.stringify({ method, url, headers, rawHeaders, body: body.toString('latin1') });
  return { headers: ['x-method', method ?? '', 'content-type', 'application/json'], text };
}

function nodeServer(): http.Server {
  return http.createServer({ keepAliveTimeout: keepAliveMs, requireHostHeader: false }, (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { headers, text } = answerTo(request, Buffer.concat(chunks));
      response.writeHead(200, [...headers, 'content-length', String(Buffer.byteLength(text))]);
      response.end(text);
    });
  });
}

const reference = nodeServer();
const tested = nodeServer();
let served = 0;
let handedOver = 0;
tested.on('connection', () => (handedOver += 1)); // before the lane: called for connections that leave it
const port: HttpPort = new HttpPort(tested, {
  host: '127.0.0.1',
  port: 0,
  limits: { ...portLimits, keepAliveMs },
  clock: new FakeClock(),
  serveFastLane: (request, exchange) => {
    if (request.url === '/declined') return false;
    served += 1;
    const { headers, text } = answerTo(request, request.body);
    if (request.url === '/later') setImmediate(() => exchange.answer(200, headers, text));
    else exchange.answer(200, headers, text);
    return true;
  },
});

/** As Node refuses what it cannot read. */
function refuse(socket: net.Socket, { code }: NodeJS.ErrnoException): void {
  const status = code === 'HPE_HEADER_OVERFLOW' ? 431 : 400;
  if (socket.writable)
    socket.write(`HTTP/1.1 ${status} ${http.STATUS_CODES[status] ?? ''}\r\nConnection: close\r\n\r\n`);
  socket.destroySoon();
}

tested.on('clientError', (error, socket) => {
  const connection = socket as net.Socket; // of a TCP server
  port.connections.refuseRest(connection, error, () => refuse(connection, error));
});
reference.on('checkExpectation', (request, response) => reference.emit('request', request, response)); // as the port does
// Node itself would refuse at once, and drop the answer to a request that arrived together with what it cannot read.
reference.on('clientError', (error, socket) => setImmediate(() => refuse(socket as net.Socket, error)));

beforeAll(async () => {
  await port.listen();
  await new Promise<void>((done) => reference.listen(0, '127.0.0.1', done));
});
afterAll(async () => {
  await port.stop();
  reference.closeAllConnections();
  await new Promise((done) => reference.close(done));
});

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

interface Outcome {
  readonly answers: readonly string[];
  readonly isClosed: boolean;
}

/**
 * Sends the pieces on one connection. All of it happens in this process: once nothing has happened for some turns of the event
 * loop, nothing will, however slow the machine is. `isPatient`: waits for that after each piece.
 */
async function converse(server: http.Server, pieces: readonly Buffer[], isPatient: boolean): Promise<Outcome> {
  const { port } = server.address() as AddressInfo; // it listens on TCP
  const socket = net.connect({ port, host: '127.0.0.1' }).setNoDelay(true);
  let received = '';
  let events = 0;
  let isClosed = false;
  socket.setEncoding('latin1').on('data', (text: string) => {
    received += text;
    events += 1;
  });
  socket.on('error', () => undefined).on('close', () => (isClosed = true));
  await new Promise((resolve) => socket.once('connect', resolve));
  const rest = async (): Promise<void> => {
    for (let quiet = 0, before = events; quiet < 40; quiet += 1, before = events) {
      await turn();
      if (isClosed) return;
      if (events !== before) quiet = 0;
    }
  };
  for (const piece of pieces) {
    if (isClosed) break;
    socket.write(piece);
    await (isPatient ? rest() : turn());
  }
  await rest();
  socket.destroy();
  return { answers: split(received), isClosed };
}

/** Takes what was received apart into answers, without what may differ: the date, the order and the spelling of headers. */
function split(received: string): string[] {
  const answers: string[] = [];
  for (let rest = received; rest !== ''; ) {
    const end = rest.indexOf('\r\n\r\n');
    if (end < 0) return [...answers, `cut: ${rest}`];
    const [statusLine = '', ...lines] = rest.slice(0, end).split('\r\n');
    const headers = lines.map((line) => line.replace(/^[^:]*/, (name) => name.toLowerCase())).toSorted();
    const value = (name: string): string | undefined =>
      headers.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
    const length = value('x-method') === 'HEAD' ? 0 : Number(value('content-length') ?? 0);
    const body = rest.slice(end + 4, end + 4 + length);
    answers.push([statusLine, ...headers.filter((line) => !line.startsWith('date: ')), '', body].join('\n'));
    rest = rest.slice(end + 4 + length);
  }
  return answers;
}

const often = <T>(usual: T, ...others: readonly T[]): fc.Arbitrary<T> =>
  fc.oneof({ weight: 3 * others.length, arbitrary: fc.constant(usual) }, ...others.map((one) => fc.constant(one)));

// Without `upgrade`: Node drops what arrives together with such a request, so that its answers depend on how the bytes are cut.
const connectionHeader = fc
  .tuple(
    fc.constantFrom('Connection', 'connection', 'Proxy-Connection', 'proxy-connection', 'Keep-Alive'),
    fc.constantFrom('close', 'keep-alive', 'Keep-Alive', 'CLOSE', 'keep-alive, close', 'x-a', '', 'closed', ' close '),
  )
  .map(([name, value]) => `${name}: ${value}`);
const oddHeader = fc.constantFrom(
  'Host: y',
  'Expect: 100-continue',
  'Expect: 200-ok',
  'Upgrade: websocket',
  'TE: trailers',
  'Trailer: x-t',
  'Content-Length: 3',
  'Content-Length: 0, 0',
  'Transfer-Encoding: gzip',
  'Transfer-Encoding: identity',
  'content-encoding: gzip',
  'x-a : 1',
  ': 1',
  'no colon',
  ' folded',
  'x-b: a\u0000b',
  'x-c: \u00e4',
  'x(d): 1',
  '__proto__: 1',
  'cookie: a=1',
  'cookie: b=2',
  'set-cookie: c',
  'accept: a',
  'accept: b',
  'x-cr: a\rb',
  `x-long: ${'l'.repeat(17_000)}`,
);
const plainHeader = fc.constantFrom(
  'x-e: 1',
  'X-F:2',
  'accept: */*',
  'x-g:\t3 ',
  'user-agent: t',
  'x-empty:',
  'x-h: "q"',
);
const header = fc.oneof(
  { weight: 6, arbitrary: plainHeader },
  { weight: 2, arbitrary: connectionHeader },
  { weight: 1, arbitrary: oddHeader },
);
const bodyLines = fc.oneof(
  { weight: 3, arbitrary: fc.constant({ header: undefined, body: '' }) },
  {
    weight: 4,
    arbitrary: fc
      .record({ body: fc.string({ maxLength: 40, unit: 'binary-ascii' }), off: often(0, -1, 1) })
      .map(({ body, off }) => ({ header: `Content-Length: ${Math.max(0, body.length + off)}`, body })),
  },
  {
    weight: 2,
    arbitrary: often(
      '5\r\nhello\r\n0\r\n\r\n',
      '0\r\n\r\n',
      '5;x=y\r\nhello\r\n0\r\nx-t: 1\r\n\r\n',
      '5\r\nhello0\r\n\r\n',
      'zz\r\nhello\r\n0\r\n\r\n',
      '5\nhello\n0\n\n',
    ).map((body) => ({ header: 'Transfer-Encoding: chunked', body })),
  },
);
const request = fc
  .record({
    before: often('', '\r\n', '\n', ' '),
    method: often('GET', 'POST', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'get', 'PROPFIND', 'G\u0000T', 'TRACE'),
    url: often('/', '/later', '/declined', '/a?b=c', '/a#b', '*', 'http://x/y', '/\u00e4', '/a b', ''),
    version: often('HTTP/1.1', 'HTTP/1.0', 'HTTP/1.2', 'HTTP/2.0', 'http/1.1'),
    host: often<string[]>(['Host: x'], [], ['host:']),
    headers: fc.array(header, { maxLength: 4 }),
    content: bodyLines,
    lineEnd: often('\r\n', '\n', '\r'),
  })
  .map(({ before, method, url, version, host, headers, content, lineEnd }) => {
    const own = content.header === undefined ? [] : [content.header];
    const head = [`${method} ${url} ${version}`, ...host, ...headers, ...own, '', ''].join(lineEnd);
    return Buffer.from(before + head + content.body, 'latin1');
  });
const simple = fc
  .record({
    url: fc.constantFrom('/', '/later', '/s'),
    body: fc.string({ maxLength: 40 }),
    lines: fc.array(fc.oneof(plainHeader, connectionHeader), { maxLength: 2 }),
  })
  .map(({ url, body, lines }) => {
    const bytes = Buffer.from(body);
    const head = [`POST ${url} HTTP/1.1`, 'Host: x', ...lines, `Content-Length: ${bytes.length}`, '', ''].join('\r\n');
    return Buffer.concat([Buffer.from(head, 'latin1'), bytes]);
  });
const message = fc.oneof(
  { weight: 3, arbitrary: simple },
  { weight: 3, arbitrary: request },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom('garbage\r\n\r\n', '\u0016\u0003\u0001', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
      .map((text) => Buffer.from(text, 'latin1')),
  },
);
/** Ends the conversation, whatever state it is in: as a request, or because it does not fit. */
const last = Buffer.from('GET /last HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');

it('has the same conversation as Node’s server, however the bytes are cut and however far they are sent ahead', async () => {
  const stream = fc.record({
    messages: fc.array(message, { minLength: 1, maxLength: 5 }),
    cuts: fc.array(fc.nat(2_000), { maxLength: 8 }),
  });
  await fc.assert(
    fc.asyncProperty(stream, async ({ messages, cuts }) => {
      const all = [...messages, last];
      const bytes = Buffer.concat(all);
      const places = [...new Set([0, ...cuts.map((cut) => cut % bytes.length), bytes.length])].toSorted(
        (a, b) => a - b,
      );
      const pieces = places.slice(1).map((end, index) => bytes.subarray(places[index], end));
      const [expected, actual] = await Promise.all([converse(reference, all, true), converse(tested, pieces, false)]);
      expect(actual).toEqual(expected);
    }),
    { numRuns: 1_000 },
  );
  expect(served).toBeGreaterThan(100);
  expect(handedOver).toBeGreaterThan(50);
});
