import type { RpcHttpInit } from '@drover/function-rpc';
import { describe, expect, it } from 'vitest';
import { decoded } from '../invocation.test.fixture.js';
import { parseForm } from './form.js';
import { collectOutputs } from './legacy-outputs.js';
import { LegacyRequest } from './legacy-request.js';
import { bindingDataOf, toLegacyValue } from './legacy-values.js';

function request(http: RpcHttpInit): LegacyRequest {
  const data = decoded({ inputData: [{ name: 'req', data: { http } }] }).inputData[0]?.data?.http;
  if (!data) throw new Error('no request');
  return new LegacyRequest(data);
}

describe('a v3 request', () => {
  const body = (text: string | Buffer, type: string): LegacyRequest =>
    request({ body: { bytes: Buffer.from(text) }, nullableHeaders: { 'content-type': { value: type } } });

  it('has a body that is parsed if it is JSON', () => {
    expect(body('{"a":1}', 'text/plain')).toMatchObject({ body: { a: 1 }, rawBody: '{"a":1}' });
    expect(body('text', 'text/plain')).toMatchObject({ body: 'text', rawBody: 'text' });
    expect(request({ method: 'GET' }).body).toBeUndefined();
  });

  it('has a body of bytes where the content type says so', () => {
    const { body: bytes } = body(Buffer.from([1, 2]), 'application/octet-stream');
    expect(bytes).toEqual(Buffer.from([1, 2]));
  });

  it('is decoded by its byte order mark', () => {
    expect(body(Buffer.from('\uFEFFhé', 'utf16le'), 'text/plain').body).toBe('hé');
    expect(body(Buffer.from('\uFEFFhé', 'utf8'), 'text/plain').body).toBe('hé');
  });

  it('reads the forms that browsers send', () => {
    const encoded = body('a=1&a=2&b=%20', 'application/x-www-form-urlencoded').parseFormBody();
    expect([
      encoded.getAll('a').map(({ value }) => value.toString()),
      encoded.get('b')?.value.toString(),
      encoded.has('c'),
    ]).toEqual([['1', '2'], ' ', false]);
    const text = [
      '--X',
      'Content-Disposition: form-data; name="f"; filename="a \\"b\\".txt"',
      'Content-Type: text/plain',
      '',
      'line 1',
      'line 2',
      '--X--',
      '',
    ];
    const form = body(text.join('\r\n'), 'multipart/form-data; boundary=X').parseFormBody();
    expect(form.length).toBe(1);
    expect(form.get('f')).toEqual({
      value: Buffer.from('line 1\r\nline 2'),
      fileName: 'a "b".txt',
      contentType: 'text/plain',
    });
  });

  it('refuses forms of another kind', () => {
    expect(() => parseForm(Buffer.from(''), 'text/plain')).toThrow('does not match types supported for form parsing');
    expect(() => parseForm(Buffer.from(''), 'multipart/form-data')).toThrow('has no boundary parameter');
    expect(() => request({}).parseFormBody()).toThrow('"content-type" header must be defined.');
  });

  it('knows its user from the headers of the platform', () => {
    const principal = (data: unknown): string => Buffer.from(JSON.stringify(data)).toString('base64');
    const user = (value: string) =>
      request({ nullableHeaders: { 'x-ms-client-principal': { value }, 'x-ms-client-principal-id': { value: '7' } } })
        .user;
    expect(user(principal({ identityProvider: 'github', userId: 'u' }))).toMatchObject({
      type: 'StaticWebApps',
      id: 'u',
    });
    expect(user(principal({ claims: [] }))).toMatchObject({ type: 'AppService', id: '7' });
    expect(user('nonsense')).toBeNull();
    expect(request({}).user).toBeNull();
  });
});

describe('v3 values', () => {
  it('stay text in collections, and for numbers that are too large', () => {
    expect(toLegacyValue({ collectionString: { string: ['{"a":1}'] } })).toEqual(['{"a":1}']);
    expect(toLegacyValue({ int: 2n ** 60n })).toBe(String(2n ** 60n));
    expect(toLegacyValue({ json: 'no json' })).toBe('no json');
    expect(toLegacyValue({ string: '' })).toBe('');
  });

  it('of metadata have names in camel case, but not within lists', () => {
    const data = { Outer: { json: '{"Inner":{"Deep":1},"List":[{"Kept":1}]}' }, Id: { string: 'x' } };
    expect(bindingDataOf(data)).toEqual({ outer: { inner: { deep: 1 }, list: [{ Kept: 1 }] }, id: 'x' });
  });
});

describe('v3 outputs', () => {
  const http = { req: { type: 'httpTrigger', direction: 'in' }, res: { type: 'http', direction: 'out' } };
  const queue = {
    item: { type: 'queueTrigger', direction: 'in' },
    a: { type: 'queue', direction: 'out' },
    b: { type: 'queue', direction: 'out' },
  };
  const collect = (definitions: Parameters<typeof collectOutputs>[0], result: unknown, bindings = {}, res?: unknown) =>
    collectOutputs(definitions, { result, bindings, res });

  it('come from context.res, or from the output of that name', () => {
    expect(collect(http, undefined, {}, { status: 400, body: 'no' }).outputData[0]?.data?.http).toMatchObject({
      statusCode: '400',
      body: { string: 'no' },
    });
    expect(
      collect(http, undefined, { res: { statusCode: 201 } }, { status: 400 }).outputData[0]?.data?.http?.statusCode,
    ).toBe('201');
    expect(collect(http, { res: { status: '202' } }, {}, {}).outputData[0]?.data?.http?.statusCode).toBe('202');
  });

  it('of a returned object win over context.bindings', () => {
    const { outputData, returnValue } = collect(queue, { a: 'returned' }, { a: 'set', b: 'set' });
    expect(outputData).toEqual([
      { name: 'a', data: { string: 'returned' } },
      { name: 'b', data: { string: 'set' } },
    ]);
    expect(returnValue).toBeUndefined();
  });

  it('are the result itself where it belongs to none, unless the trigger is HTTP', () => {
    expect(collect(queue, 'result').returnValue).toEqual({ string: 'result' });
    expect(collect(queue, 0).returnValue).toBeUndefined();
    expect(collect(http, 'result', {}, {}).returnValue).toBeUndefined();
    expect(collect({ name: { type: 'activityTrigger', direction: 'in' } }, 0).returnValue).toEqual({ int: 0 });
  });

  it('go to $return where there is one', () => {
    const definitions = { req: { type: 'httpTrigger', direction: 'in' }, $return: { type: 'http', direction: 'out' } };
    expect(
      collect(definitions, { body: { a: 1 }, headers: { X: 1, none: null } }, {}, {}).returnValue?.http,
    ).toMatchObject({
      body: { json: '{"a":1}' },
      headers: { X: '1' },
    });
    expect(collect(definitions, undefined, {}, { status: 418 }).returnValue?.http?.statusCode).toBe('418');
    expect(() => collect(definitions, 'text', {}, {})).toThrow("The HTTP response must be an 'object' type");
  });
});
