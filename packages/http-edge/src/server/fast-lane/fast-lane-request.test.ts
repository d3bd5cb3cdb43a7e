import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseFastLaneRequest, type FastLaneLimits } from './fast-lane-request.js';

const limits: FastLaneLimits = { headerBytes: 1_000, headers: 5, addressBytes: 100, requestBytes: 2_000 };
const read = (text: string) => parseFastLaneRequest(Buffer.from(text, 'latin1'), limits);
const request = (...lines: readonly string[]): string => `${lines.join('\r\n')}\r\n\r\n`;

describe('a plain request', () => {
  it('is read whole, and nothing behind it', () => {
    const text = 'POST /a?b=%20 HTTP/1.1\r\nHost: x\r\nX-One:  two words \t\r\nContent-Length: 3\r\n\r\nabc';
    expect(read(`${text}GET /`)).toEqual({
      kind: 'request',
      length: text.length,
      head: {
        method: 'POST',
        url: '/a?b=%20',
        headers: { host: 'x', 'x-one': 'two words', 'content-length': '3' },
        rawHeaders: ['Host', 'x', 'X-One', 'two words', 'Content-Length', '3'],
        contentLength: 3,
        bytes: Buffer.from(text.slice(0, -3)),
      },
      body: Buffer.from('abc'),
    });
  });

  it('may have no body, an empty header, and say that the connection stays', () => {
    for (const more of [[], ['content-length: 0'], ['x-empty:'], ['Connection: Keep-Alive']])
      expect(read(request('GET / HTTP/1.1', 'host: x', ...more))).toMatchObject({
        kind: 'request',
        body: Buffer.alloc(0),
      });
  });

  it('is waited for until its last byte is there, wherever it is cut', () => {
    const text = 'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\n\r\nabc';
    const head = text.length - 3;
    for (let cut = 0; cut < text.length; cut += 1)
      expect(read(text.slice(0, cut))).toEqual({ kind: 'part', length: cut < head ? 0 : text.length });
  });
});

describe('a request after another one', () => {
  const latest = read('POST /a HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\n\r\nabc');
  const next = (text: string) => {
    if (latest.kind !== 'request') return expect.unreachable();
    return parseFastLaneRequest(Buffer.from(text, 'latin1'), limits, latest.head);
  };

  it('is known again when it begins with the same bytes, and has its own body', () => {
    const reading = next('POST /a HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\n\r\nxyzPOST');
    if (reading.kind !== 'request' || latest.kind !== 'request') return expect.unreachable();
    expect(reading.head).toBe(latest.head);
    expect([reading.body.toString(), reading.length]).toEqual(['xyz', latest.length]);
    expect(next('POST /a HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\n\r\nxy')).toEqual({
      kind: 'part',
      length: latest.length,
    });
  });

  it.each([
    ['POST /a HTTP/1.1\r\nhost: x\r\ncontent-length: 4\r\n\r\nabcd', { contentLength: 4 }],
    ['POST /b HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\n\r\nabc', { url: '/b' }],
    ['POST /a HTTP/1.1\r\nhost: x\r\n\r\n', { contentLength: 0 }],
    ['POST /a HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\nx-a: 1\r\n\r\nabc', { headers: { 'x-a': '1' } }],
  ])('is read anew when anything is different: %j', (text, head) => {
    expect(next(text)).toMatchObject({ kind: 'request', length: text.length, head });
  });

  it('may be something else altogether', () => {
    expect(next('POST /a HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n')).toEqual({ kind: 'other' });
    expect(next('POST /a HTTP/1.1\r\nhost: x\r\nconte')).toEqual({ kind: 'part', length: 0 });
  });
});

