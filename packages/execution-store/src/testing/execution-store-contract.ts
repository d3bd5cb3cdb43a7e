import { FakeClock } from '@drover/testkit';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ExecutionFilter, ExecutionStore } from '../execution-store.js';
import {
  acceptedCallAt,
  acme,
  awkwardPayloads,
  contractLimits,
  deadLetterAt,
  executionIdAt,
  globex,
  outcomeAt,
  type ContractLimits,
} from './sample-executions.js';

/** One started store that owns all partitions. */
export interface ContractFixture {
  readonly store: ExecutionStore;
  /** Runs the maintenance that the store runs by itself from time to time. */
  runMaintenance(): Promise<void>;
  close(): Promise<void>;
}

export type OpenContractFixture = (clock: FakeClock, limits: ContractLimits) => Promise<ContractFixture>;

const all = Array.from({ length: 16 }, (_, partition) => partition);

/** The promises of `ExecutionStore`. The test of each adapter runs it. */
export function executionStoreContract(adapter: string, openFixture: OpenContractFixture): void {
  describe(`the execution store contract: ${adapter}`, () => {
    let clock: FakeClock;
    let fixture: ContractFixture;
    let store: ExecutionStore;
    const open = async (limits: Partial<ContractLimits> = {}): Promise<void> => {
      clock = new FakeClock();
      fixture = await openFixture(clock, { ...contractLimits, ...limits });
      store = fixture.store;
    };
    beforeEach(() => open());
    afterEach(() => fixture.close());

    const idsOf = async (filter: Partial<ExecutionFilter>): Promise<string[]> =>
      (await store.list({ tenantId: acme, limit: 100, ...filter })).map(({ accepted }) => accepted.executionId);

    it('reads back every property of an execution', async () => {
      const accepted = acceptedCallAt(clock.now(), {
        payload: { json: '"aGk="', encoding: 'base64' },
        metadata: { a: 'b', ['__proto__']: 'stored' },
        headers: { 'x-a': 'ü"\\\n' },
        concurrencyKey: 'order-7',
        idempotencyKey: 'key-1',
        traceId: 'trace-1',
        traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
        tracestate: 'a=b',
        runAt: clock.now() + 5,
        callbackUrl: 'https://example.org/?a=1&b="',
        replayOf: executionIdAt(clock.now()),
      });
      const outcome = outcomeAt(clock.now() + 10, {
        attempts: 3,
        failures: [
          {
            attempt: 2,
            startedAt: 1,
            finishedAt: 2,
            error: { code: 'POOL_ERROR', message: 'NUL \u0000, half \ud800' },
          },
        ],
        output: { json: '"aG8="', encoding: 'base64' },
        headers: { 'content-type': 'text/plain' },
        coldStart: true,
        initDurationMs: 12.5,
        coldStartMs: { queued: 0.1, decided: 2, process: 0, connect: 0, reload: 4.5, load: 5.9, run: 1 },
        isTransient: true,
      });
      await store.accept([accepted]);
      await store.finish(accepted, outcome);
      const found = await store.find(acme, accepted.executionId);
      expect(found).toEqual({ accepted, outcome, evicted: false });
      expect(await store.list({ tenantId: acme, limit: 10 })).toEqual([found]);
    });

    it.each(Object.entries(awkwardPayloads))('stores payloads unchanged: %s', async (_, json) => {
      const accepted = acceptedCallAt(clock.now(), { json });
      await store.accept([accepted]);
      await store.finish(accepted, outcomeAt(clock.now(), { json }));
      const found = await store.find(acme, accepted.executionId);
      expect(found?.accepted.payload.json).toBe(json);
      expect(found?.outcome.output?.json).toBe(json);
    });

    it('stores the end of an execution that was not accepted through it', async () => {
      const accepted = acceptedCallAt(clock.now(), { kind: 'sync' });
      await store.finish(accepted, outcomeAt(clock.now(), { status: 'timeout' }));
      expect((await store.find(acme, accepted.executionId))?.outcome.status).toBe('timeout');
    });

    it('finds no execution of another tenant, no unknown one and no unfinished one', async () => {
      const [done, waiting] = [acceptedCallAt(clock.now()), acceptedCallAt(clock.now())];
      await store.accept([done, waiting]);
      await store.finish(done, outcomeAt(clock.now()));
      expect(await store.find(globex, done.executionId)).toBeUndefined();
      expect(await store.find(acme, waiting.executionId)).toBeUndefined();
      expect(await store.find(acme, executionIdAt(clock.now()))).toBeUndefined();
      expect(await store.find(acme, 'no id at all')).toBeUndefined();
      expect(await idsOf({})).toEqual([done.executionId]);
      expect(await idsOf({ status: 'queued' })).toEqual([]);
    });

    it('keeps the first end', async () => {
      const accepted = acceptedCallAt(clock.now());
      await store.accept([accepted]);
      await store.finish(accepted, outcomeAt(clock.now()));
      await store.finish(accepted, outcomeAt(clock.now() + 1, { status: 'cancelled' }));
      expect((await store.find(acme, accepted.executionId))?.outcome.status).toBe('success');
      expect((await store.recover(all)).unfinished).toEqual([]);
    });

    it('recovers unfinished executions in the order of acceptance, with attempt numbers that grow each time', async () => {
      const failure = { attempt: 1, startedAt: 1, finishedAt: 2, error: { code: 'POOL_ERROR', message: 'no' } };
      const [first, done, tried, later] = [
        acceptedCallAt(clock.now(), { partition: 9 }),
        acceptedCallAt(clock.now()),
        acceptedCallAt(clock.now(), { partition: 1 }),
        acceptedCallAt(clock.now(), { runAt: clock.now() + 3_600_000 }),
      ];
      await store.accept([later, done]);
      await store.accept([tried]);
      await store.accept([first]);
      await store.recordRetry(tried, [failure], 1);
      await store.finish(done, outcomeAt(clock.now()));
      const expected = (more: number): unknown => [
        { accepted: first, attempts: more, failures: [] },
        { accepted: tried, attempts: 1 + more, failures: [failure] },
        { accepted: later, attempts: 0, failures: [] }, // not due yet, so no attempt can have started
      ];
      expect((await store.recover(all)).unfinished).toEqual(expected(1));
      expect((await store.recover(all)).unfinished).toEqual(expected(2));
      expect((await store.recover([9])).unfinished).toHaveLength(1);
      expect((await store.recover([0])).unfinished).toEqual([]);
    });

    it('finishes a recovered execution', async () => {
      const accepted = acceptedCallAt(clock.now());
      await store.accept([accepted]);
      await store.recover(all);
      await store.recordRetry(accepted, [], 4);
      expect((await store.recover(all)).unfinished).toMatchObject([{ attempts: 5 }]);
      await store.finish(accepted, outcomeAt(clock.now()));
      expect((await store.recover(all)).unfinished).toEqual([]);
    });

    it('recovers the idempotency keys of finished executions until they expire', async () => {
      const keys = ['plain', 'ü "quoted" \\ \n', 'half \ud800 and NUL \u0000'];
      const bound = keys.map((idempotencyKey) => acceptedCallAt(clock.now(), { idempotencyKey, generation: 7 }));
      for (const accepted of bound) await store.finish(accepted, outcomeAt(clock.now()));
      await store.finish(acceptedCallAt(clock.now()), outcomeAt(clock.now()));
      const { keys: found } = await store.recover(all);
      expect(found.toSorted((a, b) => (a.executionId < b.executionId ? -1 : 1))).toEqual(
        bound.map(({ executionId, idempotencyKey }) => ({
          tenantId: acme,
          functionName: 'resize',
          generation: 7,
          idempotencyKey,
          executionId,
          expiresAt: clock.now() + contractLimits.ttlMs,
        })),
      );
      expect(await idsOf({ idempotencyKey: keys[2] ?? '' })).toEqual([bound[2]?.executionId]);
      expect((await store.recover([4])).keys).toEqual([]);
      await clock.advance(contractLimits.ttlMs);
      expect((await store.recover(all)).keys).toEqual([]);
    });

    it('binds a key to its latest final end: not to a failure that may pass, nor to one that was replayed', async () => {
      const finish = async (idempotencyKey: string, over: Parameters<typeof outcomeAt>[1]): Promise<string> => {
        const accepted = acceptedCallAt(clock.now(), { idempotencyKey });
        await store.finish(accepted, outcomeAt(clock.now(), over));
        return accepted.executionId;
      };
      const failed = { status: 'error', error: { code: 'X', message: 'NUL \u0000, half \ud800' } } as const;
      await finish('passed', { ...failed, isTransient: true });
      const error = await finish('failed', failed);
      await finish('replayed', failed);
      const replay = await finish('replayed', {});
      await finish('freed', failed);
      await finish('freed', { ...failed, isTransient: true });
      const { keys } = await store.recover(all);
      expect(keys.map(({ executionId }) => executionId).toSorted()).toEqual([error, replay]);
    });

    it('binds the key of a dead letter no longer than others', async () => {
      const accepted = acceptedCallAt(clock.now(), { idempotencyKey: 'k' });
      await store.finish(accepted, deadLetterAt(clock.now()));
      expect((await store.recover(all)).keys).toMatchObject([{ expiresAt: clock.now() + contractLimits.ttlMs }]);
      await clock.advance(contractLimits.ttlMs);
      expect((await store.recover(all)).keys).toEqual([]);
      expect(await store.find(acme, accepted.executionId)).toBeDefined();
    });

    it('removes finished executions after their time to live, dead letters later', async () => {
      const [done, dead] = [acceptedCallAt(clock.now()), acceptedCallAt(clock.now())];
      await store.finish(done, outcomeAt(clock.now()));
      await store.finish(dead, deadLetterAt(clock.now()));
      await clock.advance(contractLimits.ttlMs - 1);
      await fixture.runMaintenance();
      expect(await idsOf({})).toHaveLength(2);
      await clock.advance(1);
      expect(await idsOf({})).toEqual([dead.executionId]);
      expect(await store.find(acme, done.executionId)).toBeUndefined();
      await fixture.runMaintenance();
      expect(await idsOf({})).toEqual([dead.executionId]);
      await clock.advance(contractLimits.deadLetterTtlMs);
      await fixture.runMaintenance();
      expect(await idsOf({})).toEqual([]);
    });

    it('drops the oldest payloads beyond the limit, and keeps the executions', async () => {
      await fixture.close();
      await open({ maxBytes: 5_000 });
      const json = JSON.stringify('x'.repeat(998));
      const stored = [];
      for (let n = 0; n < 4; n += 1) {
        const accepted = acceptedCallAt(clock.now(), { json, idempotencyKey: `key-${n}` });
        await store.finish(accepted, outcomeAt(clock.now(), { json }));
        stored.push(accepted);
        await clock.advance(10);
      }
      await fixture.runMaintenance();
      const found = await store.list({ tenantId: acme, limit: 10, oldestFirst: true });
      expect(found.map(({ evicted }) => evicted)).toEqual([true, true, false, false]);
      expect(found[0]?.accepted).toEqual({ ...stored[0], payload: { json: 'null' } });
      expect(found[0]?.outcome).toMatchObject({ status: 'success', statusCode: 200 });
      expect(found[0]?.outcome.output).toBeUndefined();
      expect(found[3]?.outcome.output).toEqual({ json });
      expect((await store.recover(all)).keys).toHaveLength(4);
    });

    it('lists by each field of the filter', async () => {
      const hour = 3_600_000;
      const at = clock.now();
      const shapes = [
        acceptedCallAt(at - 2 * hour),
        acceptedCallAt(at - hour, { functionName: 'scan', traceId: 'trace "1"' }),
        acceptedCallAt(at - hour, { tenantId: globex }),
        acceptedCallAt(at, { idempotencyKey: 'k' }),
      ];
      for (const accepted of shapes) await store.finish(accepted, outcomeAt(at));
      const failed = acceptedCallAt(at + 1);
      await store.finish(failed, outcomeAt(at + 1, { status: 'error' }));
      const [old, scan, foreign, keyed] = shapes.map(({ executionId }) => executionId);
      expect(await idsOf({})).toEqual([failed.executionId, keyed, scan, old]);
      expect(await idsOf({ oldestFirst: true, limit: 2 })).toEqual([old, scan]);
      expect(await idsOf({ tenantId: globex })).toEqual([foreign]);
      expect(await idsOf({ functionName: 'scan' })).toEqual([scan]);
      expect(await idsOf({ status: 'error' })).toEqual([failed.executionId]);
      expect(await idsOf({ status: 'success', limit: 1 })).toEqual([keyed]);
      expect(await idsOf({ from: at - hour })).toEqual([failed.executionId, keyed, scan]);
      expect(await idsOf({ from: at - hour, to: at })).toEqual([scan]);
      expect(await idsOf({ idempotencyKey: 'k' })).toEqual([keyed]);
      expect(await idsOf({ traceId: 'trace "1"' })).toEqual([scan]);
      expect(await idsOf({ deadLettersOnly: true })).toEqual([]);
    });

    it('pages through executions of the same millisecond, and past a removed one', async () => {
      const calls = Array.from({ length: 25 }, () => acceptedCallAt(clock.now()));
      await Promise.all(calls.map((accepted) => store.finish(accepted, outcomeAt(clock.now()))));
      const expected = calls.map(({ executionId }) => executionId);
      for (const oldestFirst of [true, false]) {
        const seen: string[] = [];
        for (;;) {
          const after = seen.at(-1);
          const page = await idsOf({ oldestFirst, limit: 10, ...(after !== undefined && { after }) });
          seen.push(...page);
          if (page.length < 10) break;
        }
        expect(seen).toEqual(oldestFirst ? expected : expected.toReversed());
      }
      expect(await idsOf({ after: executionIdAt(clock.now()), limit: 1 })).toEqual(expected.slice(-1));
    });

    it('marks a dead letter as redriven once', async () => {
      const [dead, other] = [acceptedCallAt(clock.now()), acceptedCallAt(clock.now())];
      await store.finish(dead, deadLetterAt(clock.now()));
      await store.finish(other, outcomeAt(clock.now(), { status: 'error' }));
      expect(await idsOf({ deadLettersOnly: true })).toEqual([dead.executionId]);
      const redrivenAs = executionIdAt(clock.now());
      expect(await store.markRedriven(globex, dead.executionId, redrivenAs)).toBe(false);
      const tries = await Promise.all([1, 2, 3].map(() => store.markRedriven(acme, dead.executionId, redrivenAs)));
      expect(tries.filter(Boolean)).toHaveLength(1);
      expect(await store.markRedriven(acme, other.executionId, redrivenAs)).toBe(false);
      expect(await store.markRedriven(acme, redrivenAs, redrivenAs)).toBe(false);
      expect(await idsOf({ deadLettersOnly: true })).toEqual([]);
      expect((await store.find(acme, dead.executionId))?.redrivenAs).toBe(redrivenAs);
    });

    it('counts and deletes dead letters that a filter selects, and no others', async () => {
      const letters = [];
      for (const functionName of ['f', 'f', 'g']) {
        const accepted = acceptedCallAt(clock.now(), { functionName });
        const letter = deadLetterAt(clock.now());
        const error = { code: letters.length === 0 ? 'OTHER' : 'POOL_ERROR', message: 'm' };
        await store.finish(accepted, { ...letter, error });
        letters.push(accepted.executionId);
        await clock.advance(1);
      }
      const failed = acceptedCallAt(clock.now(), { functionName: 'f' });
      await store.finish(failed, outcomeAt(clock.now(), { status: 'error' }));
      const [first = '', second = '', third = ''] = letters;
      const count = (filter: Partial<ExecutionFilter>) =>
        store.countDeadLetters({ tenantId: acme, limit: 1, ...filter });
      const remove = (filter: Partial<ExecutionFilter>) =>
        store.deleteDeadLetters({ tenantId: acme, limit: 10, ...filter });
      expect([await count({}), await count({ functionName: 'f' }), await count({ errorCode: 'OTHER' })]).toEqual([
        3, 2, 1,
      ]);
      expect(await idsOf({ deadLettersOnly: true, errorCode: 'OTHER' })).toEqual([first]);
      expect(await remove({ executionIds: [failed.executionId, 'no id', first] })).toBe(1);
      expect(await remove({ tenantId: globex })).toBe(0);
      expect(await store.find(acme, first)).toBeUndefined();
      expect(await remove({ limit: 1 })).toBe(1);
      expect([await count({}), await idsOf({ deadLettersOnly: true })]).toEqual([1, [third]]);
      await fixture.runMaintenance();
      expect(await store.find(acme, second)).toBeUndefined();
      expect(await store.find(acme, failed.executionId)).toBeDefined();
    });

    it('stores thousands at once', async () => {
      const calls = Array.from({ length: 3_000 }, (_, n) => acceptedCallAt(clock.now(), { partition: n % 16 }));
      await Promise.all([
        store.accept(calls.slice(0, 1_000)),
        ...calls.slice(1_000).map((accepted) => store.accept([accepted])),
      ]);
      await Promise.all(calls.slice(0, 2_999).map((accepted) => store.finish(accepted, outcomeAt(clock.now()))));
      const { unfinished } = await store.recover(all);
      expect(unfinished.map(({ accepted }) => accepted)).toEqual(calls.slice(2_999));
    });
  });
}
