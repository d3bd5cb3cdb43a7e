import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeBody, encodeBody } from './message-body.js';

describe('a message body', () => {
  it('is the same text and the same bytes after base64', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (text) => {
        expect(decodeBody(encodeBody(text, 'base64', 'q'), 'base64')).toMatchObject({ text, asExpected: true });
      }),
    );
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        expect([...decodeBody(encodeBody(bytes, 'base64', 'q'), 'base64').bytes]).toEqual([...bytes]);
      }),
    );
  });

  it('is taken as it is without an encoding', () => {
    expect(encodeBody('{"a":"<ü>"}', 'none', 'q')).toBe('{"a":"<ü>"}');
    expect(decodeBody('aGk=', 'none')).toMatchObject({ text: 'aGk=', asExpected: true });
    expect(encodeBody(Buffer.from('ü'), 'none', 'q')).toBe('ü');
  });

  it('is taken as text when it is no base64', () => {
    expect(decodeBody('{"id":5}', 'base64')).toMatchObject({ text: '{"id":5}', asExpected: false });
    expect(decodeBody('abc', 'base64')).toMatchObject({ text: 'abc', asExpected: false });
    expect(decodeBody('', 'base64')).toMatchObject({ text: '', asExpected: true });
    expect(decodeBody('aG\nk=', 'base64')).toMatchObject({ text: 'hi', asExpected: true });
  });

  it('has no text when its bytes are none', () => {
    const wire = Buffer.from([0xff, 0xfe]).toString('base64');
    expect(decodeBody(wire, 'base64')).toEqual({ bytes: Buffer.from([0xff, 0xfe]), text: undefined, asExpected: true });
  });

  it('is refused before it is sent when the service could not take it', () => {
    expect(() => encodeBody('x'.repeat(49_153), 'base64', 'orders')).toThrow(
      'A message for queue orders has 65540 bytes as base64, more than the limit of 65536',
    );
    expect(encodeBody('x'.repeat(49_152), 'base64', 'orders')).toHaveLength(65_536);
    expect(() => encodeBody('ü'.repeat(32_769), 'none', 'orders')).toThrow('has 65538 bytes');
    for (const body of ['a\u0000b', '\u001b[0m', 'half \ud800 a pair', Buffer.from([0xff])])
      expect(() => encodeBody(body, 'none', 'orders')).toThrow('is not plain text');
    expect(encodeBody('tab\tand 🙂\n', 'none', 'orders')).toBe('tab\tand 🙂\n');
  });
});
