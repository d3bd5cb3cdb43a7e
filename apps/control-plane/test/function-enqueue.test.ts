import type { EnqueueBatchResult } from '@drover/contracts';
import { eventually } from '@drover/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startFunctionsPlatform, unknownExecution, type FunctionsPlatform } from './support/functions.js';
import './support/refusal-matcher.js';
import { Gate, type EndpointCall } from './support/scripted-endpoint.js';
import { leavesNoSecretBehind } from './support/secrets.js';

leavesNoSecretBehind();

describe.each(['postgres', 'memory'])('executions in %s', (store) => {
  let platform: FunctionsPlatform;
  beforeAll(async () => {
    platform = await startFunctionsPlatform({
      EXECUTION_STORE: store,
      DROVER_JOB_RUNNER: 'process',
      DROVER_JOB_GRACE_MS: '100',
    });
  });
  afterAll(() => platform?.stop());

  describe('a call that nobody waits for', () => {
    it('is accepted, runs, and is kept with its output and all that was said with it', async () => {
      await platform.register('async', () => ({
        json: { done: true },
        headers: { 'x-cold-start': 'true', 'x-init-duration-ms': '12' },
      }));
      const answer = await platform.post(
        '/v1/functions/async:enqueue',
        { input: 1, metadata: { m: 'v' } },
        { 'x-trace-id': 'trace-9' },
      );
      expect(answer.status).toBe(202);
      const { executionId } = answer.body as { readonly executionId: string };
      expect(answer.body).toEqual({ executionId, status: 'queued' });
      expect(answer.headers.get('x-execution-id')).toBe(executionId);
      const { startedAt, finishedAt, ...rest } = await platform.ended(executionId);
      expect(rest).toEqual({
        executionId,
        functionName: 'async',
        status: 'success',
        output: { done: true },
        error: null,
        attempts: 1,
        attemptLog: [],
        coldStart: true,
        initDurationMs: 12,
        traceId: 'trace-9',
        metadata: { m: 'v' },
      });
      expect(Date.parse(finishedAt ?? '')).toBeGreaterThanOrEqual(Date.parse(startedAt));
    });

    it('runs although thirty inputs before it broke their connections', async () => {
      await platform.register(
        'poisoned',
        ({ body }) => (body.input === 'poison' ? { cut: true } : { json: body.input }),
        {
          concurrency: 2,
          maxRetries: 1,
        },
      );
      const inputs = [...Array.from({ length: 30 }, () => 'poison'), ...Array.from({ length: 50 }, (_, n) => n)];
      const answer = await platform.post('/v1/functions/poisoned:enqueue-batch', {
        items: inputs.map((input) => ({ input })),
      });
      const { items } = answer.body as { readonly items: readonly { readonly executionId: string }[] };
      const ends = await Promise.all(items.slice(30).map(({ executionId }) => platform.ended(executionId)));
      expect(new Set(ends.map(({ status }) => status))).toEqual(new Set(['success']));
    });

    it('waits for its time: not before, and soon after', async () => {
      const began = new Map<unknown, number>();
      await platform.register('later', ({ body }) => {
        began.set(body.input, Date.now());
        return {};
      });
      const due = Date.now() + 1_000;
      const delayed = await platform.enqueue('later', { input: 'delayed', delayMs: 1_000 });
      const planned = await platform.enqueue('later', { input: 'planned', runAt: new Date(due).toISOString() });
      const past = await platform.enqueue('later', { input: 'past', runAt: '2001-01-01T00:00:00Z' });
      expect(await platform.execution(planned.executionId)).toMatchObject({
        status: 'queued',
        attempts: 0,
        runAt: new Date(due).toISOString(),
      });
      await Promise.all([past, delayed, planned].map(({ executionId }) => platform.ended(executionId)));
      for (const input of ['delayed', 'planned']) expect(began.get(input)).toBeGreaterThanOrEqual(due - 1);
    });

    it('takes no place in the queue while its time has not come', async () => {
      await platform.register('roomy', undefined, { queueSize: 1 });
      for (let n = 0; n < 5; n += 1) await platform.enqueue('roomy', { input: n, delayMs: 60_000 });
      expect((await platform.invoke('roomy', 'now')).status).toBe(200);
    });

    it.each([
      [{ input: 1, delayMs: -1 }, 'delayMs'],
      [{ input: 1, delayMs: 1.5 }, 'delayMs'],
      [{ input: 1, delayMs: '5' }, 'delayMs'],
      [{ input: 1, delayMs: 2_592_000_001 }, 'delayMs'],
      [{ input: 1, runAt: 'tomorrow' }, 'runAt'],
      [{ input: 1, runAt: '1' }, 'runAt'],
      [{ input: 1, runAt: 5 }, 'runAt'],
      [{ input: 1, runAt: '+275760-09-13T00:00:00Z' }, 'runAt'],
      [{ input: 1, delayMs: 1, runAt: '2030-01-01T00:00:00Z' }, 'both'],
      [{ input: 1, callbackUrl: 'ftp://x' }, 'callbackUrl'],
      [{ input: 1, callbackUrl: 'javascript:alert(1)' }, 'callbackUrl'],
      [{ input: 1, callbackUrl: `http://x/${'a'.repeat(2_100)}` }, 'callbackUrl'],
      [{ delayMs: 1 }, 'input'],
    ])('is refused when it is wrong: %#', async (body, about) => {
      await platform.register('strict').catch(() => undefined); // registered for all of them
      for (const [path, json, where] of [
        ['enqueue', body, 'body'],
        ['enqueue-batch', { items: [{ input: 0 }, body] }, 'body.items[1]'],
      ] as const) {
        const answer = await platform.post(`/v1/functions/strict:${path}`, json);
        expect(answer).toBeRefusedWith(400, 'VALIDATION_ERROR');
        expect(answer.text).toContain(about);
        expect(answer.text).toContain(where);
      }
      expect(platform.endpoint.calls('strict')).toEqual([]);
    });
  });

  describe('a batch', () => {
    it('answers for every item in order, and runs each that was accepted', async () => {
      await platform.register('batch');
      const items = Array.from({ length: 50 }, (_, n) => ({ input: { n }, metadata: { n: String(n) } }));
      const { status, body } = await platform.post('/v1/functions/batch:enqueue-batch', { items });
      expect(status).toBe(202);
      const result = body as EnqueueBatchResult;
      expect(result.accepted).toBe(50);
      const ends = await Promise.all(
        result.items.map((item) => platform.ended('executionId' in item ? item.executionId : '')),
      );
      expect(ends.map(({ output }) => output)).toEqual(items.map(({ input }) => input));
      expect(ends[7]).toMatchObject({ metadata: { n: '7' } });
    });

    it('takes what there is room for and says what becomes of the rest', async () => {
      const gate = new Gate();
      await platform.register(
        'partly',
        async () => {
          await gate.opened;
          return {};
        },
        { concurrency: 1, queueSize: 3 },
      );
      const items = [1, 2, 3, 4, 5].map((input) => ({ input, idempotencyKey: `item-${input}` }));
      const { status, headers, body } = await platform.post('/v1/functions/partly:enqueue-batch', { items });
      expect(status).toBe(202);
      expect(headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
      expect(body).toMatchObject({
        accepted: 3,
        items: [
          { status: 'queued' },
          { status: 'queued' },
          { status: 'queued' },
          { error: 'QUEUE_FULL', message: expect.stringMatching(/./) },
          { error: 'QUEUE_FULL' },
        ],
      });
      // The first has left the queue for its slot: one more has room.
      await eventually(() => platform.endpoint.calls('partly').length === 1);
      const { body: again } = await platform.post('/v1/functions/partly:enqueue-batch', { items });
      expect(again).toMatchObject({ accepted: 4 });
      const ids = (one: unknown): unknown[] =>
        (one as EnqueueBatchResult).items.map((item) => ('executionId' in item ? item.executionId : ''));
      expect(ids(again).slice(0, 3)).toEqual(ids(body).slice(0, 3));
      const full = await platform.post('/v1/functions/partly:enqueue-batch', { items: [{ input: 9 }] });
      expect(full).toBeRefusedWith(429, 'QUEUE_FULL');
      gate.open();
    });

    it('has items with keys: the same key twice is one execution', async () => {
      await platform.register('twice');
      const items = [{ input: 1, idempotencyKey: 'k' }, { input: 1, idempotencyKey: 'k' }, { input: 3 }];
      const { body } = await platform.post('/v1/functions/twice:enqueue-batch', { items });
      const [first, second, third] = (body as EnqueueBatchResult).items as { readonly executionId: string }[];
      expect(second).toEqual(first);
      expect(third?.executionId).not.toBe(first?.executionId);
      expect(await platform.ended(first?.executionId ?? '')).toMatchObject({ output: 1 });
      await platform.ended(third?.executionId ?? '');
      expect(platform.endpoint.calls('twice')).toHaveLength(2);
    });

    it('has items with concurrency keys, which run in turn with calls of other kinds', async () => {
      let running = 0;
      let most = 0;
      await platform.register(
        'serial',
        async ({ body }) => {
          running += 1;
          most = Math.max(most, running);
          await new Promise((resolve) => setImmediate(resolve));
          running -= 1;
          return { json: body.input };
        },
        { concurrency: 10, queueSize: 100 },
      );
      const items = [1, 2, 3].map((input) => ({ input, concurrencyKey: 'order-7' }));
      const { body } = await platform.post('/v1/functions/serial:enqueue-batch', { items });
      const { executionId } = await platform.enqueue('serial', { input: 4, concurrencyKey: 'order-7' });
      const answers = await Promise.all([
        platform.post('/v1/functions/serial:invoke', { input: 5, concurrencyKey: 'order-7' }),
        platform.post('/function/serial', 6, { 'x-concurrency-key': 'order-7' }),
      ]);
      expect(answers.map(({ status }) => status)).toEqual([200, 200]);
      expect(await platform.ended(executionId)).toMatchObject({ output: 4, concurrencyKey: 'order-7' });
      for (const item of (body as EnqueueBatchResult).items)
        await platform.ended('executionId' in item ? item.executionId : '');
      expect(
        platform.endpoint
          .calls('serial')
          .map(({ body: sent }) => sent.input)
          .slice(0, 4),
      ).toEqual([1, 2, 3, 4]);
      expect(most).toBe(1);
      expect(await platform.post('/v1/functions/serial:invoke', { input: 1, concurrencyKey: 'a b' })).toBeRefusedWith(
        400,
        'VALIDATION_ERROR',
      );
    });

    it.each([
      [{}],
      [{ items: [] }],
      [{ items: {} }],
      [{ items: [1] }],
      [{ items: [null] }],
      [{ items: [[{ input: 1 }]] }],
      [{ items: [{ input: 1, idempotencyKey: '' }] }],
      [{ items: [{ input: 1, idempotencyKey: 'with space' }] }],
      [{ items: [{ input: 1, concurrencyKey: 7 }] }],
      [{ items: [{ input: 1, idempotencyKey: 'x'.repeat(256) }] }],
      [{ items: [{ input: 1, metadata: { a: 1 } }] }],
      [{ items: Array.from({ length: 1_001 }, () => ({ input: 1 })) }],
    ])('is refused as a whole when it is not one: %#', async (body) => {
      await platform.register('no-batch').catch(() => undefined);
      expect(await platform.post('/v1/functions/no-batch:enqueue-batch', body)).toBeRefusedWith(
        400,
        'VALIDATION_ERROR',
      );
      expect(platform.endpoint.calls('no-batch')).toEqual([]);
    });
  });

  describe('a result that is handed back later', () => {
    const handedOver = { status: 202, headers: { 'x-drover-handed-over': 'true' } };
    const begun = async (name: string): Promise<EndpointCall> => {
      await eventually(() => platform.endpoint.calls(name).length > 0);
      return platform.endpoint.calls(name)[0] as EndpointCall; // it is there
    };
    const firstAttempt = { 'x-dispatch-attempt': '1' };
    const completion = (id: string): string => `/v1/internal/executions/${id}:complete`;

    it('ends the call by the number of its attempt; what comes after it changes nothing', async () => {
      await platform.register('handed', () => handedOver);
      const { executionId } = await platform.enqueue('handed', { input: 1 });
      await eventually(async () => (await platform.execution(executionId)).status === 'running');
      const taken = await platform.post(
        completion(executionId),
        { success: true, output: { from: 'afar' } },
        firstAttempt,
      );
      expect([taken.status, taken.text]).toEqual([204, '']);
      expect(await platform.ended(executionId)).toMatchObject({ status: 'success', output: { from: 'afar' } });
      const late = await platform.post(completion(executionId), { success: false, error: { code: 'X' } }, firstAttempt);
      expect(late.status).toBe(204);
      expect(await platform.execution(executionId)).toMatchObject({ status: 'success', output: { from: 'afar' } });
    });

    it('is refused without the number of the attempt, and the attempt goes on', async () => {
      await platform.register('unnumbered', () => handedOver);
      const { executionId } = await platform.enqueue('unnumbered', { input: 1 });
      await eventually(async () => (await platform.execution(executionId)).status === 'running');
      const answer = await platform.post(completion(executionId), { success: true, output: 'any' });
      expect(answer).toBeRefusedWith(400, 'VALIDATION_ERROR');
      expect(answer.text).toContain('X-Dispatch-Attempt');
      expect((await platform.execution(executionId)).status).toBe('running');
      await platform.post(`/v1/executions/${executionId}:cancel`);
    });

    it('may be a failure, or an end with a status of its own, for somebody who waits', async () => {
      await platform.register('waited', () => handedOver);
      const complete = async (body: unknown): Promise<void> => {
        const count = platform.endpoint.calls('waited').length;
        const id = await eventually(() => platform.endpoint.calls('waited')[count]?.headers['x-execution-id'] ?? false);
        await platform.post(completion(String(id)), body, firstAttempt);
      };
      const failing = [
        platform.invoke('waited', 1),
        complete({ success: false, error: { code: 'BROKEN', message: 'it is' } }),
      ] as const;
      expect(await failing[0]).toMatchObject({
        status: 500,
        envelope: { status: 'error', error: { code: 'BROKEN', message: 'it is' } },
      });
      await failing[1];
      const chosen = complete({ success: true, output: 'made', statusCode: 201, headers: { location: '/here' } });
      expect(await platform.invoke('waited', 2)).toMatchObject({
        status: 201,
        envelope: { status: 'success', output: 'made', statusCode: 201, headers: { location: '/here' } },
      });
      await chosen;
    });

    it('of an older attempt is ignored', async () => {
      const gate = new Gate();
      await platform.register(
        'fenced',
        async ({ attempt }) => {
          if (attempt === 1) return { status: 503 };
          await gate.opened;
          return { json: 'second' };
        },
        { maxRetries: 1, retry: { delayMs: 1 } },
      );
      const { executionId } = await platform.enqueue('fenced', { input: 1 });
      await eventually(() => platform.endpoint.calls('fenced').length === 2);
      const late = await platform.post(
        completion(executionId),
        { success: true, output: 'first' },
        { 'x-dispatch-attempt': '1' },
      );
      expect(late.status).toBe(204);
      expect(await platform.execution(executionId)).toMatchObject({ status: 'running' });
      gate.open();
      expect(await platform.ended(executionId)).toMatchObject({ output: 'second', attempts: 2 });
    });

    it('needs no key at the address that came with the attempt, which is good for that attempt only', async () => {
      // A job that says where it may answer, and then takes its time.
      const program =
        'fetch(process.argv[1], {method:"POST",body:JSON.stringify(process.env.CALLBACK_URL)});setInterval(()=>0,1e3)';
      const listener = platform.endpoint.serve('job-began', () => ({}));
      const command = [process.execPath, '-e', program, listener];
      const job = { name: 'job', executionMode: 'REMOTE', command, maxRetries: 0 };
      expect((await platform.post('/v1/functions', job)).status).toBe(201);
      const { executionId } = await platform.enqueue('job', { input: 1 });
      const { text } = await begun('job-began');
      const address = new URL(JSON.parse(text) as string).pathname; // as the program above sends it
      const send = (path: string) =>
        platform.plane.request(path, { method: 'POST', json: { success: true, output: 'own' } });
      for (const [token, id] of [
        [address, unknownExecution],
        [address.replace('/1.', '/2.'), executionId],
        [address.slice(0, -1), executionId],
      ])
        expect(await send(`${token}/${id}:complete`)).toBeRefusedWith(401, 'COMPLETION_REFUSED');
      expect(await send(completion(executionId))).toBeRefusedWith(401, 'AUTHENTICATION_REQUIRED');
      expect((await platform.execution(executionId)).status).toBe('running');
      expect((await send(`${address}/${executionId}:complete`)).status).toBe(204);
      expect(await platform.ended(executionId)).toMatchObject({ status: 'success', output: 'own' });
    });

    it.each([
      ['nothing', {}],
      ['no truth value', { success: 'yes' }],
      ['a list', []],
      ['a wrong status', { success: true, statusCode: 99 }],
      ['headers that are none', { success: true, headers: { a: 1 } }],
      ['a strange encoding', { success: true, encoding: 'gzip' }],
      ['an error that is none', { success: false, error: 'oops' }],
    ])('is refused when it says %s', async (_, body) => {
      const answer = await platform.post(completion(unknownExecution), body, firstAttempt);
      expect(answer).toBeRefusedWith(400, 'VALIDATION_ERROR');
    });

    it.each(['0', '-1', 'x', '1.0', ' ', '99999999999'])('is refused with the attempt "%s"', async (attempt) => {
      const headers = { 'x-dispatch-attempt': attempt };
      expect(await platform.post(completion(unknownExecution), { success: true }, headers)).toBeRefusedWith(
        400,
        'VALIDATION_ERROR',
      );
    });
  });
});
