import { eventually } from '@drover/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startFunctionsPlatform, type FunctionsPlatform } from './support/functions.js';
import './support/refusal-matcher.js';
import { Gate } from './support/scripted-endpoint.js';
import { leavesNoSecretBehind } from './support/secrets.js';

const megabyte = 1_048_576;

leavesNoSecretBehind();

describe.each(['postgres', 'memory'])('an idempotency key, executions in %s', (store) => {
  let platform: FunctionsPlatform;
  beforeAll(async () => {
    platform = await startFunctionsPlatform({
      EXECUTION_STORE: store,
      DROVER_EXECUTIONS_MAX_BYTES: String(megabyte),
      DROVER_MAX_IDEMPOTENCY_KEYS: '200',
    });
  });
  afterAll(() => platform?.stop());

  const calls = (name: string): number => platform.endpoint.calls(name).length;

  it('stands for one execution, for callers who wait and for those who do not', async () => {
    await platform.register('once');
    const first = await platform.invoke('once', 'first', { 'idempotency-key': 'k' });
    const second = await platform.invoke('once', 'first', { 'idempotency-key': 'k' });
    expect(second.envelope).toEqual(first.envelope);
    const { executionId } = first.envelope;
    expect(await platform.enqueue('once', { input: 'first' }, { 'idempotency-key': 'k' })).toEqual({
      executionId,
      status: 'success',
    });
    expect(calls('once')).toBe(1);
    expect(await platform.execution(executionId)).toMatchObject({ idempotencyKey: 'k', output: 'first' });
  });

  it('lets callers at the same time share one run', async () => {
    const gate = new Gate();
    await platform.register('shared', async ({ body }) => {
      await gate.opened;
      return { json: body.input };
    });
    const waiting = Array.from({ length: 16 }, () => platform.invoke('shared', 1, { 'idempotency-key': 'k' }));
    await eventually(() => calls('shared') === 1);
    const { executionId, status } = await platform.enqueue('shared', { input: 1 }, { 'idempotency-key': 'k' });
    expect(status).toBe('running');
    gate.open();
    const answers = await Promise.all(waiting);
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect(answers[0]?.envelope.executionId).toBe(executionId);
    expect(calls('shared')).toBe(1);
  });

  it('is not tied to a failure that may pass', async () => {
    let status = 503;
    await platform.register('restarting', () => ({ status }), { maxRetries: 0 });
    const first = await platform.invoke('restarting', 1, { 'idempotency-key': 'k' });
    expect([first.status, calls('restarting')]).toEqual([502, 1]);
    status = 200;
    const second = await platform.invoke('restarting', 1, { 'idempotency-key': 'k' });
    expect([second.status, calls('restarting')]).toEqual([200, 2]);
    expect((await platform.invoke('restarting', 1, { 'idempotency-key': 'k' })).text).toBe(second.text);
  });

  it('answers 422 with another input', async () => {
    await platform.register('strict');
    const { envelope } = await platform.invoke('strict', { order: 1, lines: [] }, { 'idempotency-key': 'k' });
    const again = await platform.invoke('strict', { lines: [], order: 1 }, { 'idempotency-key': 'k' });
    expect(again.envelope).toEqual(envelope);
    const other = await platform.invoke('strict', { order: 2, lines: [] }, { 'idempotency-key': 'k' });
    expect(other).toBeRefusedWith(422, 'IDEMPOTENCY_KEY_REUSED');
    expect(other.headers.get('x-execution-id')).toBe(envelope.executionId);
    const batch = await platform.post('/v1/functions/strict:enqueue-batch', {
      items: [
        { input: 1, idempotencyKey: 'b' },
        { input: 2, idempotencyKey: 'b' },
        { input: 1, idempotencyKey: 'b' },
      ],
    });
    const [one, two, three] = (batch.body as { items: { executionId?: string; error?: string }[] }).items;
    expect([two?.error, three?.executionId]).toEqual(['IDEMPOTENCY_KEY_REUSED', one?.executionId]);
  });

  it('passes to a replay of the failure that it stood for', async () => {
    let status = 500;
    await platform.register('repaired', () => ({ status, json: 'done' }));
    const { executionId } = await platform.enqueue('repaired', { input: 1 }, { 'idempotency-key': 'k' });
    expect(await platform.ended(executionId)).toMatchObject({ status: 'error', deadLetter: true });
    status = 200;
    const redrive = await platform.post('/v1/dead-letters:redrive', { executionIds: [executionId] });
    const [{ redrivenAs = '' } = {}] = (redrive.body as { items: { redrivenAs?: string }[] }).items;
    expect(await platform.ended(redrivenAs)).toMatchObject({ status: 'success', idempotencyKey: 'k' });
    const again = await platform.invoke('repaired', 1, { 'idempotency-key': 'k' });
    expect([again.status, again.envelope.executionId, again.envelope.output]).toEqual([200, redrivenAs, 'done']);
    const replay = await platform.post(`/v1/executions/${executionId}:replay`, undefined);
    expect(replay).toBeRefusedWith(409, 'IDEMPOTENCY_KEY_TAKEN');
    expect(calls('repaired')).toBe(2);
  });

  it('is tied to a failure of the handler as well as to a success', async () => {
    await platform.register('fails', () => ({ status: 500 }));
    const first = await platform.invoke('fails', 1, { 'idempotency-key': 'k' });
    const second = await platform.invoke('fails', 1, { 'idempotency-key': 'k' });
    expect([first.status, second.status]).toEqual([500, 500]);
    expect(second.text).toBe(first.text);
    expect(calls('fails')).toBe(1);
  });

  it('is another one for another function, another tenant, another registration of the same name', async () => {
    const other = await platform.otherKey('tenant-b');
    await platform.register('mine');
    await platform.register('yours');
    await platform.register('mine', undefined, {}, other);
    const answers = [
      await platform.invoke('mine', 1, { 'idempotency-key': 'k' }),
      await platform.invoke('yours', 2, { 'idempotency-key': 'k' }),
      await platform.invoke('mine', 3, { 'idempotency-key': 'k' }, other),
    ];
    await platform.request('/v1/functions/mine', { method: 'DELETE' });
    await platform.register('mine');
    answers.push(await platform.invoke('mine', 4, { 'idempotency-key': 'k' }));
    expect(answers.map(({ envelope }) => envelope.output)).toEqual([1, 2, 3, 4]);
    expect(new Set(answers.map(({ envelope }) => envelope.executionId)).size).toBe(4);
  });

  it('answers 410, and does not run again, once the result is no longer kept', async () => {
    await platform.register('big', () => ({ json: 'x'.repeat(400_000) }));
    const { envelope } = await platform.invoke('big', 1, { 'idempotency-key': 'first' });
    const { executionId } = envelope;
    for (let n = 0; n < 4; n += 1) await platform.invoke('big', n, { 'idempotency-key': `later-${n}` });
    await eventually(async () => (await platform.execution(executionId)).evicted === true);
    const ran = calls('big');
    const again = await platform.invoke('big', 1, { 'idempotency-key': 'first' });
    expect(again.status).toBe(410);
    expect(again.headers.get('x-execution-id')).toBe(executionId);
    expect(again.envelope).toMatchObject({ executionId, output: null, error: { code: 'RESULT_EVICTED' } });
    const enqueued = await platform.post('/v1/functions/big:enqueue', { input: 1 }, { 'idempotency-key': 'first' });
    expect(enqueued).toBeRefusedWith(410, 'RESULT_EVICTED');
    expect(enqueued.headers.get('x-execution-id')).toBe(executionId);
    expect(calls('big')).toBe(ran);
    expect(await platform.execution(executionId)).toMatchObject({ status: 'success', output: null, evicted: true });
  });

  it('is not held by a call that was refused', async () => {
    const gate = new Gate();
    await platform.register(
      'narrow',
      async () => {
        await gate.opened;
        return {};
      },
      { concurrency: 1, queueSize: 1 },
    );
    await platform.enqueue('narrow', { input: 1 });
    await eventually(() => calls('narrow') === 1);
    await platform.enqueue('narrow', { input: 2 });
    const refused = await platform.invoke('narrow', 3, { 'idempotency-key': 'k' });
    expect(refused).toBeRefusedWith(429, 'QUEUE_FULL');
    gate.open();
    expect(await platform.invoke('narrow', 4, { 'idempotency-key': 'k' })).toMatchObject({ status: 200 });
  });

  it('is a reservation: of many at once no more get in than there is room for', async () => {
    await platform.register('many', undefined, { queueSize: 1_000, concurrency: 50 });
    const answers = await Promise.all(
      Array.from({ length: 300 }, (_, n) =>
        platform.post('/v1/functions/many:enqueue', { input: n }, { 'idempotency-key': `many-${n}` }),
      ),
    );
    const refused = answers.filter(({ status }) => status !== 202);
    expect(refused.length).toBeGreaterThanOrEqual(100);
    for (const answer of refused) expect(answer).toBeRefusedWith(429, 'IDEMPOTENCY_KEYS_EXHAUSTED');
    expect(Number(refused[0]?.headers.get('retry-after'))).toBeGreaterThan(100); // a key expires after 15 minutes
    const other = await platform.otherKey('tenant-c');
    await platform.register('many', undefined, {}, other);
    expect((await platform.invoke('many', 1, { 'idempotency-key': 'k' }, other)).status).toBe(200);
    // Without a key, and with one that is known, everything goes on.
    expect((await platform.invoke('many', 'x')).status).toBe(200);
    const known = answers.findIndex(({ status }) => status === 202);
    expect((await platform.invoke('many', known, { 'idempotency-key': `many-${known}` })).envelope.output).toBe(known);
  });
});
