import { StatusResultStatus, type RpcHttp } from '@drover/function-rpc';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CompatWorker, endAll, httpData } from './worker.js';

const { Success, Failure } = StatusResultStatus;

describe.each([
  ['as the worker is shipped', {}],
  ['with the library doing everything', { DROVER_WORKER_PLAIN_LIBRARY: '1' }],
])('HTTP, %s', (_, env) => {
  let worker: CompatWorker;
  beforeAll(async () => {
    worker = await CompatWorker.withApp('v4-commonjs', env);
    // From here on both ways of the worker are open: the library has made one request.
    await worker.call('byGet', { data: httpData('GET', 'http://localhost/api/byGet') });
  });
  afterAll(endAll);

  const ask = async (name: string, ...request: Parameters<typeof httpData>): Promise<RpcHttp> => {
    const { response } = await worker.call(name, { data: httpData(...request) });
    expect(response.result).toMatchObject({ status: Success });
    const http = response.returnValue?.http;
    if (!http) return expect.unreachable('no HTTP came back');
    return http;
  };
  const jsonOf = ({ body }: RpcHttp): unknown => JSON.parse(String(body?.bytes));
  const answer = (kind: string) =>
    worker.call('answer', { data: httpData('GET', 'http://localhost/api/answer', { params: { kind } }) });

  it('shows method, address, headers, query, route parameters and body of a request', async () => {
    const http = await ask('seeRequest', 'POST', 'https://example.test:8443/api/things/5/a/b?x=1&x=2&empty=', {
      headers: { 'content-type': 'text/plain', 'x-in': 'a,b', 'x-empty': '' },
      params: { id: '5', rest: 'a/b' },
      query: { x: '1,2', empty: '' },
      body: 'the body',
    });
    expect(jsonOf(http)).toEqual({
      method: 'POST',
      url: 'https://example.test:8443/api/things/5/a/b?x=1&x=2&empty=',
      headers: { 'content-type': 'text/plain', 'x-in': 'a,b', 'x-empty': '' },
      query: [
        ['x', '1,2'],
        ['empty', ''],
      ],
      params: { id: '5', rest: 'a/b' },
      user: null,
      body: 'the body',
      again: 'the body',
      used: true,
      isRequest: true,
      isContext: true,
      metadata: null,
    });
    expect(http.headers['content-type']).toBe('application/json');
    expect(http.statusCode).toBe('200');
  });

  it('shows the identity of the caller', async () => {
    const principal = { identityProvider: 'aad', userId: 'u', userDetails: 'me', userRoles: ['anonymous'] };
    const headers = { 'x-ms-client-principal': Buffer.from(JSON.stringify(principal)).toString('base64') };
    const http = await ask('seeRequest', 'GET', 'http://localhost/api/things/1', { headers });
    expect(jsonOf(http)).toMatchObject({ user: { type: 'StaticWebApps', id: 'u', username: 'me' } });
  });

  it('drops the body of a GET, as the library does', async () => {
    const http = await ask('seeRequest', 'GET', 'http://localhost/api/things/1', { body: 'dropped' });
    expect(jsonOf(http)).toMatchObject({ body: '', again: '' });
  });

  it('reads JSON, bytes and forms', async () => {
    const given = { a: [1, { b: 'ä' }] };
    expect(jsonOf(await ask('seeJson', 'POST', 'http://localhost/', { body: JSON.stringify(given) }))).toEqual(given);
    const bytes = Buffer.from(Array.from({ length: 100_000 }, (__, n) => n % 256));
    const echoed = await ask('seeBytes', 'POST', 'http://localhost/', { body: bytes });
    expect(Buffer.from(echoed.body?.bytes ?? []).equals(bytes)).toBe(true);
    const body = [
      '--b\r\ncontent-disposition: form-data; name="field"\r\n\r\nvalue\r\n',
      '--b\r\ncontent-disposition: form-data; name="file"; filename="f.txt"\r\ncontent-type: text/plain\r\n\r\nin it\r\n--b--\r\n',
    ].join('');
    const form = await ask('seeForm', 'POST', 'http://localhost/', {
      headers: { 'content-type': 'multipart/form-data; boundary=b' },
      body,
    });
    expect(jsonOf(form)).toEqual({ field: 'value', file: ['f.txt', 'text/plain', 'in it'] });
  });

  it('fails the invocation, and nothing else, when a body is not what the handler takes it for', async () => {
    const { response } = await worker.call('seeJson', {
      data: httpData('POST', 'http://localhost/', { body: 'no json' }),
    });
    expect(response.result).toMatchObject({
      status: Failure,
      exception: { type: 'SyntaxError', isUserException: true },
    });
  });

  it.each([
    ['empty', '200', {}, ''],
    ['text', '200', { 'content-type': 'text/plain;charset=UTF-8' }, 'text'],
    ['bytes', '200', {}, '\u0000\ufffd'],
    ['arrayBuffer', '200', {}, '\u0001\u0002'],
    ['stream', '200', {}, 'ab'],
    ['generator', '200', {}, 'cd'],
    ['form', '200', { 'content-type': 'application/x-www-form-urlencoded;charset=UTF-8' }, 'a=1'],
    ['json', '200', { 'content-type': 'application/json' }, '{"a":[1,null]}'],
    ['jsonNull', '200', {}, ''],
    ['jsonTyped', '200', { 'content-type': 'application/problem+json' }, '1'],
    ['status', '418', { 'content-type': 'text/plain;charset=UTF-8' }, 'teapot'],
    ['headers', '200', { 'x-one': '1', 'x-two': 'a, b' }, ''],
    ['headersObject', '200', { 'x-list': '1, 2' }, ''],
    ['noBodyAllowed', '204', {}, ''],
    ['response', '202', { 'content-type': 'text/plain;charset=UTF-8', 'x-made': 'yes' }, 'made'],
  ])('answers with %s', async (kind, status, headers, body) => {
    const { response } = await answer(kind);
    const http = response.returnValue?.http;
    expect(response.result).toMatchObject({ status: Success });
    expect(http?.statusCode).toBe(status);
    expect({ ...http?.headers }).toEqual(headers);
    expect(Buffer.from(http?.body?.bytes ?? []).toString('utf8')).toBe(body);
    expect(http?.enableContentNegotiation).toBe(false);
    expect(response.outputData).toEqual([]);
  });

  it.each(['nothing', 'null'])('answers with no value when the handler returns %s', async (kind) => {
    const { response } = await answer(kind);
    expect(response.result).toMatchObject({ status: Success });
    expect(response.returnValue).toBeUndefined();
  });

  it.each(['number', 'string'])('refuses an answer that is a %s', async (kind) => {
    const { response } = await answer(kind);
    expect(response.result).toMatchObject({
      status: Failure,
      exception: { message: expect.stringContaining('The HTTP response must be an object') as string },
    });
  });

  it('sends cookies with everything that can be said of them', async () => {
    const { response } = await answer('cookies');
    const expires = { value: { seconds: 1_700_000_000 } };
    expect(response.returnValue?.http?.cookies).toMatchObject([
      { name: 'plain', value: '1', sameSite: 0 },
      {
        name: 'all',
        value: '2',
        domain: { value: 'example.test' },
        path: { value: '/p' },
        expires,
        maxAge: { value: 60 },
        secure: { value: true },
        httpOnly: { value: true },
        sameSite: 2,
      },
      { name: 'none', value: '3', sameSite: 3, expires },
      { name: 'lax', value: '4', sameSite: 1, secure: { value: false } },
    ]);
    const [plain] = response.returnValue?.http?.cookies ?? [];
    expect(plain).toMatchObject({
      domain: undefined,
      path: undefined,
      expires: undefined,
      maxAge: undefined,
      secure: undefined,
    });
  });

  it('passes on that content may be negotiated', async () => {
    const { response } = await answer('negotiated');
    expect(response.returnValue?.http?.enableContentNegotiation).toBe(true);
  });

  it.each([
    ['byGet', 'GET', undefined],
    ['byPost', 'POST', undefined],
    ['byPut', 'PUT', 'put/it'],
    ['byPatch', 'PATCH', undefined],
    ['byDelete', 'DELETE', undefined],
  ])('registers the short forms: %s', async (name, method, route) => {
    const [trigger] = worker.bindings(name);
    expect(trigger).toMatchObject({
      type: 'httpTrigger',
      methods: [method],
      authLevel: 'anonymous',
      ...(route && { route }),
    });
    expect(String((await ask(name, method, 'http://localhost/')).body?.bytes)).toBe(name.slice(2).toLowerCase());
  });

  it('reports what else an HTTP trigger says, and the answer as its output', () => {
    expect(worker.bindings('seeRequest')).toMatchObject([
      {
        type: 'httpTrigger',
        direction: 'in',
        authLevel: 'function',
        route: 'things/{id:int}/{*rest}',
        methods: ['GET', 'POST', 'PUT'],
      },
      { type: 'http', direction: 'out', name: '$return' },
    ]);
  });

  it('keeps 200 requests at once apart', async () => {
    const names = Array.from({ length: 200 }, (__, n) => `n${n}`);
    const answers = await Promise.all(
      names.map(async (name) =>
        jsonOf(await ask('seeJson', 'POST', 'http://localhost/', { body: JSON.stringify({ name }) })),
      ),
    );
    expect(answers).toEqual(names.map((name) => ({ name })));
  });
});
