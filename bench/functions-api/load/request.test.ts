import { describe, expect, it } from 'vitest';
import { MessageReader } from './message-reader.js';
import { Request, sequenceMark, spreadMark } from './request.js';

function bodyOf(request: Request): string {
  let found = '';
  new MessageReader(({ body }) => (found = body.toString())).push(request.bytes);
  return found;
}

describe('a request', () => {
  it('is one message, with its headers and the length of its body in bytes', () => {
    const request = new Request({ path: '/a:b', headers: { Authorization: 'Bearer k' }, body: '{"input":"ä"}' });
    const text = request.bytes.toString();
    expect(text.startsWith('POST /a:b HTTP/1.1\r\nHost: 127.0.0.1\r\n')).toBe(true);
    expect(text).toContain('\r\nAuthorization: Bearer k\r\n');
    expect(bodyOf(request)).toBe('{"input":"ä"}');
    expect(request.numbers).toBe(0);
  });

  it('gets other numbers each time, in the order of the marks', () => {
    const request = new Request({ path: '/', headers: {}, body: `["${sequenceMark}","${sequenceMark}"]` });
    expect(request.numbers).toBe(2);
    request.stamp(41);
    expect(bodyOf(request)).toBe('["000000041","000000042"]');
    request.stamp(123_456_789);
    expect(bodyOf(request)).toBe('["123456789","123456790"]');
  });

  it('gets each of the spread numbers once before the first comes again, also in its path', () => {
    const request = new Request({ method: 'GET', path: `/${spreadMark}`, headers: {}, body: '', spreadBelow: 100 });
    const seen = new Set<string>();
    for (let turn = 0; turn < 100; turn += 1) {
      request.stamp(turn);
      seen.add(request.bytes.toString('latin1', 0, 20));
    }
    expect(seen.size).toBe(100);
    expect([...seen].every((line) => /^GET \/0000000\d\d HTTP/.test(line))).toBe(true);
  });
});
