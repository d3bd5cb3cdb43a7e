import { request } from 'node:http';
import path from 'node:path';
import { eventually } from '@drover/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { root } from '../architecture/workspace.js';
import { startRuntime, type Runtime } from '../support/functions.js';

const compat = (name: string): string => path.join(root, 'tests/compat/apps', name);

describe('apps of every style, side by side behind one port', () => {
  let runtime: Runtime;
  beforeAll(async () => {
    const env = { DROVER_CORS_ORIGINS: 'https://app.example', DROVER_CORS_CREDENTIALS: 'on' };
    runtime = await startRuntime({ apps: ['v4-stream', 'v4-esm', 'v3'].map(compat), env });
  });
  afterAll(async () => void (await runtime.stop()));

  it('streams what an app streams, both ways at once', async () => {
    const parts = ['one ', 'two ', 'three'];
    const answer = await new Promise<{
      status: number | undefined;
      headers: NodeJS.Dict<string | string[]>;
      text: string;
    }>((resolve, reject) => {
      const [first = '', ...rest] = parts;
      let text = '';
      const outgoing = request(`${runtime.url}/api/upper/you?q=1`, {
        method: 'POST',
        headers: { 'x-in': 'in', 'transfer-encoding': 'chunked' },
      });
      outgoing.on('error', reject);
      outgoing.on('response', (response) => {
        response.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk;
          const next = rest.shift();
          if (next === undefined) outgoing.end();
          else outgoing.write(next);
        });
        response.on('end', () => resolve({ status: response.statusCode, headers: response.headers, text }));
      });
      outgoing.write(first);
    });
    expect(answer.status).toBe(203);
    expect(answer.text).toBe('ONE TWO THREE');
    expect(answer.headers).toMatchObject({
      'x-name': 'you',
      'x-url': `${runtime.url}/api/upper/you?q=1`,
      'x-header': 'in',
      'set-cookie': ['c=v; Path=/'],
    });
  });

  it('are open to pages of the origins that a setting names, also where the app streams', async () => {
    const origin = 'https://app.example';
    const preflight = { origin, 'access-control-request-method': 'POST', 'access-control-request-headers': 'x-in' };
    const allowed = await runtime.call('/api/upper/you', { method: 'OPTIONS', headers: preflight });
    expect(allowed.status).toBe(204);
    expect(Object.fromEntries(allowed.headers)).toMatchObject({
      'access-control-allow-origin': origin,
      'access-control-allow-credentials': 'true',
      'access-control-allow-headers': 'x-in',
      'access-control-max-age': '600',
    });
    const answer = await runtime.call('/api/upper/you', { method: 'POST', headers: { origin }, body: 'a' });
    expect([await answer.text(), answer.headers.get('access-control-allow-origin')]).toEqual(['A', origin]);
    const foreign = { origin: 'https://evil.example' };
    const refused = await runtime.call('/api/upper/you', { method: 'POST', headers: foreign, body: 'a' });
    expect([await refused.text(), refused.headers.get('access-control-allow-origin')]).toEqual(['A', null]);
  });

  it('streams more than fits into memory buffers', async () => {
    const body = Buffer.alloc(8 * 1_048_576, 'a');
    const answer = await runtime.call('/api/upper/you', { method: 'POST', body });
    expect(answer.status).toBe(203);
    const text = await answer.text();
    expect(text.length).toBe(body.length);
    expect(/^A+$/.test(text)).toBe(true);
  });

  it('answers for a stream whose function failed', async () => {
    const answer = await runtime.call('/api/breaks');
    expect(answer.status).toBe(500);
    expect(await answer.json()).toMatchObject({ error: 'FUNCTION_FAILED' });
    await eventually(() => expect(runtime.said).toContain('before any answer')); // the log may arrive after the answer
  });

  it('serves ES modules', async () => {
    expect(await (await runtime.call('/api/greet/you')).text()).toBe('hello from a module, YOU');
  });

  it('serves functions of the v3 model, by context.res and by return', async () => {
    const answer = await runtime.call('/api/v3/7?q=1', {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-in': 'h' },
      body: '{"a":1}',
    });
    expect(answer.status).toBe(202);
    expect(answer.headers.get('x-by')).toBe('v3');
    expect(answer.headers.get('set-cookie')).toMatch(/^c=v;.*samesite=lax/i);
    expect(await answer.json()).toMatchObject({
      method: 'POST',
      query: { q: '1' },
      params: { id: '7' },
      body: { a: 1 },
      raw: '{"a":1}',
      name: 'HttpRes',
    });
    const returned = await runtime.call('/api/v3return?x=5');
    expect([returned.status, await returned.text()]).toEqual([201, 'returned 5']);
  });

  it('says of every function that cannot run here why', () => {
    const problems = runtime.log.flatMap(({ kind, msg }) => (kind === 'application.problem' ? [msg] : [])).join('\n');
    for (const name of ['Esm', 'QueueOut', 'copy', 'beside']) expect(problems).toContain(name);
    expect(problems).toMatch(/copy[^]*Storage/); // no such connection was set
    expect(problems).toMatch(/beside[^]*queueName must be/);
  });
});
