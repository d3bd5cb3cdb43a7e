import { describe, expect, it } from 'vitest';
import { answeredOutput, returnedOutput } from './call-output.js';

const base64 = (bytes: Uint8Array) => JSON.stringify(Buffer.from(bytes).toString('base64'));
const bytes = new Uint8Array([0xff, 0, 1]);

describe('what a function returned', () => {
  it.each([
    [undefined, 'null'],
    [{}, 'null'],
    [{ json: '{"a": 1}' }, '{"a": 1}'],
    [{ json: '{"a":' }, '"{\\"a\\":"'],
    [{ string: '{"a":1}' }, '"{\\"a\\":1}"'],
    [{ string: '' }, '""'],
    [{ int: 9_007_199_254_740_993n }, '9007199254740993'],
    [{ int: 7 }, '7'],
    [{ double: 1.5 }, '1.5'],
    [{ double: Number.NaN }, 'null'],
    [{ collectionString: { string: ['a', 'b'] } }, '["a","b"]'],
    [{ collectionSint64: { sint64: [1, 2n] } }, '[1,2]'],
  ])('as %o is %s', (returned, json) => {
    expect(returnedOutput(returned)).toEqual({ json, head: undefined });
  });

  it('as bytes is base64, and says so', () => {
    expect(returnedOutput({ bytes })).toEqual({ json: base64(bytes), head: { encoding: 'base64' } });
  });
});

describe('what an HTTP function answered', () => {
  const answered = (type: string, body: string | Uint8Array | undefined) =>
    answeredOutput({ status: 201, headers: type === '' ? [] : ['Content-Type', type], body });

  it.each([
    ['application/json', Buffer.from('{"a": "ä"}'), '{"a": "ä"}'],
    ['application/json; charset=utf-8', '[1]', '[1]'],
    ['application/problem+json', '{}', '{}'],
    ['application/json', 'not json', '"not json"'],
    ['text/html', Buffer.from('<p>"'), '"<p>\\""'],
    ['application/xml', '<a/>', '"<a/>"'],
    ['application/atom+xml', '<a/>', '"<a/>"'],
    ['', Buffer.from('plain'), '"plain"'],
    ['text/plain', undefined, 'null'],
    ['application/json', '', 'null'],
  ])('as %s is JSON or a text', (type, body, json) => {
    const output = answered(type, body);
    expect(output.json).toBe(json);
    expect(output.head).toEqual({ statusCode: 201, headers: type === '' ? {} : { 'content-type': type } });
  });

  it.each(['image/png', 'application/octet-stream', 'text/plain', ''])('as %s that is no text is base64', (type) => {
    expect(answered(type, bytes)).toMatchObject({ json: base64(bytes), head: { encoding: 'base64', statusCode: 201 } });
  });

  it('keeps headers, several of one name together', () => {
    const headers = ['Set-Cookie', 'a=1', 'set-cookie', 'b=2', '__proto__', 'x'];
    const { head } = answeredOutput({ status: 200, headers, body: undefined });
    expect(JSON.stringify(head)).toBe('{"statusCode":200,"headers":{"set-cookie":"a=1, b=2","__proto__":"x"}}');
  });
});
