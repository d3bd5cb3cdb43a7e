import { gzipSync } from 'node:zlib';
import { eventually } from '@drover/testkit';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { postText, startFunctionsPlatform, type FunctionsPlatform } from './support/functions.js';
import { exchange, parseAnswer, RawConnection, type Answer } from './support/raw-http.js';
import './support/refusal-matcher.js';
import { leavesNoSecretBehind } from './support/secrets.js';

let platform: FunctionsPlatform;
const limitBytes = 1_048_576;
const name = 'target';
const verbs = ['invoke', 'enqueue', 'enqueue-batch'];

leavesNoSecretBehind();
beforeAll(async () => {
  platform = await startFunctionsPlatform();
  await platform.register(name);
});
afterAll(() => platform?.stop());

// Whatever came before: nothing of it has run, and the next call works.
afterEach(async () => {
  const ran = platform.endpoint.calls(name).length;
  const { status, text, envelope } = await platform.invoke(name, 'the next');
  if (status !== 200 || envelope.output !== 'the next')
    throw new Error(`the next call was answered with ${status} ${text}`);
  const calls = platform.endpoint.calls(name);
  if (calls.length !== ran + 1 || calls.some(({ body }) => body.input !== 'the next'))
    throw new Error('what was refused has run all the same');
  const errors = platform.plane.log.filter(({ level }) => level === 'error');
  if (errors.length > 0) throw new Error(`the log has errors: ${JSON.stringify(errors)}`);
});

