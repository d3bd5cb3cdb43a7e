import { eventually } from '@drover/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startFunctionsPlatform, type FunctionsPlatform } from './support/functions.js';
import './support/refusal-matcher.js';
import type { Behaviour, EndpointCall } from './support/scripted-endpoint.js';
import { leavesNoSecretBehind } from './support/secrets.js';

let platform: FunctionsPlatform;

leavesNoSecretBehind();
beforeAll(async () => {
  platform = await startFunctionsPlatform();
  await platform.register('worker', ({ body }) => {
    switch (body.input) {
      case 'fail':
        return { status: 500, json: { error: 'oops' } };
      case 'choose':
        return { status: 201, headers: { 'x-nanofaas-function-status': 'true' }, json: [1] };
      case 'text':
        return { text: 'a,b', headers: { 'content-type': 'text/csv' } };
      default:
        return { json: { got: body.input } };
    }
  });
});
afterAll(() => platform?.stop());

/** The address of a receiver, and what it got. */
function receiver(
  name: string,
  behaviour: Behaviour = () => ({}),
): { url: string; got: () => readonly EndpointCall[] } {
  return { url: platform.endpoint.serve(name, behaviour), got: () => platform.endpoint.calls(name) };
}
async function received(got: () => readonly EndpointCall[], count = 1): Promise<EndpointCall> {
  await eventually(() => got().length >= count);
  return got()[count - 1] as EndpointCall; // it is there
}

describe('the result of an execution is posted where its caller asked for it', () => {
  it.each([
    ['json', '200', 'application/json; charset=utf-8', '{"got":"json"}'],
    ['text', '200', 'text/csv', 'a,b'],
    ['choose', '201', 'application/json', '[1]'],
  ])('as the output is: %s', async (input, status, type, text) => {
    const { url, got } = receiver(`receives-${input}`);
    const { executionId } = await platform.enqueue('worker', { input, callbackUrl: url });
    const call = await received(got);
    expect(call.text).toBe(text);
    expect(call.headers).toMatchObject({
      'content-type': type,
      'x-call-id': executionId,
      'x-function-status': status,
      'x-duration-seconds': expect.stringMatching(/^\d+(\.\d+)?$/),
    });
    expect(call.headers).not.toHaveProperty('authorization');
  });

  it('with what went wrong, and once it is known that it was cancelled', async () => {
    const { url, got } = receiver('failures');
    const failed = await platform.enqueue('worker', { input: 'fail', callbackUrl: url });
    const call = await received(got);
    expect(JSON.parse(call.text)).toEqual({
      executionId: failed.executionId,
      status: 'error',
      error: { code: 'EXECUTION_FAILED', message: 'oops' },
    });
    expect(call.headers['x-function-status']).toBe('500');
    const planned = await platform.enqueue('worker', { input: 1, delayMs: 60_000, callbackUrl: url });
    await platform.post(`/v1/executions/${planned.executionId}:cancel`);
    expect(JSON.parse((await received(got, 2)).text)).toMatchObject({ status: 'cancelled' });
  });

  it('for the items of a batch, for /async-function and for a replay', async () => {
    const { url, got } = receiver('various');
    await platform.post('/v1/functions/worker:enqueue-batch', {
      items: [{ input: 'one', callbackUrl: url }, { input: 'silent' }],
    });
    expect((await received(got)).text).toBe('{"got":"one"}');
    await platform.post('/async-function/worker', 'two', { 'x-callback-url': url });
    expect((await received(got, 2)).text).toBe('{"got":"two"}');
    const { executionId } = await platform.enqueue('worker', { input: 'fail', callbackUrl: url });
    await received(got, 3);
    await platform.ended(executionId);
    await platform.post(`/v1/executions/${executionId}:replay`);
    expect((await received(got, 4)).headers['x-function-status']).toBe('500');
    expect(got()).toHaveLength(4);
  });

  it('again, when the receiver was not ready', async () => {
    let tries = 0;
    const { url, got } = receiver('sleepy', () => {
      tries += 1;
      return tries === 1 ? { status: 503 } : {};
    });
    await platform.enqueue('worker', { input: 'x', callbackUrl: url });
    expect((await received(got, 2)).text).toBe('{"got":"x"}');
  });

  it('but nowhere that the platform must not call', async () => {
    for (const callbackUrl of [
      'http://169.254.169.254/latest',
      'http://10.0.0.1/',
      'http://user:secret@127.0.0.1/',
      'http://[::ffff:10.0.0.1]/',
    ]) {
      const answer = await platform.post('/v1/functions/worker:enqueue', { input: 1, callbackUrl });
      expect(answer).toBeRefusedWith(400, 'VALIDATION_ERROR');
      expect(answer.text).toContain('callbackUrl');
      const batch = await platform.post('/v1/functions/worker:enqueue-batch', {
        items: [{ input: 1 }, { input: 1, callbackUrl }],
      });
      expect(batch).toBeRefusedWith(400, 'VALIDATION_ERROR');
      const openFaas = await platform.post('/async-function/worker', 1, { 'x-callback-url': callbackUrl });
      expect(openFaas).toBeRefusedWith(400, 'VALIDATION_ERROR');
    }
  });
});

describe('a platform that listens on loopback only', () => {
  let closed: FunctionsPlatform;
  beforeAll(async () => {
    closed = await startFunctionsPlatform({ EXECUTION_STORE: 'memory', DROVER_ENDPOINT_HOSTS: '' });
    await closed.post('/v1/functions', { name: 'any', endpointUrl: 'http://public.invalid/' });
  });
  afterAll(() => closed?.stop());

  it.each(['127.0.0.1', '127.1', 'localhost', '[::1]', '[::ffff:127.0.0.1]', '0.0.0.0'])(
    'calls no endpoint and no callback at %s, and names the setting that allows it',
    async (host) => {
      const url = new URL(closed.endpoint.serve('private', () => ({})));
      const at = `http://${host}:${url.port}${url.pathname}`;
      const registered = await closed.post('/v1/functions', { name: 'private', endpointUrl: at });
      expect(registered).toBeRefusedWith(400, 'VALIDATION_ERROR');
      expect(registered.text).toContain('DROVER_ENDPOINT_HOSTS');
      if (host !== 'localhost') {
        // The name is resolved when the result is delivered.
        const enqueued = await closed.post('/v1/functions/any:enqueue', { input: 1, callbackUrl: at });
        expect(enqueued).toBeRefusedWith(400, 'VALIDATION_ERROR');
        expect(enqueued.text).toContain('DROVER_ENDPOINT_HOSTS');
      }
      expect(closed.endpoint.calls('private')).toEqual([]);
    },
  );
});
