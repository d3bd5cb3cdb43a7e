import type { FunctionQueueStatus } from '@drover/contracts';
import { eventually } from '@drover/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startFunctionsPlatform, type FunctionsPlatform } from './support/functions.js';
import './support/refusal-matcher.js';
import { Gate } from './support/scripted-endpoint.js';

let platform: FunctionsPlatform;
beforeAll(async () => {
  platform = await startFunctionsPlatform();
});
afterAll(() => platform?.stop());

const queueOf = async (name: string): Promise<FunctionQueueStatus> =>
  (await platform.request(`/v1/functions/${name}/queue`)).body as FunctionQueueStatus; // the tests check it
const act = (name: string, verb: string) => platform.post(`/v1/functions/${name}/queue:${verb}`);
const remove = (name: string, query = '') => platform.request(`/v1/functions/${name}${query}`, { method: 'DELETE' });

describe('a function that is changed in place', () => {
  it('keeps its queue: calls that waited run at the new endpoint', async () => {
    await platform.register('moving', () => ({ status: 500, json: 'the old endpoint' }));
    expect(await act('moving', 'pause')).toMatchObject({ status: 200, body: { state: 'paused', waiting: 0 } });
    const accepted = [await platform.enqueue('moving', { input: 1 }), await platform.enqueue('moving', { input: 2 })];
    const endpointUrl = platform.endpoint.serve('moved-to', ({ body }) => ({ json: ['new', body.input] }));
    const put = await platform.request('/v1/functions/moving', {
      method: 'PUT',
      json: { endpointUrl, maxRetries: 0, queueSize: 3 },
    });
    expect(put).toMatchObject({ status: 200, body: { endpointUrl, queueState: 'paused', queueSize: 3 } });
    expect(await queueOf('moving')).toMatchObject({ state: 'paused', waiting: 2, queueSize: 3 });
    expect(platform.endpoint.calls('moving')).toEqual([]);
    expect(await act('moving', 'resume')).toMatchObject({ status: 200, body: { state: 'open' } });
    for (const [index, { executionId }] of accepted.entries())
      expect(await platform.ended(executionId)).toMatchObject({ status: 'success', output: ['new', index + 1] });
  });
});

describe('the queue of a function', () => {
  it('can be purged: calls that wait are cancelled, the running one ends by itself', async () => {
    const gate = new Gate();
    await platform.register('purged', async () => (await gate.opened, { json: 'ran' }), { concurrency: 1 });
    const [running, ...waiting] = [
      await platform.enqueue('purged', { input: 1 }),
      await platform.enqueue('purged', { input: 2 }),
      await platform.enqueue('purged', { input: 3, delayMs: 3_600_000 }),
    ];
    expect(await queueOf('purged')).toMatchObject({ waiting: 1, scheduled: 1, running: 1 });
    expect(await act('purged', 'purge')).toMatchObject({ status: 200, body: { function: 'purged', purged: 2 } });
    for (const { executionId } of waiting)
      expect(await platform.execution(executionId)).toMatchObject({
        status: 'cancelled',
        error: { code: 'QUEUE_PURGED' },
      });
    gate.open();
    expect(await platform.ended(running?.executionId ?? '')).toMatchObject({ status: 'success' });
  });

  it('can be drained: it accepts nothing, runs what waits, and opens again', async () => {
    await platform.register('drained');
    await act('drained', 'pause');
    const { executionId } = await platform.enqueue('drained', { input: 7 });
    expect(await platform.post('/v1/functions/drained:invoke', { input: 1 })).toBeRefusedWith(503, 'FUNCTION_PAUSED');
    expect(await act('drained', 'drain')).toMatchObject({ status: 200, body: { state: 'draining' } });
    expect(await platform.ended(executionId)).toMatchObject({ status: 'success' });
    const refused = await platform.post('/v1/functions/drained:enqueue', { input: 1 });
    expect(refused).toBeRefusedWith(503, 'FUNCTION_DRAINING');
    expect(refused.text).toContain('/v1/functions/drained/queue:resume');
    await act('drained', 'resume');
    expect((await platform.invoke('drained', 1)).status).toBe(200);
  });

  it('is unknown for a function that does not exist, and for another tenant', async () => {
    await platform.register('mine');
    const key = await platform.otherKey('stranger');
    for (const verb of ['pause', 'resume', 'drain', 'purge']) {
      expect(await act('nothing', verb)).toBeRefusedWith(404, 'FUNCTION_UNKNOWN');
      expect(await platform.post(`/v1/functions/mine/queue:${verb}`, undefined, {}, key)).toBeRefusedWith(
        404,
        'FUNCTION_UNKNOWN',
      );
    }
    expect(await platform.request('/v1/functions/mine/queue', { key })).toBeRefusedWith(404, 'FUNCTION_UNKNOWN');
    const reader = await platform.otherKey('tenant-a', ['functions:read', 'functions:invoke']);
    expect(await platform.post('/v1/functions/mine/queue:purge', undefined, {}, reader)).toBeRefusedWith(
      403,
      'ACCESS_DENIED',
    );
  });
});

