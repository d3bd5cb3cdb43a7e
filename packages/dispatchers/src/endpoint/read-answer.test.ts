import { describe, expect, it } from 'vitest';
import { readAnswer } from './read-answer.js';

const origin = 'http://endpoint.test';
const now = Date.UTC(2030, 0, 1);

function answer(status: number, headers: Readonly<Record<string, string>>, body: string | Buffer = ''): unknown {
  const raw = Object.entries(headers).flatMap(([name, value]) => [name, value]);
  const bytes = typeof body === 'string' ? Buffer.from(body) : body;
  return readAnswer({ status, headers: raw, body: bytes.length === 0 ? undefined : bytes }, origin, () => now);
}

const json = { 'Content-Type': 'application/json' };

describe('a good answer', () => {
  it.each([
    ['{"a": 1.0}', '{"a": 1.0}'],
    ['\ufeff[1]', '[1]'],
    [' null ', ' null '],
    ['"\\u0000"', '"\\u0000"'],
  ])('in JSON is carried as it came: %j', (body, carried) => {
    expect(answer(200, json, body)).toEqual({ kind: 'success', output: { json: carried } });
    expect(answer(201, { 'content-type': 'Application/Problem+JSON; charset=UTF-8' }, body)).toEqual({
      kind: 'success',
      output: { json: carried },
    });
  });

  it('without a body is null, whatever it claims to be', () => {
    for (const headers of [{}, json, { 'content-type': 'image/png' }, { 'content-type': 'text/plain' }])
      expect(answer(200, headers)).toEqual({ kind: 'success', output: { json: 'null' } });
    expect(answer(204, {})).toEqual({ kind: 'success', output: { json: 'null' } });
  });

  it.each([
    ['text/plain', Buffer.from('a "b"\nä'), '"a \\"b\\"\\nä"', undefined],
    ['text/html; charset="utf-8"', Buffer.from('<p>'), '"<p>"', undefined],
    ['text/plain;charset=ISO-8859-1', Buffer.from([0xe4]), '"ä"', undefined],
    ['text/plain; charset=utf-16le', Buffer.from([0x41, 0x00]), '"QQA="', 'base64'],
    ['text/plain', Buffer.from([0xff, 0xfe]), '"//4="', 'base64'],
    ['application/atom+xml', Buffer.from('<a/>'), '"<a/>"', undefined],
    ['application/octet-stream', Buffer.from('abc'), '"YWJj"', 'base64'],
    ['image/png', Buffer.from([0x89, 0x50]), '"iVA="', 'base64'],
  ] as const)('of the type %s is text or bytes', (type, body, carried, encoding) => {
    expect(answer(200, { 'content-type': type }, body)).toEqual({
      kind: 'success',
      output: { json: carried, ...(encoding === undefined ? {} : { encoding }) },
      headers: { 'content-type': type },
    });
  });

  it('without a type is taken for what it is', () => {
    expect(answer(200, {}, '{"a":1}')).toEqual({ kind: 'success', output: { json: '{"a":1}' } });
    expect(answer(200, {}, 'hello')).toEqual({ kind: 'success', output: { json: '"hello"' } });
    expect(answer(200, {}, Buffer.from([0xff]))).toEqual({
      kind: 'success',
      output: { json: '"/w=="', encoding: 'base64' },
    });
  });

  it('may be encoded by the endpoint itself', () => {
    const output = { json: '"YWJj"', encoding: 'base64' };
    for (const name of ['X-NanoFaaS-Encoding', 'X-Drover-Encoding']) {
      expect(answer(200, { ...json, [name]: 'base64' }, '"YWJj"')).toMatchObject({ kind: 'success', output });
      expect(answer(200, { 'content-type': 'text/plain', [name]: 'base64' }, 'YWJj\n')).toMatchObject({ output });
    }
    for (const body of ['"not base64!"', '"YWJ"', '{"a":1}', '12', '"A===" '])
      expect(answer(200, { ...json, 'x-nanofaas-encoding': 'base64' }, body)).toMatchObject({ code: 'POOL_ERROR' });
  });

  it('tells of a cold start', () => {
    expect(answer(200, { ...json, 'X-Cold-Start': 'true', 'X-Init-Duration-Ms': '12.5' }, '1')).toEqual({
      kind: 'success',
      output: { json: '1' },
      coldStart: true,
      initDurationMs: 12.5,
    });
    for (const nonsense of ['-1', 'NaN', '1e999', 'Infinity', '', '9'.repeat(400)])
      expect(answer(200, { ...json, 'X-Cold-Start': 'no', 'X-Init-Duration-Ms': nonsense }, '1')).toEqual({
        kind: 'success',
        output: { json: '1' },
      });
  });

  it('may come later', () => {
    expect(answer(202, json, '{"queued":true}')).toEqual({ kind: 'handed-over' });
    expect(answer(202, {})).toEqual({ kind: 'handed-over' });
    expect(answer(200, { 'X-Drover-Handed-Over': 'true' })).toEqual({ kind: 'handed-over' });
    expect(answer(500, { 'X-Drover-Handed-Over': 'true' })).toMatchObject({ kind: 'failed' });
  });
});

