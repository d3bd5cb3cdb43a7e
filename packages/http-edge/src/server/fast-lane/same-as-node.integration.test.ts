import http from 'node:http';
import net, { type AddressInfo } from 'node:net';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parseFastLaneRequest } from './fast-lane-request.js';

let server: http.Server;
beforeAll(async () => {
  server = http.createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { method, url, headers, rawHeaders } = request;
      const body = Buffer.concat(chunks).toString('latin1');
      response.writeHead(200, { connection: 'close' });
      response.end(JSON.stringify({ method, url, headers, rawHeaders, body }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterAll(() => new Promise((resolve) => server.close(resolve)));

/** What Node's server makes of these bytes; undefined when it refuses them. */
function readByNode(bytes: Buffer): Promise<unknown> {
  const { port } = server.address() as AddressInfo; // it listens on TCP
  return new Promise((resolve, reject) => {
    const socket = net.connect({ port, host: '127.0.0.1' });
    let received = '';
    socket.setEncoding('latin1').on('data', (text: string) => (received += text));
    socket.on('error', reject).on('close', () => {
      const [head = '', body = ''] = received.split(/\r\n\r\n(.*)/s);
      resolve(
        head.startsWith('HTTP/1.1 200 ')
          ? JSON.parse(body.slice(body.indexOf('{'), body.lastIndexOf('}') + 1))
          : undefined,
      );
    });
    socket.write(bytes);
  });
}

const blank = fc.constantFrom('', ' ', '\t', '  ');
const name = fc.constantFrom('x-a', 'X-B', 'Accept', 'connection', 'x_c', 'Content-Type', 'x-d ', 'Keep-Alive');
const value = fc.constantFrom('1', '', 'a b', '\u00e4', 'keep-alive', 'a:b', '"', '\u0001', 'application/json');
const header = fc
  .tuple(name, blank, value, blank)
  .map(([key, before, text, after]) => `${key}:${before}${text}${after}`);
const request = fc
  .record({
    method: fc.constantFrom('GET', 'POST', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'post', 'PROPFIND'),
    url: fc.constantFrom('/', '/a:b', '/a%20b?c=d&e', '/a#b', '/"<>|', '*', '/ä'),
    version: fc.constantFrom('HTTP/1.1', 'HTTP/1.1', 'HTTP/1.1', 'HTTP/1.0'),
    headers: fc.array(header, { maxLength: 4 }),
    body: fc.string({ maxLength: 20 }),
    length: fc.constantFrom('', '', '', '+', '0'),
    lineEnd: fc.constantFrom('\r\n', '\r\n', '\r\n', '\r\n', '\n'),
  })
  .map(({ method, url, version, headers, body, length, lineEnd }) => {
    const bytes = Buffer.byteLength(body);
    const lines = [`${method} ${url} ${version}`, 'Host: x', ...headers, `Content-Length: ${length}${bytes}`, '', ''];
    return Buffer.concat([Buffer.from(lines.join(lineEnd), 'latin1'), Buffer.from(body)]);
  });

it('reads what it takes for plain as Node does, to the last byte', async () => {
  const limits = { headerBytes: 16_384, headers: 100, addressBytes: 8_192, requestBytes: 65_536 };
  let plain = 0;
  await fc.assert(
    fc.asyncProperty(request, async (bytes) => {
      const reading = parseFastLaneRequest(bytes, limits);
      if (reading.kind !== 'request') return;
      plain += 1;
      expect(reading.length).toBe(bytes.length);
      const { method, url, headers, rawHeaders } = reading.head;
      expect(await readByNode(bytes)).toEqual({
        method,
        url,
        headers,
        rawHeaders,
        body: reading.body.toString('latin1'),
      });
    }),
    { numRuns: 1_000 },
  );
  expect(plain).toBeGreaterThan(50);
});
