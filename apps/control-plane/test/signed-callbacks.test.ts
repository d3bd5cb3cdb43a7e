import { createHmac } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { eventually } from '@drover/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startFunctionsPlatform, type FunctionsPlatform } from './support/functions.js';
import './support/refusal-matcher.js';
import { keepSecret } from './support/secrets.js';

let platform: FunctionsPlatform;
beforeAll(async () => {
  platform = await startFunctionsPlatform({ DROVER_SECRETS_KEY: 'the key of the tests, long enough' });
});
afterAll(() => platform?.stop());

interface Created {
  readonly id: string;
  readonly secret: string;
}
const create = async (body: object): Promise<Created> => {
  const answer = await platform.post('/v1/callback-secrets', body);
  expect(answer.status).toBe(201);
  const created = answer.body as Created; // checked below
  expect(created.secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  return created;
};
/** Returns what the receiver got for a call of the function. */
const callbackOf = async (name: string): Promise<{ readonly headers: IncomingHttpHeaders; readonly text: string }> => {
  const receiver = `receiver-of-${name}-${Math.random().toString(36).slice(2)}`;
  const callbackUrl = platform.endpoint.serve(receiver, () => ({}));
  await platform.enqueue(name, { input: { hello: 'ü' }, callbackUrl });
  await eventually(() => platform.endpoint.calls(receiver).length === 1);
  const [call] = platform.endpoint.calls(receiver);
  return { headers: call?.headers ?? {}, text: call?.text ?? '' };
};
/** Verifies as a receiver does. */
const isSignedWith = ({ secret }: Created, { headers, text }: Awaited<ReturnType<typeof callbackOf>>): boolean => {
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  const signed = `${String(headers['webhook-id'])}.${String(headers['webhook-timestamp'])}.${text}`;
  const expected = `v1,${createHmac('sha256', key).update(signed).digest('base64')}`;
  return String(headers['webhook-signature']).split(' ').includes(expected);
};

describe('callbacks', () => {
  it('are signed with the secret of the tenant, which is shown once, and with its successor', async () => {
    await platform.register('signed');
    expect((await callbackOf('signed')).headers).not.toHaveProperty('webhook-signature');
    const first = await create({});
    const got = await callbackOf('signed');
    expect(isSignedWith(first, got)).toBe(true);
    expect(got.headers['webhook-id']).toBe(got.headers['x-call-id']);
    expect(Math.abs(Date.now() / 1_000 - Number(got.headers['webhook-timestamp']))).toBeLessThan(60);
    const second = await create({ function: null, overlapMs: 3_600_000 });
    const rotating = await callbackOf('signed');
    expect([first, second].map((one) => isSignedWith(one, rotating))).toEqual([true, true]);
    const third = await create({ overlapMs: 0 });
    const { body, text } = await platform.request('/v1/callback-secrets');
    expect((body as { secrets: Created[] }).secrets.map(({ id }) => id)).toEqual([third.id, first.id]);
    for (const { secret } of [first, second, third]) expect(text).not.toContain(secret.slice(6));
    expect((await platform.request(`/v1/callback-secrets/${first.id}`, { method: 'DELETE' })).status).toBe(204);
    const last = await callbackOf('signed');
    expect([first, second, third].map((one) => isSignedWith(one, last))).toEqual([false, false, true]);
    expect(await platform.request(`/v1/callback-secrets/${first.id}`, { method: 'DELETE' })).toBeRefusedWith(
      404,
      'CALLBACK_SECRET_NOT_FOUND',
    );
    for (const { secret } of [first, second, third]) keepSecret('a secret of callbacks', secret);
  });

  it('of a function with a secret of its own are signed with that alone', async () => {
    await platform.register('own');
    const [tenants, own] = [await create({}), await create({ function: 'own' })];
    const got = await callbackOf('own');
    expect([tenants, own].map((one) => isSignedWith(one, got))).toEqual([false, true]);
    const key = await platform.otherKey('stranger');
    expect((await platform.request('/v1/callback-secrets', { key })).body).toEqual({ secrets: [] });
  });
});

describe('a function of nanoFaaS behind an endpoint', () => {
  it('answers later at X-Callback-Url, without an API key', async () => {
    await platform.register('late', () => ({ status: 202 }), { timeoutMs: 20_000 });
    const { executionId } = await platform.enqueue('late', { input: 1 }, { 'idempotency-key': 'order-1' });
    await eventually(() => platform.endpoint.calls('late').length === 1);
    const headers = platform.endpoint.calls('late')[0]?.headers ?? {};
    expect(headers['idempotency-key']).toBe('order-1');
    const complete = (base: string, id = executionId): Promise<Response> =>
      fetch(`${base}/${id}:complete`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ success: true, output: { done: true }, error: null }),
      });
    const base = String(headers['x-callback-url']);
    const other = await platform.enqueue('late', { input: 2 });
    expect((await complete(base, other.executionId)).status).toBe(401);
    expect((await complete(base.replace('/attempts/1.', '/attempts/2.'))).status).toBe(401);
    expect((await complete(base)).status).toBe(204);
    expect(await platform.ended(executionId)).toMatchObject({ status: 'success', output: { done: true } });
  });

  it('answers a synchronous call in the same way', async () => {
    await platform.register('late-sync', ({ headers, body }) => {
      void fetch(`${String(headers['x-callback-url'])}/${String(headers['x-execution-id'])}:complete`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ success: true, output: body.input }),
      });
      return { status: 202 };
    });
    expect((await platform.invoke('late-sync', 'hello')).envelope).toMatchObject({
      status: 'success',
      output: 'hello',
    });
  });
});