describe('removing a function whose queue is not empty', () => {
  const withCalls = async (name: string): Promise<string> => {
    await platform.register(name);
    await act(name, 'pause');
    return (await platform.enqueue(name, { input: name })).executionId;
  };

  it('asks what becomes of the calls, and changes nothing', async () => {
    const id = await withCalls('asked');
    const answer = await remove('asked');
    expect(answer).toBeRefusedWith(409, 'FUNCTION_QUEUE_NOT_EMPTY');
    expect(answer.text).toContain('1 calls wait');
    expect(answer.text).toMatch(/\?queue=drain .*\?queue=purge/);
    expect(await platform.execution(id)).toMatchObject({ status: 'queued' });
    expect(await remove('asked', '?queue=keep')).toBeRefusedWith(400, 'VALIDATION_ERROR');
    expect((await remove('asked', '?queue=purge')).status).toBe(204);
    expect(await platform.ended(id)).toMatchObject({ status: 'cancelled', error: { code: 'QUEUE_PURGED' } });
    expect((await remove('asked')).status).toBe(404);
  });

  it('with ?queue=drain runs them and removes the function then', async () => {
    const gate = new Gate();
    await platform.register('leaving', async () => (await gate.opened, { json: 'ran' }), { concurrency: 1 });
    const ids = [1, 2, 3].map(() => platform.enqueue('leaving', { input: 1 }));
    const accepted = await Promise.all(ids);
    expect(await remove('leaving', '?queue=drain')).toMatchObject({
      status: 202,
      body: { state: 'draining', removing: true },
    });
    expect(await platform.post('/v1/functions/leaving:enqueue', { input: 1 })).toBeRefusedWith(
      409,
      'FUNCTION_REMOVAL_PENDING',
    );
    gate.open();
    for (const { executionId } of accepted)
      expect(await platform.ended(executionId)).toMatchObject({ status: 'success' });
    await eventually(async () => expect((await platform.request('/v1/functions/leaving')).status).toBe(404));
    await platform.register('leaving');
    expect(await queueOf('leaving')).toMatchObject({ state: 'open', removing: false });
  });

  it('with ?queue=drain can be taken back', async () => {
    const id = await withCalls('kept');
    await platform.request('/v1/functions/kept/queue');
    expect((await remove('kept', '?queue=drain')).status).toBe(202);
    expect(await act('kept', 'pause')).toMatchObject({ body: { state: 'paused', removing: false } });
    await act('kept', 'resume');
    await platform.ended(id);
    expect((await platform.request('/v1/functions/kept')).status).toBe(200);
  });
});

describe('dead letters', () => {
  const failing = async (name: string, code: number, count: number): Promise<string[]> => {
    await platform.register(name, () => ({ status: code, json: 'no' }), { queueSize: 100 });
    const accepted = await Promise.all(Array.from({ length: count }, () => platform.enqueue(name, { input: 1 })));
    for (const { executionId } of accepted) await platform.ended(executionId);
    return accepted.map(({ executionId }) => executionId);
  };
  const lettersOf = async (name: string): Promise<number> => {
    const { body } = await platform.request(`/v1/dead-letters?function=${name}`);
    return (body as { executions: unknown[] }).executions.length;
  };

  it('can be deleted one by one', async () => {
    const [one = '', two = ''] = await failing('letters', 500, 2);
    expect((await platform.request(`/v1/dead-letters/${one}`, { method: 'DELETE' })).status).toBe(204);
    expect(await platform.request(`/v1/dead-letters/${one}`, { method: 'DELETE' })).toBeRefusedWith(
      404,
      'DEAD_LETTER_NOT_FOUND',
    );
    expect((await platform.request(`/v1/executions/${one}`)).status).toBe(404);
    const key = await platform.otherKey('stranger');
    expect((await platform.request(`/v1/dead-letters/${two}`, { method: 'DELETE', key })).status).toBe(404);
    expect(await lettersOf('letters')).toBe(1);
  });

  it('can be deleted by filter, and all of them', async () => {
    await failing('by-filter', 500, 3);
    const before = await platform.post('/v1/dead-letters:delete', { function: 'by-filter', errorCode: 'NO_SUCH' });
    expect(before).toMatchObject({ status: 200, body: { deleted: 0, remaining: 0 } });
    expect(await platform.post('/v1/dead-letters:delete', { function: 'by-filter', limit: 1 })).toMatchObject({
      body: { deleted: 1, remaining: 2 },
    });
    expect(await platform.post('/v1/dead-letters:delete', { function: 'by-filter', all: true })).toMatchObject({
      body: { deleted: 2, remaining: 0 },
    });
    expect(await lettersOf('by-filter')).toBe(0);
    for (const body of [{ limit: 5 }, { all: false }, { all: true, executionIds: ['x'] }])
      expect(await platform.post('/v1/dead-letters:delete', body)).toBeRefusedWith(400, 'VALIDATION_ERROR');
  });

  it('can be redriven by filter, and all of them', async () => {
    const ids = await failing('again', 500, 4);
    const code = (await platform.execution(ids[0] ?? '')).error?.code;
    platform.endpoint.serve('again', () => ({ json: 'now' }));
    expect(
      await platform.post('/v1/dead-letters:redrive', { function: 'again', errorCode: code, limit: 1 }),
    ).toMatchObject({ status: 202, body: { redriven: 1, remaining: 3 } });
    const past = new Date(Date.now() - 3_600_000).toISOString();
    expect(await platform.post('/v1/dead-letters:redrive', { function: 'again', to: past })).toMatchObject({
      body: { redriven: 0, remaining: 0 },
    });
    const all = await platform.post('/v1/dead-letters:redrive', { function: 'again', all: true, from: past });
    expect(all).toMatchObject({ status: 202, body: { redriven: 3, remaining: 0 } });
    expect(await lettersOf('again')).toBe(0);
  });
});
