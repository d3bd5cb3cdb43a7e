import { describe, expect, it } from 'vitest';
import { readClientPrincipal, stripClientPrincipal } from './client-principal.js';
import { bindingOf } from './definition.test.fixture.js';
import { httpBindingData, httpInputs, type HttpTriggerRequest } from './http-inputs.js';

const node = {
  RpcHttpBodyOnly: 'true',
  RawHttpBodyBytes: 'true',
  RpcHttpTriggerMetadataRemoved: 'true',
  UseNullableValueDictionaryForHttp: 'true',
  IgnoreEmptyValuedRpcHttpHeaders: 'true',
  TypedDataCollection: 'true',
};
const body = Buffer.from('{"name":"Ann"}');
const request: HttpTriggerRequest = {
  method: 'POST',
  url: 'http://localhost/api/x/7?a=1&a=2&e=&code=k',
  headers: { 'content-type': 'application/json; charset=utf-8', 'x-empty': '', 'x-a': 'b' },
  query: { a: '1,2', e: '', code: 'k' },
  params: { id: '7' },
  body,
  identities: [],
};
const trigger = { ...bindingOf('httpTrigger'), name: 'req' };
const inputs = (capabilities: Record<string, string>, change: Partial<HttpTriggerRequest> = {}) =>
  httpInputs(trigger, { ...request, ...change }, capabilities);
const httpOf = (capabilities: Record<string, string>, change: Partial<HttpTriggerRequest> = {}) =>
  inputs(capabilities, change).inputData[0]?.data?.http;

describe('httpInputs', () => {
  it('speaks to the Node worker in nullable maps and bytes', () => {
    expect(httpOf(node)).toEqual({
      method: 'POST',
      url: request.url,
      identities: [],
      nullableHeaders: {
        'content-type': { value: 'application/json; charset=utf-8' },
        'x-empty': { value: '' },
        'x-a': { value: 'b' },
      },
      nullableQuery: { a: { value: '1,2' }, e: { value: '' }, code: { value: 'k' } },
      nullableParams: { id: { value: '7' } },
      body: { bytes: body },
    });
  });

  it('speaks to a worker without capabilities in plain maps, with body and raw body', () => {
    expect(httpOf({})).toMatchObject({
      headers: { 'x-empty': '', 'x-a': 'b' },
      query: { a: '1,2', code: 'k' },
      params: { id: '7' },
      body: { json: '{"name":"Ann"}' },
      rawBody: { string: '{"name":"Ann"}' },
    });
    expect(httpOf({})?.query).not.toHaveProperty('e');
  });

  it('drops empty headers only for workers that ask for it', () => {
    expect(httpOf({ IgnoreEmptyValuedRpcHttpHeaders: 'true' })?.headers).not.toHaveProperty('x-empty');
    expect(httpOf({ IgnoreEmptyValuedRpcHttpHeaders: '' })?.headers).toHaveProperty('x-empty');
  });

  const octets = { headers: { 'content-type': 'application/octet-stream' } };
  it.each([
    [{ RpcHttpBodyOnly: '1' }, {}, { body: { string: '{"name":"Ann"}' } }],
    [{ RpcHttpBodyOnly: '1' }, octets, { body: { bytes: body } }],
    [{ RpcHttpBodyOnly: '1', RawHttpBodyBytes: '1' }, {}, { body: { bytes: body } }],
    [{}, octets, { body: { bytes: body }, rawBody: { string: '{"name":"Ann"}' } }],
    [{ RawHttpBodyBytes: '1' }, octets, { body: { bytes: body }, rawBody: { bytes: body } }],
    [{ RawHttpBodyBytes: '1' }, {}, { body: { json: '{"name":"Ann"}' }, rawBody: { bytes: body } }],
    [{}, { headers: {} }, { body: { string: '{"name":"Ann"}' } }],
    [{}, { headers: { 'content-type': 'multipart/form-data; boundary=x' } }, { body: { bytes: body } }],
    [{}, { body: Buffer.from('{') }, { body: { string: '{' }, rawBody: { string: '{' } }],
  ])('with %j and %j the body is %j', (capabilities, change, expected) => {
    expect(httpOf(capabilities, change)).toMatchObject(expected);
  });

  it('has no body at all where there is none, or an empty one', () => {
    for (const none of [undefined, new Uint8Array(0)]) {
      expect(httpOf(node, { body: none })?.body).toBeUndefined();
      expect(httpOf({}, { body: none })?.rawBody).toBeUndefined();
    }
  });

  it('repeats headers, query and route parameters beside it, but neither the key nor the request', () => {
    expect({ ...inputs(node).triggerMetadata }).toEqual({
      Headers: { json: JSON.stringify(request.headers) },
      Query: { json: '{"a":"1,2","e":""}' },
      id: { string: '7' },
    });
  });

  it('repeats the request for workers that still want it', () => {
    const { inputData, triggerMetadata } = inputs({});
    expect(triggerMetadata['req']).toEqual(inputData[0]?.data);
  });

  it('sends an empty request where the worker has a server of its own', () => {
    const streaming = { ...node, HttpUri: 'http://localhost:1' };
    expect(inputs(streaming).inputData).toEqual([{ name: 'req', data: { http: {} } }]);
    expect(Object.keys(inputs(streaming).triggerMetadata)).toEqual(['Headers', 'Query', 'id']);
    expect(httpOf({ ...streaming, RequiresRouteParameters: '1' })).toEqual({ nullableParams: { id: { value: '7' } } });
    expect(httpOf({ HttpUri: 'x', RequiresRouteParameters: '1' })).toEqual({ params: { id: '7' } });
  });

  it('takes names that reach into prototypes as names', () => {
    const query = Object.assign(Object.create(null), { ['__proto__']: 'x', constructor: 'y' }) as Record<
      string,
      string
    >;
    const params = Object.assign(Object.create(null), { Headers: 'z', toString: 'w' }) as Record<string, string>;
    const { triggerMetadata } = inputs(node, { query, params });
    expect(Object.keys(httpOf(node, { query })?.nullableQuery ?? {})).toEqual(['__proto__', 'constructor']);
    expect(triggerMetadata['Headers']).toHaveProperty('json');
    expect(triggerMetadata['toString']).toEqual({ string: 'w' });
    expect({}).not.toHaveProperty('x');
  });
});

