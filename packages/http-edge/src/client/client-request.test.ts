import { describe, expect, it } from 'vitest';
import { headerLine, isHeaderValue, requestHead } from './client-request.js';

describe('the head of a request', () => {
  it.each([
    ['http://a.test', 'POST / HTTP/1.1\r\nhost: a.test\r\nconnection: keep-alive\r\n'],
    ['https://A.test:443/b?c=d#e', 'POST /b?c=d HTTP/1.1\r\nhost: a.test\r\nconnection: keep-alive\r\n'],
    ['http://[::1]:8080/ä b', 'POST /%C3%A4%20b HTTP/1.1\r\nhost: [::1]:8080\r\nconnection: keep-alive\r\n'],
    ['http://a.test./?q="\u2028"', 'POST /?q=%22%E2%80%A8%22 HTTP/1.1\r\nhost: a.test.\r\nconnection: keep-alive\r\n'],
  ])('says where %s is', (url, head) => {
    expect(requestHead('POST', new URL(url))).toBe(head);
  });

  it.each(['http://a.test/\r\nx-evil: 1', 'http://a.test/?a\r\n\r\nGET / HTTP/1.1', 'http://a.test/a\tb c'])(
    'is one request line, whatever is in the URL: %j',
    (url) => {
      const lines = requestHead('GET', new URL(url)).split('\r\n');
      expect(lines.slice(1)).toEqual(['host: a.test', 'connection: keep-alive', '']);
      expect(lines[0]?.split(' ')).toHaveLength(3);
    },
  );

  it('is for places that have a path', () => {
    expect(() => requestHead('GET', new URL('data:text/plain,a b'))).toThrow(TypeError);
  });
});

describe('a header', () => {
  it('is one line', () => {
    expect(headerLine('x-a', 'b c~')).toBe('x-a: b c~\r\n');
  });

  it.each(['', 'a\r\nb', 'a\nb', 'a\rb', 'a\0b', 'a\tb', 'ä', '\u010a', '\u2028', 'a\u007f', 'a\n'])(
    'cannot have the value %j',
    (value) => {
      expect(isHeaderValue(value)).toBe(false);
      expect(() => headerLine('x-a', value)).toThrow(TypeError);
    },
  );

  it.each(['', 'a b', 'a:', 'a\r\nb', 'ä'])('cannot have the name %j', (name) => {
    expect(() => headerLine(name, 'a')).toThrow(TypeError);
  });
});