describe('what is not plain', () => {
  it.each([
    ['another method', request('PROPFIND / HTTP/1.1', 'host: x')],
    ['a method in small letters', request('get / HTTP/1.1', 'host: x')],
    ['an older version', request('GET / HTTP/1.0', 'host: x')],
    ['a whole URL as address', request('GET http://x/ HTTP/1.1', 'host: x')],
    ['a space in the address', request('GET /a b HTTP/1.1', 'host: x')],
    ['two spaces', request('GET  / HTTP/1.1', 'host: x')],
    ['a long address', request(`GET /${'a'.repeat(100)} HTTP/1.1`, 'host: x')],
    ['no host', request('GET / HTTP/1.1')],
    ['two hosts', request('GET / HTTP/1.1', 'host: x', 'Host: x')],
    ['many headers', request('GET / HTTP/1.1', 'host: x', 'a: 1', 'b: 1', 'c: 1', 'd: 1', 'e: 1')],
    ['large headers', request('GET / HTTP/1.1', 'host: x', `a: ${'a'.repeat(1_000)}`)],
    ['large headers without an end', `GET / HTTP/1.1\r\nhost: x\r\na: ${'a'.repeat(1_000)}`],
    ['a large body', request('POST / HTTP/1.1', 'host: x', 'content-length: 2000')],
    ['chunks', request('POST / HTTP/1.1', 'host: x', 'transfer-encoding: chunked')],
    ['chunks and a length', request('POST / HTTP/1.1', 'host: x', 'content-length: 0', 'Transfer-Encoding: chunked')],
    ['two lengths', request('POST / HTTP/1.1', 'host: x', 'content-length: 0', 'Content-Length: 0')],
    ['a list of lengths', request('POST / HTTP/1.1', 'host: x', 'content-length: 0, 0')],
    ['a signed length', request('POST / HTTP/1.1', 'host: x', 'content-length: +0')],
    ['a length in hex', request('POST / HTTP/1.1', 'host: x', 'content-length: 0x1')],
    ['an empty length', request('POST / HTTP/1.1', 'host: x', 'content-length:')],
    ['an endless length', request('POST / HTTP/1.1', 'host: x', `content-length: ${'1'.repeat(30)}`)],
    ['the end of the connection', request('GET / HTTP/1.1', 'host: x', 'connection: close')],
    ['its end as proxies ask for it', request('GET / HTTP/1.1', 'host: x', 'Proxy-Connection: close')],
    ['headers of the connection', request('GET / HTTP/1.1', 'host: x', 'connection: keep-alive, x-a')],
    ['an expectation', request('POST / HTTP/1.1', 'host: x', 'expect: 100-continue', 'content-length: 0')],
    ['another protocol', request('GET / HTTP/1.1', 'host: x', 'upgrade: websocket')],
    ['a header that Node has a list for', request('GET / HTTP/1.1', 'host: x', 'Set-Cookie: a=1')],
    ['compression', request('POST / HTTP/1.1', 'host: x', 'content-encoding: gzip')],
    ['a folded header', request('GET / HTTP/1.1', 'host: x', 'a: 1', ' 2')],
    ['a header without a colon', request('GET / HTTP/1.1', 'host x')],
    ['a header without a name', request('GET / HTTP/1.1', 'host: x', ': 1')],
    ['a space before the colon', request('POST / HTTP/1.1', 'host: x', 'content-length : 5')],
    ['a name that means something to objects', request('GET / HTTP/1.1', 'host: x', '__proto__: 1')],
    ['another one', request('GET / HTTP/1.1', 'host: x', 'constructor: 1')],
    ['a bare line feed', request('GET / HTTP/1.1', 'host: x', 'a: 1\nb: 2')],
    ['a bare carriage return', request('GET / HTTP/1.1', 'host: x', 'a: 1\rb: 2')],
    ['a zero', request('GET / HTTP/1.1', 'host: x', 'a: \u0000')],
    ['a letter that is not ASCII', request('GET / HTTP/1.1', 'host: x', 'a: \u00e4')],
    ['an empty line first', request('', 'GET / HTTP/1.1', 'host: x')],
    ['nothing but an end', '\r\n\r\n'],
    ['a TLS greeting', '\u0016\u0003\u0001\u0002\u0000\u0001\r\n\r\n'],
  ])('is left alone: %s', (_, text) => {
    expect(read(text)).toEqual({ kind: 'other' });
  });

  it('is never mistaken, whatever the bytes are', () => {
    const texts = fc.array(
      fc.constantFrom(
        'host',
        'content-length',
        'x-a',
        ':',
        ': ',
        '\r\n',
        '\r',
        '\n',
        ' ',
        '\t',
        '0',
        '\u0000',
        '\u00ff',
        'a',
      ),
    );
    fc.assert(
      fc.property(texts, (parts) => {
        const reading = read(`GET / HTTP/1.1\r\n${parts.join('')}\r\n\r\n`);
        if (reading.kind !== 'request') return;
        const { headers, rawHeaders } = reading.head;
        expect(Object.keys(headers)).toHaveLength(rawHeaders.length / 2);
        for (const text of [...Object.keys(headers), ...Object.values(headers)])
          expect(text).toMatch(/^[\x20-\x7e\t]*$/);
      }),
      { numRuns: 500 },
    );
  });
});
