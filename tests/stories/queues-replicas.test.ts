import type { ExecutionStatus, FunctionQueueStatus } from '@drover/contracts';
import { eventually, isAlive } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { good, type FunctionsClient } from '../support/executions.js';
import { names, registerAll, withReplicas } from '../support/replicas.js';

const queueOf = async (api: FunctionsClient, name: string): Promise<FunctionQueueStatus> =>
  good<FunctionQueueStatus>(await api.request('GET', `/v1/functions/${name}/queue`), 200);
const act = (api: FunctionsClient, name: string, verb: string) =>
  api.request('POST', `/v1/functions/${name}/queue:${verb}`);

/** The keys of the runs of a schedule, of those that have not ended, too. */
async function runsOf(api: FunctionsClient, name: string): Promise<readonly string[]> {
  const { executions } = good<{ executions: readonly ExecutionStatus[] }>(
    await api.request('GET', `/v1/executions?function=${name}&limit=200`),
    200,
  );
  return executions.flatMap(({ idempotencyKey }) => idempotencyKey ?? []);
}

describe('replicas of the control plane', () => {
  it('pause, show and purge the queue of any function, and a pause outlives a kill -9 of its owner', () =>
    withReplicas({}, async (set) => {
      const [one, two] = [await set.start(), await set.start()];
      await registerAll(one.api, set.ledger, 1);
      for (const [at, name] of names.entries()) {
        const [here, there] = at % 2 === 0 ? [one.api, two.api] : [two.api, one.api];
        await eventually(async () => expect((await act(here, name, 'pause')).status).toBe(200));
        await eventually(async () => expect((await there.enqueue(name, { input: {} })).status).toBe(202));
        for (const api of [here, there])
          expect(await queueOf(api, name)).toMatchObject({ state: 'paused', waiting: 1 });
        const removed = await there.request('DELETE', `/v1/functions/${name}`);
        expect(removed).toMatchObject({ status: 409, body: { error: 'FUNCTION_QUEUE_NOT_EMPTY' } });
      }
      two.child.kill('SIGKILL');
      await eventually(() => !isAlive(two.child.pid));
      for (const name of names)
        await eventually(
          async () => expect(await queueOf(one.api, name)).toMatchObject({ state: 'paused', waiting: 1 }),
          30_000,
        );
      const [first = '', second = ''] = names;
      expect((await one.api.request('DELETE', `/v1/functions/${first}?queue=purge`)).status).toBe(204);
      expect((await one.api.request('DELETE', `/v1/functions/${second}?queue=drain`)).status).toBe(202);
      await eventually(async () => expect((await one.api.request('GET', `/v1/functions/${second}`)).status).toBe(404));
    }));

  it('start each run of a schedule once, also when its owner is killed', () =>
    withReplicas({}, async (set) => {
      const [one, two] = [await set.start(), await set.start()];
      await registerAll(one.api, set.ledger, 1);
      const schedule = { cron: '* * * * * *', missed: 'all' };
      for (const name of names)
        good(await one.api.request('PATCH', `/v1/functions/${name}`, { json: { schedule } }), 200);
      for (const name of names)
        await eventually(async () => expect((await runsOf(one.api, name)).length).toBeGreaterThanOrEqual(2));
      two.child.kill('SIGKILL');
      const before = new Map<string, number>();
      for (const name of names) before.set(name, (await runsOf(one.api, name)).length);
      for (const name of names) {
        await eventually(
          async () => expect((await runsOf(one.api, name)).length).toBeGreaterThanOrEqual((before.get(name) ?? 0) + 3),
          40_000,
        );
        const keys = (await runsOf(one.api, name)).toSorted();
        expect(new Set(keys).size).toBe(keys.length);
        // No second is left out, also not those in which there was no owner.
        const seconds = keys.map((key) => Date.parse(key.slice('schedule-'.length)) / 1_000);
        expect(seconds).toEqual(seconds.map((_, index) => (seconds[0] ?? 0) + index));
      }
    }));
});
