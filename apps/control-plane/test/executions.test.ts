import type { ExecutionStatus } from '@drover/contracts';
import { eventually } from '@drover/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startFunctionsPlatform, unknownExecution, type FunctionsPlatform } from './support/functions.js';
import type { Answer } from './support/raw-http.js';
import './support/refusal-matcher.js';
import { Gate } from './support/scripted-endpoint.js';
import { leavesNoSecretBehind } from './support/secrets.js';

interface Page {
  readonly executions: readonly ExecutionStatus[];
  readonly next?: string;
}

leavesNoSecretBehind();

describe.each(['postgres', 'memory'])('executions in %s', (store) => {
  let platform: FunctionsPlatform;
  beforeAll(async () => {
    platform = await startFunctionsPlatform({ EXECUTION_STORE: store });
  });
  afterAll(() => platform?.stop());

  const list = async (query: Readonly<Record<string, string>>, path = '/v1/executions'): Promise<Page> => {
    const { status, body, text } = await platform.request(`${path}?${new URLSearchParams(query).toString()}`);
    if (status !== 200) throw new Error(`listing: ${status} ${text}`);
    return body as Page; // of a 200
  };
  const ids = ({ executions }: Page): string[] => executions.map(({ executionId }) => executionId);
  const cancel = (id: string): Promise<Answer> => platform.post(`/v1/executions/${id}:cancel`);
  const replay = (id: string): Promise<Answer> => platform.post(`/v1/executions/${id}:replay`);
  const enqueueEnded = async (
    name: string,
    body: unknown,
    headers?: Record<string, string>,
  ): Promise<ExecutionStatus> => platform.ended((await platform.enqueue(name, body, headers)).executionId);

  describe('are listed', () => {
    it('newest first, those that wait and run beside those that have ended, as they are read one by one', async () => {
      const gate = new Gate();
      await platform.register(
        'mixed',
        async ({ body }) => {
          if (body.input === 'wait') await gate.opened;
          return body.input === 'fail' ? { status: 500 } : { json: body.input };
        },
        { concurrency: 1 },
      );
      const success = await enqueueEnded('mixed', { input: 'fine' });
      const failure = await enqueueEnded('mixed', { input: 'fail' });
      const { envelope: plain } = await platform.invoke('mixed', 'plain');
      const running = await platform.enqueue('mixed', { input: 'wait' });
      const queued = await platform.enqueue('mixed', { input: 'later' });
      await eventually(async () => (await platform.execution(running.executionId)).status === 'running');
      const all = [queued, running, plain, failure, success].map(({ executionId }) => executionId);
      const page = await list({ function: 'mixed' });
      expect(ids(page)).toEqual(all);
      expect(page.executions.map(({ status }) => status)).toEqual(['queued', 'running', 'success', 'error', 'success']);
      expect(page.next).toBeUndefined();
      for (const one of page.executions) expect(await platform.execution(one.executionId)).toEqual(one);
      for (const [status, expected] of Object.entries({
        queued: [queued],
        running: [running],
        success: [plain, success],
        error: [failure],
        timeout: [],
        cancelled: [],
      }))
        expect(ids(await list({ function: 'mixed', status }))).toEqual(expected.map(({ executionId }) => executionId));
      gate.open();
      await platform.ended(queued.executionId);
    });

    it('by time, trace and key, alone and together', async () => {
      await platform.register('searched');
      const first = await enqueueEnded('searched', { input: 1 }, { 'x-trace-id': 'needle', 'idempotency-key': 'pin' });
      await eventually(() => Date.now() > Date.parse(first.startedAt));
      const second = await enqueueEnded('searched', { input: 2 }, { 'x-trace-id': 'needle' });
      const find = async (query: Record<string, string>) => ids(await list({ function: 'searched', ...query }));
      expect(await find({ traceId: 'needle' })).toEqual([second.executionId, first.executionId]);
      expect(await find({ traceId: 'nobody' })).toEqual([]);
      expect(await find({ idempotencyKey: 'pin' })).toEqual([first.executionId]);
      expect(await find({ from: second.startedAt })).toEqual([second.executionId]);
      expect(await find({ to: second.startedAt })).toEqual([first.executionId]);
      expect(await find({ from: first.startedAt, to: second.startedAt, status: 'success' })).toEqual([
        first.executionId,
      ]);
      expect(await find({ to: first.startedAt })).toEqual([]);
      expect(await find({ from: '0000-01-01T00:00:00Z', to: '9999-12-31T23:59:59Z' })).toHaveLength(2);
    });

    it('page by page, each once, though more arrive and others end meanwhile', async () => {
      await platform.register('paged', undefined, { queueSize: 1_000, concurrency: 2 });
      const known: string[] = [];
      const add = async (n: number): Promise<void> => {
        const items = Array.from({ length: n }, (_, input) => ({ input }));
        const { body } = await platform.post('/v1/functions/paged:enqueue-batch', { items });
        known.push(
          ...(body as { readonly items: readonly { readonly executionId: string }[] }).items.map(
            ({ executionId }) => executionId,
          ),
        );
      };
      await add(60);
      const before = [...known];
      const seen: string[] = [];
      for (
        let after: string | undefined, page: Page | undefined;
        page === undefined || after !== undefined;
        after = page.next
      ) {
        page = await list({ function: 'paged', limit: '7', ...(after !== undefined && { after }) });
        expect(page.executions.length).toBeLessThanOrEqual(7);
        seen.push(...ids(page));
        await add(3);
      }
      expect(seen).toEqual(seen.toSorted().toReversed());
      expect(seen).toEqual(before.toSorted().toReversed());
    });

    it('none is missed while it goes from running to ended', async () => {
      await platform.register('moving', undefined, { queueSize: 1_000 });
      for (let round = 0; round < 15; round += 1) {
        const items = Array.from({ length: 20 }, (_, input) => ({ input }));
        const { body } = await platform.post('/v1/functions/moving:enqueue-batch', { items });
        const batch = (body as { readonly items: readonly { readonly executionId: string }[] }).items.map(
          ({ executionId }) => executionId,
        );
        expect(ids(await list({ function: 'moving', limit: '20' }))).toEqual(batch.toSorted().toReversed());
      }
    });

    it.each([
      'limit=0',
      'limit=201',
      'limit=x',
      'limit=Infinity',
      `limit=${'9'.repeat(400)}`,
      'status=done',
      'from=yesterday',
      'from=2016-12-31T23:59:60Z',
      'to=2020-13-01T00:00:00Z',
      'after=x',
      'function=a%3Ab',
      'function=1x',
      'unknown=1',
      `traceId=${'x'.repeat(129)}`,
      `idempotencyKey=${'x'.repeat(256)}`,
      'status=queued&status=running',
    ])('not with %s', async (query) => {
      expect(await platform.request(`/v1/executions?${query}`)).toBeRefusedWith(400, 'VALIDATION_ERROR');
    });

    it('none for texts that no execution can have', async () => {
      for (const query of [
        'traceId=%00',
        'idempotencyKey=%00',
        'idempotencyKey=%F0%9F%92%A5',
        "traceId='%20or%201=1--",
      ])
        expect(await platform.request(`/v1/executions?${query}`)).toMatchObject({
          status: 200,
          body: { executions: [] },
        });
    });
  });

  describe('are cancelled', () => {
    it('while they wait: they never begin, and their place is free', async () => {
      const gate = new Gate();
      await platform.register(
        'busy',
        async ({ body }) => {
          await gate.opened;
          return { json: body.input };
        },
        { concurrency: 1, queueSize: 1 },
      );
      const first = await platform.enqueue('busy', { input: 1 });
      await eventually(() => platform.endpoint.calls('busy').length === 1);
      const waiting = await platform.enqueue('busy', { input: 2 });
      const answer = await cancel(waiting.executionId);
      expect(answer.status).toBe(200);
      expect(answer.body).toMatchObject({
        executionId: waiting.executionId,
        status: 'cancelled',
        attempts: 0,
        output: null,
        error: { code: 'EXECUTION_CANCELLED' },
      });
      const { executionId } = await platform.enqueue('busy', { input: 3 });
      gate.open();
      expect(await platform.ended(executionId)).toMatchObject({ output: 3 });
      expect(await platform.ended(first.executionId)).toMatchObject({ output: 1 });
      expect(platform.endpoint.calls('busy').map(({ body }) => body.input)).toEqual([1, 3]);
      expect(await platform.execution(waiting.executionId)).toEqual(answer.body);
    });

    it('while they run: whoever waits hears of it, and a late answer changes nothing', async () => {
      const gate = new Gate();
      await platform.register(
        'long',
        async () => {
          await gate.opened;
          return { json: 'late' };
        },
        { concurrency: 1 },
      );
      const waiter = platform.invoke('long', 1, { 'idempotency-key': 'k' });
      await eventually(() => platform.endpoint.calls('long').length === 1);
      const id = String(platform.endpoint.calls('long')[0]?.headers['x-execution-id']);
      // Whoever comes second may find it ended.
      const both = await Promise.all([cancel(id), cancel(id)]);
      expect(both.every(({ status }) => status === 200 || status === 409)).toBe(true);
      expect(both.find(({ status }) => status === 200)?.body).toMatchObject({ status: 'cancelled', attempts: 1 });
      expect(await waiter).toMatchObject({
        status: 409,
        envelope: { executionId: id, status: 'cancelled', error: { code: 'EXECUTION_CANCELLED' } },
      });
      gate.open();
      const first = { 'x-dispatch-attempt': '1' };
      await platform.post(`/v1/internal/executions/${id}:complete`, { success: true, output: 'late' }, first);
      expect(await platform.execution(id)).toMatchObject({ status: 'cancelled', output: null });
      expect((await platform.invoke('long', 2)).status).toBe(200); // the slot is free
    });

    it('before their time has come, and between two attempts', async () => {
      await platform.register('someday', () => ({ status: 503 }), { maxRetries: 5, retry: { delayMs: 60_000 } });
      const planned = await platform.enqueue('someday', { input: 1, delayMs: 60_000 });
      expect((await cancel(planned.executionId)).body).toMatchObject({ status: 'cancelled', attempts: 0 });
      const retrying = await platform.enqueue('someday', { input: 1 });
      await eventually(async () => {
        const { status, attempts } = await platform.execution(retrying.executionId);
        return status === 'queued' && attempts === 1;
      });
      expect((await cancel(retrying.executionId)).body).toMatchObject({
        status: 'cancelled',
        attempts: 1,
        attemptLog: [{ attempt: 1, error: { code: 'POOL_ERROR' } }],
      });
    });

    it('not once they have ended, and not when they are not there', async () => {
      await platform.register('quick');
      const { executionId } = await enqueueEnded('quick', { input: 1 });
      const { envelope } = await platform.invoke('quick', 1);
      for (const id of [executionId, envelope.executionId])
        expect(await cancel(id)).toBeRefusedWith(409, 'EXECUTION_ENDED');
      expect(await platform.execution(executionId)).toMatchObject({ status: 'success' });
      for (const id of [
        unknownExecution,
        'x',
        `${unknownExecution}x`,
        unknownExecution.toUpperCase().replace('0189', '018A'),
      ])
        for (const verb of ['cancel', 'replay'])
          expect(await platform.post(`/v1/executions/${id}:${verb}`)).toBeRefusedWith(404, 'EXECUTION_NOT_FOUND');
    });
  });

  describe('are run again', () => {
    it('as new ones with the same input, once they have failed', async () => {
      const broken = { is: true };
      await platform.register('mended', ({ body }) => (broken.is ? { status: 500 } : { json: body }));
      const failed = await enqueueEnded(
        'mended',
        { input: { a: 1 }, metadata: { m: 'v' } },
        { 'x-trace-id': 't', 'x-own': 'h', 'idempotency-key': 'k' },
      );
      expect(failed).toMatchObject({ status: 'error', deadLetter: true });
      broken.is = false;
      const answer = await replay(failed.executionId);
      expect(answer.status).toBe(202);
      const { executionId } = answer.body as { readonly executionId: string };
      const { output, ...rest } = await platform.ended(executionId);
      expect(output).toMatchObject({ input: { a: 1 }, metadata: { m: 'v' }, headers: { 'x-own': 'h' } });
      expect(rest).toMatchObject({
        replayOf: failed.executionId,
        status: 'success',
        traceId: 't',
        metadata: { m: 'v' },
        idempotencyKey: 'k',
      });
      const old = await platform.execution(failed.executionId);
      expect(old).toMatchObject({ status: 'error', redrivenAs: executionId });
      expect(old).not.toHaveProperty('deadLetter');
    });

    it('not when they succeeded, have not ended, were not kept, or when their function is gone', async () => {
      const gate = new Gate();
      await platform.register('final', async ({ body }) => {
        if (body.input === 'wait') await gate.opened;
        return body.input === 'fail' ? { status: 500 } : {};
      });
      const good = await enqueueEnded('final', { input: 1 });
      const running = await platform.enqueue('final', { input: 'wait' });
      const { envelope } = await platform.invoke('final', 'fail');
      for (const id of [good.executionId, running.executionId, envelope.executionId])
        expect(await replay(id)).toBeRefusedWith(409, 'EXECUTION_NOT_REPLAYABLE');
      gate.open();
      const failed = await enqueueEnded('final', { input: 'fail' });
      await platform.request('/v1/functions/final', { method: 'DELETE' });
      expect(await replay(failed.executionId)).toBeRefusedWith(404, 'FUNCTION_UNKNOWN');
    });
  });

  describe('are dead letters', () => {
    const redrive = (body: unknown): Promise<Answer> => platform.post('/v1/dead-letters:redrive', body);
    const letters = async (name: string): Promise<string[]> => ids(await list({ function: name }, '/v1/dead-letters'));

    it('once they have failed for good and nobody waited, until they are redriven', async () => {
      const broken = { is: true };
      await platform.register('mail', ({ body }) => (broken.is ? { status: 500 } : { json: body.input }));
      const failed: string[] = [];
      for (const input of [1, 2, 3]) failed.push((await enqueueEnded('mail', { input })).executionId);
      await platform.invoke('mail', 'somebody waited', { 'idempotency-key': 'k' });
      const cancelled = await platform.enqueue('mail', { input: 4, delayMs: 60_000 });
      await cancel(cancelled.executionId);
      expect(await letters('mail')).toEqual(failed.toReversed());
      const [first = '', second = '', third = ''] = failed;
      expect(ids(await list({ function: 'mail', limit: '1', after: third }, '/v1/dead-letters'))).toEqual([second]);

      broken.is = false;
      const named = await redrive({ executionIds: [third, unknownExecution, third] });
      expect(named.status).toBe(202);
      expect(named.body).toEqual({
        redriven: 1,
        remaining: 0,
        items: [
          { executionId: third, redrivenAs: expect.any(String) },
          { executionId: unknownExecution, error: 'EXECUTION_NOT_FOUND' },
        ],
      });
      expect(await letters('mail')).toEqual([second, first]);
      const oldest = (await redrive({ function: 'mail', limit: 1 })).body as {
        readonly items: readonly { readonly executionId: string; readonly redrivenAs: string }[];
      };
      expect(oldest.items.map(({ executionId }) => executionId)).toEqual([first]);
      expect(await platform.ended(oldest.items[0]?.redrivenAs ?? '')).toMatchObject({ output: 1, replayOf: first });
      expect((await redrive({ function: 'mail', limit: 100 })).body).toMatchObject({
        items: expect.arrayContaining([expect.objectContaining({ executionId: second })]),
      });
      expect(await letters('mail')).toEqual([]);
    });

    it.each([
      [{ executionIds: [] }],
      [{ executionIds: ['x'] }],
      [{ executionIds: [unknownExecution], function: 'mail' }],
      [{ function: 'a:b' }],
      [{ limit: 0 }],
      [{ limit: 1_001 }],
      [{ limit: 1, more: true }],
      [{ executionIds: Array.from({ length: 1_001 }, () => unknownExecution) }],
    ])('not redriven with a wrong wish: %#', async (body) => {
      expect(await redrive(body)).toBeRefusedWith(400, 'VALIDATION_ERROR');
    });
  });
});