/** Nothing of our inside is in the answer. */
function expectNoInside({ text }: Answer): void {
  expect(text).not.toMatch(/\bat \S+ \(|node:internal|node_modules|\/src\/|\.ts:|select |insert |drover\.\w+/i);
  expect(text.length).toBeLessThan(1_000);
}

const request = (path: string, body: string | Buffer, ...headers: readonly string[]): string =>
  postText(platform.key, path, body, ...headers);
const send = (path: string, body: string | Buffer, ...headers: readonly string[]): Promise<Answer> =>
  exchange(platform.plane.url, request(path, body, ...headers));
const of = (verb: string): string => `/v1/functions/${name}:${verb}`;
const deep = (levels: number): string => `{"input":${'['.repeat(levels)}${']'.repeat(levels)}}`;

describe('a body', () => {
  it.each([
    ['is empty', '', 'BAD_REQUEST'],
    ['is not JSON', '{"input":', 'BAD_REQUEST'],
    ['goes on behind its end', '{"input":1}{"input":2}', 'BAD_REQUEST'],
    ['has a byte order mark', '\ufeff{"input":1}', 'BAD_REQUEST'],
    ['has a raw control character', '{"input":"\u0001"}', 'BAD_REQUEST'],
    ['is a number', '1', 'VALIDATION_ERROR'],
    ['is null', 'null', 'VALIDATION_ERROR'],
    ['is a string', '"input"', 'VALIDATION_ERROR'],
    ['is a list', '[{"input":1}]', 'VALIDATION_ERROR'],
    ['has no input', '{"metadata":{}}', 'VALIDATION_ERROR'],
    ['has an input only in its prototype', '{"constructor":{"input":1}}', 'VALIDATION_ERROR'],
    ['is deep', deep(129), 'BAD_REQUEST'],
    ['is very deep', deep(100_000), 'BAD_REQUEST'],
    ['is deep and unfinished', '['.repeat(100_000), 'BAD_REQUEST'],
    ['reaches for the prototype', '{"input":{"a":[{"__proto__":{"isAdmin":true}}]}}', 'BAD_REQUEST'],
    ['reaches for it at the top', '{"input":1,"__proto__":{"input":2}}', 'BAD_REQUEST'],
    ['reaches for it with escapes', '{"input":{"\\u005f_proto_\\u005f":{"isAdmin":true}}}', 'BAD_REQUEST'],
    ['reaches for it in metadata', '{"input":1,"metadata":{"__proto__":"x"}}', 'BAD_REQUEST'],
    ['has metadata that is a list', '{"input":1,"metadata":["a"]}', 'VALIDATION_ERROR'],
    ['has metadata that is a text', '{"input":1,"metadata":"a"}', 'VALIDATION_ERROR'],
    ['has metadata that are no texts', '{"input":1,"metadata":{"a":{}}}', 'VALIDATION_ERROR'],
    ['has a long key in its metadata', `{"input":1,"metadata":{"${'k'.repeat(257)}":"v"}}`, 'VALIDATION_ERROR'],
    ['has a long text in its metadata', `{"input":1,"metadata":{"k":"${'v'.repeat(8_193)}"}}`, 'VALIDATION_ERROR'],
    [
      'has much metadata',
      JSON.stringify({ input: 1, metadata: Object.fromEntries(Array.from({ length: 65 }, (_, n) => [n, ''])) }),
      'VALIDATION_ERROR',
    ],
  ])('that %s is refused', async (_, body, code) => {
    for (const verb of ['invoke', 'enqueue']) {
      const answer = await send(of(verb), body);
      expect(answer).toBeRefusedWith(400, code);
      expectNoInside(answer);
    }
    const batch = await send(of('enqueue-batch'), body.startsWith('{') ? `{"items":[${body}]}` : body);
    expect(batch.status).toBe(400);
    expectNoInside(batch);
  });

  it.each([
    'text/plain',
    'application/xml',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    '',
    'json',
    'application/json-patch+json',
    'x'.repeat(500),
  ])('of the type "%s" is refused', async (type) => {
    for (const verb of verbs) {
      const answer = await send(of(verb), '{"input":1,"items":[{"input":1}]}', `content-type: ${type}`);
      expect(answer).toBeRefusedWith(415, 'UNSUPPORTED_MEDIA_TYPE');
      expectNoInside(answer);
    }
  });

  it.each(['gzip', 'br', 'deflate', 'zstd', 'GZIP'])('compressed with %s is refused, unread', async (encoding) => {
    for (const verb of verbs) {
      const answer = await send(of(verb), gzipSync('{"input":1}'), `content-encoding: ${encoding}`);
      expect(answer).toBeRefusedWith(415, 'UNSUPPORTED_MEDIA_TYPE');
    }
  });

  it('of exactly the limit is taken, one byte more is not', async () => {
    await platform.register('large', ({ text }) => ({ json: text.length }));
    const fitting = `{"input":"${'x'.repeat(limitBytes - 12)}"}`;
    expect(fitting).toHaveLength(limitBytes);
    expect((await send('/v1/functions/large:invoke', fitting)).status).toBe(200);
    for (const verb of verbs) expect(await send(of(verb), `${fitting} `)).toBeRefusedWith(413, 'PAYLOAD_TOO_LARGE');
    expect(
      await send('/v1/internal/executions/01890000-0000-7000-8000-000000000000:complete', `${fitting} `),
    ).toBeRefusedWith(413, 'PAYLOAD_TOO_LARGE');
  });

  it('that is announced too large is refused before it is sent', async () => {
    const connection = await RawConnection.open(platform.plane.url);
    connection.send(request(of('invoke'), '', `content-length: ${limitBytes + 1}`));
    await connection.ended;
    expect(parseAnswer(connection.received)).toBeRefusedWith(413, 'PAYLOAD_TOO_LARGE');
  });

  it('that never ends is cut off', async () => {
    const connection = await RawConnection.open(platform.plane.url);
    connection.send(request(of('invoke'), '', 'transfer-encoding: chunked'));
    const chunk = `10000\r\n${' '.repeat(65_536)}\r\n`;
    let sent = 0;
    await eventually(() => {
      if (!connection.closed) connection.send(chunk);
      sent += 65_536;
      return connection.closed;
    });
    expect(sent).toBeLessThan(100 * limitBytes);
    // The reset of the connection may overtake the answer.
    if (connection.received !== '') expect(parseAnswer(connection.received)).toBeRefusedWith(413, 'PAYLOAD_TOO_LARGE');
  });

  it('with broken chunks has one answer', async () => {
    for (const path of [of('invoke'), '/v1/functions/nobody:invoke', '/v1/functions/a%20b:invoke']) {
      const connection = await RawConnection.open(platform.plane.url);
      await connection.send(request(path, 'zz\r\n{}\r\n', 'transfer-encoding: chunked')).ended;
      expect(connection.received.match(/HTTP\/1\.1/g)).toHaveLength(1);
      expect(parseAnswer(connection.received).status).toBeGreaterThanOrEqual(400);
    }
  });

  it('longer than announced has one answer, and the rest is no second call', async () => {
    await platform.register('longer');
    const path = '/v1/functions/longer:invoke';
    const text = request(path, '{"input":1}', 'content-length: 11') + request(path, '{"input":2}').slice(4);
    const connection = await RawConnection.open(platform.plane.url);
    await connection.send(text).ended;
    expect(connection.received.match(/HTTP\/1\.1/g)).toHaveLength(1);
    expect(platform.endpoint.calls('longer').filter(({ body }) => body.input === 2)).toEqual([]);
  });

  it('shorter than announced, from a client that then leaves, is no call', async () => {
    const connection = await RawConnection.open(platform.plane.url);
    connection.send(request(of('invoke'), '{"input":1}', 'content-length: 500'));
    await connection.close();
    expect(connection.received).toBe('');
  });

  it('with both a length and chunks is refused', async () => {
    const answer = await send(of('invoke'), '0\r\n\r\n', 'content-length: 5', 'transfer-encoding: chunked');
    expect(answer).toBeRefusedWith(400, 'BAD_REQUEST');
  });

  it.each([
    ['half a character', '"\\ud800"'],
    ['a NUL', '"a\\u0000b"'],
    ['a key that is a NUL', '{"\\u0000":1}'],
    ['a key twice', '{"a":1,"a":2}'],
    ['names of methods', '{"constructor":1,"toString":2,"hasOwnProperty":3,"then":4}'],
    ['a text that only looks like the key', '"__proto__"'],
  ])('with %s is carried, kept and shown as it is', async (what, input) => {
    const own = `carries-${what.replaceAll(/\W+/g, '-')}`;
    await platform.register(own, ({ text }) => ({
      text: text.slice('{"input":'.length, text.indexOf(',"metadata"')),
      headers: { 'content-type': 'application/json' },
    }));
    const metadata = '{"\\u0000":"\\ud800"}';
    const { body, text } = await send(`/v1/functions/${own}:enqueue`, `{"input":${input},"metadata":${metadata}}`);
    const { executionId } = body as { readonly executionId?: string };
    expect(text).toContain('executionId');
    const ended = await platform.ended(executionId ?? '');
    expect(ended.output).toEqual(JSON.parse(input));
    expect(ended.metadata).toEqual(JSON.parse(metadata));
    const { body: listed } = await platform.request(`/v1/executions?function=${own}`);
    expect(listed).toMatchObject({ executions: [{ executionId, output: JSON.parse(input) as unknown }] });
  });

  it('with a key twice, in any spelling: the last counts', async () => {
    await platform.register('last');
    const { body } = await send('/v1/functions/last:invoke', '{"input":1,"inp\\u0075t":2}');
    expect(body).toMatchObject({ output: 2 });
  });
});

describe('an address', () => {
  it.each([
    'a:b',
    'a%3Ab',
    'a%20b',
    'a%2Fb',
    '%74arget',
    '%',
    '%zz',
    '%00',
    '1st',
    '-x',
    '..',
    '.',
    '%C3%BC',
    '__proto__',
    'x'.repeat(64),
    'x'.repeat(5_000),
    'a b'.replace(' ', '+'),
    "a'--",
    '{name}',
  ])('with the name "%s" is refused', async (subject) => {
    for (const verb of verbs) {
      const answer = await send(`/v1/functions/${subject}:${verb}`, '{"input":1,"items":[{"input":1}]}');
      expect(answer).toBeRefusedWith(400, 'VALIDATION_ERROR');
      expectNoInside(answer);
    }
    for (const path of ['/function/', '/async-function/'])
      expect(await send(`${path}${subject}`, '1')).toBeRefusedWith(400, 'VALIDATION_ERROR');
  });

  it.each([
    ['POST', '/v1/functions/:invoke'],
    ['POST', `/v1/functions/${name}:`],
    ['POST', `/v1/functions/${name}:run`],
    ['POST', `/v1/functions/${name}:Invoke`],
    ['POST', `/v1/functions/${name}:invoke/`],
    ['POST', `/v1/functions/a/${name}:invoke`],
    ['POST', `/v1/functions/${name}:constructor`],
    ['POST', `/v1/functions/${name}%3Ainvoke`],
    ['POST', '/v1/functions//:invoke'],
    ['POST', '/v1/executions/:cancel'],
    ['POST', '/v1/executions/x:complete'],
    ['POST', '/v1/internal/executions/x:cancel'],
    ['POST', '/v1/internal/attempts/x'],
    ['POST', '/function/'],
    ['POST', `/function/${name}/sub`],
    ['GET', `/async-function/${name}`],
    ['GET', '/v1/executions/'],
    ['GET', '/v1/executions/a/b'],
    ['GET', `/v1/functions/${name}:invoke`],
    ['PUT', `/v1/functions/${name}:invoke`],
    ['DELETE', `/v1/functions/${name}:enqueue`],
    ['HEAD', `/v1/functions/${name}:invoke`],
    ['OPTIONS', `/v1/functions/${name}:invoke`],
    ['TRACE', `/v1/functions/${name}:invoke`],
    ['PROPFIND', `/v1/functions/${name}:invoke`],
    ['POST', '/V1/functions/target:invoke'],
  ])('%s %s is not served', async (method, path) => {
    const text = request(path, '{"input":1}').replace('POST', method);
    const answer = await exchange(platform.plane.url, text);
    // A name with a verb behind it is no name: where one is wanted, that is said instead.
    expect([400, 404]).toContain(answer.status);
    if (method !== 'HEAD')
      expect(['ROUTE_NOT_FOUND', 'VALIDATION_ERROR', 'BAD_REQUEST']).toContain(
        (answer.body as { readonly error: string }).error,
      );
    expectNoInside(answer);
  });

  it('too long is refused', async () => {
    expect(await send(`/v1/functions/${'x'.repeat(9_000)}:invoke`, '{}')).toBeRefusedWith(414, 'URI_TOO_LONG');
  });

  it('may have a query, which says nothing', async () => {
    expect((await send(`${of('invoke')}?input=:enqueue`, '{"input":"the next"}')).status).toBe(200);
  });
});

describe('a header', () => {
  it.each([
    ['x-timeout-ms', ['0', '-1', '1.5', '1e3', 'abc', '300001', '9'.repeat(30), '0x10', ' ', '1, 2']],
    ['idempotency-key', ['', 'a b', 'x'.repeat(256), 'ü', 'a\tb']],
    ['x-trace-id', ['', 'a b', 'x'.repeat(129), 'a/b', 'ü', "'--"]],
  ] as const)('%s that is wrong is refused', async (header, values) => {
    for (const value of values) {
      const answer = await send(of('invoke'), '{"input":1}', `${header}: ${Buffer.from(value).toString('latin1')}`);
      expect(answer).toBeRefusedWith(400, 'VALIDATION_ERROR');
      expect(answer.text.toLowerCase()).toContain(header);
    }
    const twice = await send(of('invoke'), '{"input":1}', `${header}: 1`, `${header}: 2`);
    expect(twice).toBeRefusedWith(400, 'VALIDATION_ERROR');
  });

  it.each([
    ['too many', Array.from({ length: 101 }, (_, n) => `x-${n}: ${n}`)],
    ['too large', [`x-large: ${'x'.repeat(17_000)}`]],
  ])('flood is refused: %s', async (_, headers) => {
    for (const verb of verbs)
      expect(await send(of(verb), '{"input":1}', ...headers)).toBeRefusedWith(431, 'HEADERS_TOO_LARGE');
  });

  it('with strange content is no harm', async () => {
    const answer = await send(
      of('invoke'),
      '{"input":"the next"}',
      '__proto__: x',
      'constructor: y',
      'x-latin: \u00e4\u00ff',
      'traceparent: garbage',
      'x-drover-forwarded: me',
      'x-drover-not-home: 1',
      'x-http-method-override: DELETE',
      'expect: 100-continue',
    );
    expect(answer.status).toBe(200);
    const headers = platform.endpoint.calls(name).at(-1)?.body.headers;
    expect(headers).toMatchObject({ constructor: 'y', 'x-latin': '\u00e4\u00ff' });
    expect(headers).not.toHaveProperty('x-drover-forwarded');
  });
});
