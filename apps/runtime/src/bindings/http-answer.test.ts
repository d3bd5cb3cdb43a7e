import type { RpcHttpCookie, TypedDataInit } from '@drover/function-rpc';
import { describe, expect, it } from 'vitest';
import { serializeCookie } from './cookies.js';
import { definitionOf, httpFunction, responseOf } from './definition.test.fixture.js';
import { httpAnswer } from './http-answer.js';

const hello = httpFunction('hello');
const http = (fields: object): TypedDataInit => ({
  http: { statusCode: '', headers: {}, cookies: [], ...fields },
});
const answer = (returnValue: TypedDataInit | undefined) => httpAnswer(hello, responseOf({ returnValue }));
const cookie = (fields: Partial<RpcHttpCookie>) => serializeCookie({ name: 'a', value: 'b', sameSite: 0, ...fields });

describe('httpAnswer', () => {
  const bytes = Buffer.from('hi');
  const octets = ['content-type', 'application/octet-stream'];
  const text = ['content-type', 'text/plain; charset=utf-8'];
  const json = ['content-type', 'application/json; charset=utf-8'];

  it.each([
    ['nothing', undefined, { status: 204, headers: [], body: undefined }],
    ['null', {}, { status: 204, headers: [], body: undefined }],
    ['a response without anything', http({}), { status: 200, headers: [], body: undefined }],
    ['a status', http({ statusCode: '404' }), { status: 404, headers: [], body: undefined }],
    ['bytes', http({ body: { bytes } }), { status: 200, headers: octets, body: bytes }],
    ['empty bytes', http({ body: { bytes: Buffer.alloc(0) } }), { status: 200, headers: [], body: Buffer.alloc(0) }],
    ['text', http({ body: { string: 'x' } }), { status: 200, headers: text, body: 'x' }],
    ['JSON', http({ body: { json: '{"a":1}' } }), { status: 200, headers: json, body: '{"a":1}' }],
    ['a JSON text', http({ body: { json: '"x"' } }), { status: 200, headers: text, body: 'x' }],
    ['a number', http({ body: { int: 5 } }), { status: 200, headers: text, body: '5' }],
    [
      'a type of its own',
      http({ body: { bytes }, headers: { 'Content-Type': 'image/png' } }),
      { status: 200, headers: ['Content-Type', 'image/png'], body: bytes },
    ],
    ['bare text', { string: 'x' }, { status: 200, headers: text, body: 'x' }],
    ['bare JSON', { json: '{"a":1}' }, { status: 200, headers: json, body: '{"a":1}' }],
    ['bare JSON in a text', { string: '[1]' }, { status: 200, headers: json, body: '[1]' }],
    ['bare bytes', { bytes }, { status: 200, headers: octets, body: bytes }],
    ['a bare number', { int: 7 }, { status: 200, headers: text, body: '7' }],
    [
      'a described response',
      { json: '{"status":201,"headers":{"X-A":1},"body":{"b":2}}' },
      { status: 201, headers: ['X-A', '1', ...json], body: '{"b":2}' },
    ],
    [
      'a described response in a text',
      { string: '{"statusCode":"202","body":"x"}' },
      { status: 202, headers: text, body: 'x' },
    ],
  ])('answers %s', (_, value, expected) => {
    expect(answer(value)).toEqual(expected);
  });

  it('finds the response under the name of the binding, as older apps set it', () => {
    const trigger = { name: 'req', type: 'httpTrigger', direction: 'in' };
    const older = definitionOf('older', trigger, { name: 'res', type: 'http', direction: 'out' });
    const set = responseOf({ outputData: [{ name: 'res', data: http({ statusCode: '418' }) }] });
    expect(httpAnswer(older, set).status).toBe(418);
    const returned = responseOf({ returnValue: { json: '{"res":{"status":201,"body":"x"}}' } });
    expect(httpAnswer(older, returned)).toMatchObject({ status: 201, body: 'x' });
    expect(httpAnswer(older, responseOf({})).status).toBe(204);
    expect(httpAnswer(definitionOf('none', trigger), responseOf({ returnValue: { string: 'x' } })).status).toBe(204);
  });

  it('says nothing about the connection', () => {
    const headers = {
      Connection: 'close',
      'Transfer-Encoding': 'chunked',
      'content-length': '999',
      'x-a': 'b',
      upgrade: 'h2c',
    };
    expect(answer(http({ headers })).headers).toEqual(['x-a', 'b']);
  });

  it.each([
    [{ statusCode: '99' }, 'the status "99"'],
    [{ statusCode: '101' }, 'the status "101"'],
    [{ statusCode: 'OK' }, 'the status "OK"'],
    [{ statusCode: '0x1F4' }, 'the status'],
    [{ headers: { 'x y': 'z' } }, 'the header name "x y"'],
    [{ headers: { '': 'z' } }, 'the header name ""'],
    [{ headers: { 'x-a': 'b\r\nset-cookie: stolen=1' } }, 'the value of header x-a'],
    [{ headers: { 'x-a': 'b\0' } }, 'the value of header x-a'],
    [{ headers: { 'x-a': '\u{1F600}' } }, 'the value of header x-a'],
    [{ cookies: [{ name: 'a\r\nb', value: '', sameSite: 0 }] }, 'the cookie name'],
  ])('refuses %j, and says what and whose', (fields, reason) => {
    expect(() => answer(http(fields))).toThrow(
      `Function hello returned an HTTP response that cannot be sent: ${reason}`,
    );
  });
});

describe('cookies', () => {
  it('have a path of / unless they have their own', () => {
    expect(cookie({})).toEqual({ value: 'a=b; path=/' });
    expect(cookie({ path: { value: '/x' } })).toEqual({ value: 'a=b; path=/x' });
  });

  it.each([
    [0, 'a=b; path=/'],
    [1, 'a=b; path=/; samesite=lax'],
    [2, 'a=b; path=/; samesite=strict'],
    [3, 'a=b; path=/; samesite=none'],
    [9, 'a=b; path=/'],
  ])('with sameSite %d are %s', (sameSite, expected) => {
    expect(cookie({ sameSite })).toEqual({ value: expected });
  });

  it('have all their attributes', () => {
    expect(
      cookie({
        expires: { value: { seconds: 0, nanos: 0 } },
        maxAge: { value: 60.7 },
        domain: { value: 'a.example' },
        secure: { value: true },
        httpOnly: { value: true },
      }),
    ).toEqual({
      value: 'a=b; expires=Thu, 01 Jan 1970 00:00:00 GMT; max-age=60; domain=a.example; path=/; secure; httponly',
    });
  });

  it('escape whatever their value holds', () => {
    expect(cookie({ value: 'a;b\r\nSet-Cookie: c="d" é*\ud800' })).toEqual({
      value: 'a=a%3Bb%0D%0ASet-Cookie%3A%20c%3D%22d%22%20%C3%A9%2A%EF%BF%BD; path=/',
    });
  });

  it.each([
    [{ name: '' }, 'name'],
    [{ name: 'a=b' }, 'name'],
    [{ path: { value: '/; secure' } }, 'path'],
    [{ domain: { value: 'x\r\ny' } }, 'domain'],
    [{ maxAge: { value: Number.NaN } }, 'maxAge'],
    [{ expires: { value: { seconds: 9e15, nanos: 0 } } }, 'expiry'],
  ])('refuse %j', (fields, part) => {
    expect(cookie(fields)).toMatchObject({ problem: expect.stringContaining(part) });
  });
});
