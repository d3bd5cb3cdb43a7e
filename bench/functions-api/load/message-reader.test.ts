import { describe, expect, it } from 'vitest';
import { headerOf, MessageReader, statusOf } from './message-reader.js';

const sized = 'HTTP/1.1 202 Accepted\r\nContent-Length: 7\r\nX-One: a: b\r\n\r\n{"a":1}';
const chunked = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nab\r\n\r\nA;x=1\r\n0123456789\r\n0\r\n\r\n';
const empty = 'HTTP/1.1 204 No Content\r\nDate: now\r\n\r\n';

function read(pieces: readonly Buffer[]): string[] {
  const found: string[] = [];
  const reader = new MessageReader(({ head, body }) => found.push(`${statusOf(head)} ${body.toString()}`));
  for (const piece of pieces) reader.push(piece);
  return found;
}

describe('a reader of messages', () => {
  const all = Buffer.from(sized + chunked + empty + sized);
  const expected = ['202 {"a":1}', '200 ab\r\n0123456789', '204 ', '202 {"a":1}'];

  it('finds several in one piece', () => expect(read([all])).toEqual(expected));

  it('finds them wherever they are cut', () => {
    for (let cut = 1; cut < all.length; cut += 1)
      expect(read([all.subarray(0, cut), all.subarray(cut)])).toEqual(expected);
  });

  it('keeps what it has read when the socket writes over its buffer, byte by byte', () => {
    const shared = Buffer.alloc(1);
    const found: string[] = [];
    const reader = new MessageReader(({ body }) => found.push(body.toString()));
    for (const byte of all) {
      shared[0] = byte;
      reader.push(shared);
    }
    expect(found).toEqual(['{"a":1}', 'ab\r\n0123456789', '', '{"a":1}']);
  });

  it('refuses what is no chunk', () => {
    const nonsense = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nnone\r\n';
    expect(() => read([Buffer.from(nonsense)])).toThrow('no size of a chunk: none');
  });
});

describe('a header', () => {
  const head = 'HTTP/1.1 429 Too Many\r\nRetry-After:  2 \r\nX-Retry-After: 3\r\nLast:x';
  it('is found by its whole name, in any case, and without the spaces around its value', () => {
    expect(headerOf(head, 'retry-after')).toBe('2');
    expect(headerOf(head, 'last')).toBe('x');
    expect(headerOf(head, 'after')).toBeUndefined();
    expect(headerOf(head, 'retry')).toBeUndefined();
  });
});