describe('a status that the handler chose', () => {
  it.each([200, 202, 302, 404, 408, 429, 500, 503, 504])('%i is a result like any other', (status) => {
    for (const marker of ['X-NanoFaaS-Function-Status', 'x-drover-function-status'])
      expect(answer(status, { ...json, [marker]: 'true' }, '{"error":"no"}')).toEqual({
        kind: 'success',
        output: { json: '{"error":"no"}' },
        statusCode: status,
        headers: { 'content-type': 'application/json' },
      });
  });

  it('brings headers along, but none that speak to us, to proxies or about the connection', () => {
    const headers = {
      ...json,
      'X-NanoFaaS-Function-Status': 'true',
      'X-Accel-Redirect': '/internal',
      'X-Sendfile': '/etc/passwd',
      'X-Execution-Id': 'forged',
      'X-Drover-Callback-Url': 'forged',
      'Set-Cookie': 'a=b',
      Connection: 'keep-alive',
      'Transfer-Encoding': 'chunked',
      Location: '/next',
      'X-Count': '3\u0007',
    };
    expect(answer(302, headers, '1')).toMatchObject({
      headers: { 'content-type': 'application/json', location: '/next', 'x-count': '3 ' },
    });
  });

  it('brings no more of them than are kept', () => {
    const many = Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`x-${index}`, 'v']));
    const large = Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`x-${index}`, 'v'.repeat(1_000)]));
    const headersOf = (headers: Readonly<Record<string, string>>): Record<string, string> => {
      const result = answer(200, { ...headers, 'x-drover-function-status': 'true' }, '1');
      return (result as { headers: Record<string, string> }).headers; // a marked answer has them
    };
    expect(Object.keys(headersOf(many))).toHaveLength(32);
    expect(Object.keys(headersOf(large))).toHaveLength(8);
  });
});

describe('a bad answer', () => {
  it.each([600, 700, 999])('%i is no status of HTTP, and is not passed on, chosen or not', (status) => {
    for (const headers of [json, { ...json, 'X-NanoFaaS-Function-Status': 'true' }])
      expect(answer(status, headers, '{"error":"no"}')).toEqual({
        kind: 'failed',
        code: 'POOL_ERROR',
        transient: false,
        message: `the response of ${origin} has the status ${status}, which HTTP does not have: it ends at 599`,
      });
  });

  it.each([408, 504])('%i is out of time', (status) => {
    expect(answer(status, json, '{}')).toMatchObject({ kind: 'timeout', code: 'POOL_TIMEOUT' });
  });

  it.each([
    ['7', 7_000],
    ['0', 0],
    ['99999999999', 3_600_000],
    ['Tue, 01 Jan 2030 00:01:00 GMT', 60_000],
    ['Tue, 01 Jan 2019 00:01:00 GMT', 0],
    ['soon', undefined],
  ])('429 and 503 may be tried again after %s', (retryAfter, retryAfterMs) => {
    for (const status of [429, 503]) {
      const result = answer(status, { 'Retry-After': retryAfter });
      expect(result).toMatchObject({ kind: 'failed', code: 'POOL_ERROR', transient: true });
      expect((result as { retryAfterMs?: number }).retryAfterMs).toBe(retryAfterMs); // a failed one may have it
    }
  });

  it('502 may be tried again, a redirect may not', () => {
    expect(answer(502, {})).toMatchObject({ code: 'POOL_ERROR', transient: true });
    for (const status of [300, 301, 302, 307, 308, 304])
      expect(answer(status, { location: 'http://169.254.169.254/' })).toEqual({
        kind: 'failed',
        code: 'POOL_ERROR',
        transient: false,
        message: `${origin} answered ${status}: redirects are not followed; register the target of the redirect`,
      });
  });

  it.each([
    ['{"error":"out of paper"}', 'out of paper'],
    ['{"message":"out of\\u0000\\u001b[31m paper"}', 'out of [31m paper'],
    ['{"error":{"message":"inner"}}', 'inner'],
    ['{"error":{"__proto__":1}}', 'the endpoint answered 500'],
    [`{"error":"${'x'.repeat(501)}"}`, 'the endpoint answered 500'],
    ['{"error":42}', 'the endpoint answered 500'],
    ['{"error":"  "}', 'the endpoint answered 500'],
    ['<html>', 'the endpoint answered 500'],
    ['null', 'the endpoint answered 500'],
    ['"error"', 'the endpoint answered 500'],
    ['', 'the endpoint answered 500'],
  ])('500 is an error of the handler, with its own words: %s', (body, message) => {
    expect(answer(500, json, body)).toEqual({ kind: 'failed', code: 'EXECUTION_FAILED', message, transient: false });
  });

  it.each([400, 401, 404, 413, 418, 501, 505])('%i is an error of the handler', (status) => {
    expect(answer(status, {})).toMatchObject({ code: 'EXECUTION_FAILED', transient: false });
  });

  it.each([['{"a":'], ['{} {}'], ['NaN'], [Buffer.from([0x22, 0xff, 0x22])]])(
    'that is not the JSON it claims to be is the endpoint’s fault',
    (body) => {
      expect(answer(200, json, body)).toMatchObject({ kind: 'failed', code: 'POOL_ERROR', transient: false });
    },
  );

  it('that is nested too deeply is not parsed', () => {
    const nested = (levels: number): string => `${'['.repeat(levels)}"${'['.repeat(5_000)}\\"]"${']'.repeat(levels)}`;
    expect(answer(200, json, nested(512))).toMatchObject({ kind: 'success' });
    expect(answer(200, json, nested(513))).toMatchObject({ code: 'POOL_ERROR', transient: false });
    // Says so before it would notice that the end is missing.
    expect(answer(200, json, '[{"a":'.repeat(1_000_000))).toMatchObject({
      message: `the response of ${origin} is nested deeper than 512 levels`,
    });
  });

  it('that is compressed though it was not to be is the endpoint’s fault', () => {
    expect(answer(200, { ...json, 'Content-Encoding': 'gzip' }, '1')).toMatchObject({ code: 'POOL_ERROR' });
    expect(answer(200, { ...json, 'Content-Encoding': 'identity' }, '1')).toMatchObject({ kind: 'success' });
  });
});