describe('httpBindingData', () => {
  it('names parts of the request and its values, route before query before body', () => {
    const data = httpBindingData({
      ...request,
      query: { id: 'q', page: '2', code: 'k' },
      body: Buffer.from('{"id":"b","page":3,"name":"Ann"}'),
    });
    expect(data).toMatchObject({ id: '7', page: '2', name: 'Ann', headers: { 'x-a': 'b' }, query: { page: '2' } });
    expect(data).not.toHaveProperty('code');
  });

  it('is content with a body that is no object', () => {
    for (const text of ['', '[1]', '{', 'null'])
      expect(httpBindingData({ ...request, body: Buffer.from(text) })).toHaveProperty('id');
  });
});

describe('client principals', () => {
  const encode = (value: unknown) => ({
    'x-ms-client-principal': Buffer.from(JSON.stringify(value)).toString('base64'),
  });

  it('become identities with their claims', () => {
    const principal = {
      auth_typ: 'aad',
      name_typ: 'name',
      role_typ: 'role',
      claims: [{ typ: 'name', val: 'Ann' }, { typ: 5 }, null],
    };
    expect(readClientPrincipal(encode(principal))).toEqual([
      {
        authenticationType: { value: 'aad' },
        nameClaimType: { value: 'name' },
        roleClaimType: { value: 'role' },
        claims: [{ type: 'name', value: 'Ann' }],
      },
    ]);
  });

  it('are nothing when they cannot be read', () => {
    for (const headers of [{}, { 'x-ms-client-principal': '%%%' }, encode([]), encode('x'), encode(null)])
      expect(readClientPrincipal(headers)).toEqual([]);
  });

  it('can be taken away, with all that belongs to them', () => {
    const headers = {
      ...encode({}),
      'x-ms-client-principal-id': 'x',
      'x-ms-client-principal-name': 'y',
      'x-ms-client-principal-idp': 'z',
      other: 'o',
    };
    stripClientPrincipal(headers);
    expect(headers).toEqual({ other: 'o' });
  });
});
