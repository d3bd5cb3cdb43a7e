import { describe, expect, it } from 'vitest';
import { writeHead } from './answer-head.js';

const head = (headers: readonly string[], status = 200, contentLength: number | undefined = 2) =>
  writeHead({ status, headers, contentLength, connectionLines: 'connection: close\r\n', dateLine: 'date: now\r\n' });

describe('the head of an answer', () => {
  it('has the status, what every answer has, its own headers and the length', () => {
    expect(head(['x-a', '1', 'x-b', ''])).toEqual({
      text: 'HTTP/1.1 200 OK\r\nconnection: close\r\nx-a: 1\r\nx-b: \r\ndate: now\r\ncontent-length: 2\r\n\r\n',
      isAscii: true,
    });
    expect(
      writeHead({ status: 204, headers: [], contentLength: undefined, connectionLines: '', dateLine: '' }).text,
    ).toBe('HTTP/1.1 204 No Content\r\n\r\n');
    expect(head(['Date', 'then']).text).not.toContain('now');
    expect(head([], 299).text).toMatch(/^HTTP\/1\.1 299 Unknown\r\n/);
  });

  it('says when its bytes are not its characters', () => {
    expect(head(['x-a', '\u00e4'])).toMatchObject({ isAscii: false });
  });

  it.each(['1\r\nx-evil: 1', '1\n', '\r', '\u0000', '\u0001', '\u007f', '\u20ac'])('has no room for %j', (value) => {
    expect(() => head(['x-a', value])).toThrow(TypeError);
  });

  it.each(['', 'x a', 'x:a', 'x\r\n', '\u00e4'])('has no header of the name %j', (name) => {
    expect(() => head([name, '1'])).toThrow(TypeError);
  });
});
