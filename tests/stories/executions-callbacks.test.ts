import { eventually } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { withCallbackReceiver, type CallbackReceiver } from '../support/callback-receiver.js';
import { forEach, FunctionsClient, killRole, report } from '../support/executions.js';
import { allowsLoopback, startPlatform, withDataDirectory, type Platform } from '../support/platform.js';
import { withReplicas } from '../support/replicas.js';
import { RunLedger } from '../support/run-ledger.js';

/** More than are tried at a time, and over several partitions. */
const names = Array.from({ length: 8 }, (_, number) => `f${number}`);
const perFunction = 25;

async function registerAll(api: FunctionsClient, ledger: RunLedger): Promise<void> {
  for (const name of names)
    await api.register({ name, executionMode: 'POOL', endpointUrl: ledger.url(name), timeoutMs: 20_000 });
}

/** Calls that want their results posted, by execution: what the result has to be. */
async function enqueueAll(api: FunctionsClient, callbackUrl: string, work = {}): Promise<Map<string, object>> {
  const expected = new Map<string, object>();
  for (const name of names) {
    const inputs = Array.from({ length: perFunction }, (_, n) => ({ n, ...work }));
    const ids = await api.acceptedBatch(
      name,
      inputs.map((input) => ({ input, callbackUrl })),
    );
    for (const [n, executionId] of ids.entries()) expected.set(executionId, { n });
  }
  return expected;
}

/** Waits until all executions have ended and every result was sent in vain once. */
async function endedInVain(api: FunctionsClient, expected: ReadonlyMap<string, object>, receiver: CallbackReceiver) {
  await forEach([...expected.keys()], 8, async (id) => void (await api.ended(id)));
  await eventually(() => expect(receiver.missed.size).toBe(expected.size));
  expect(receiver.results).toEqual([]);
}

async function allArrive(expected: ReadonlyMap<string, object>, receiver: CallbackReceiver): Promise<void> {
  await eventually(() => expect(receiver.arrived).toEqual([...expected.keys()].toSorted()), 90_000);
  for (const { executionId, status, body } of receiver.results) {
    expect(status).toBe('200');
    expect(body).toMatchObject(expected.get(executionId) ?? {});
  }
}

/** Marks that this process has removed. */
async function removedMarks(client: Platform['client']): Promise<number> {
  const metrics = await client.getMetrics();
  const line = /^drover_database_group_commit_rows_total\{.*name="execution-callbacks".*\} (\d+)$/m.exec(metrics);
  return Number(line?.[1] ?? 0);
}

describe('results that a callback URL is to get', () => {
  it('arrive though the platform was killed while their receiver was down, and then not again', () =>
    withCallbackReceiver((receiver) =>
      withDataDirectory(async (dataDirectory, started) => {
        const ledger = await RunLedger.open();
        try {
          const { up, ready, client } = await startPlatform(dataDirectory, { env: allowsLoopback });
          started(up);
          const api = await FunctionsClient.of(ready);
          await registerAll(api, ledger);
          const expected = await enqueueAll(api, receiver.url);
          await endedInVain(api, expected, receiver);
          // These have not ended when it dies: they run again, and their results are delivered like the others.
          for (const [id, result] of await enqueueAll(api, receiver.url, { workMs: 400 })) expected.set(id, result);
          const { killedMs, next } = killRole(up, 'platform');
          const { readyMs } = await next();
          receiver.isDown = false;
          const upMs = Date.now();
          await allArrive(expected, receiver);
          const arrivedMs = Date.now() - upMs;
          await eventually(async () => expect(await removedMarks(client)).toBe(expected.size));
          const repeats = receiver.results.length - expected.size;

          const again = killRole(up, 'platform');
          await again.next();
          const name = names[0] ?? '';
          const call = { input: { n: -1 }, callbackUrl: receiver.url };
          const [last = ''] = await eventually(() => api.acceptedBatch(name, [call]));
          await eventually(() => expect(receiver.arrived).toContain(last));
          report('receiver down, platform killed', {
            results: expected.size,
            restartMs: readyMs - killedMs,
            arrivedMs,
            repeats,
          });
          expect(receiver.results.length).toBe(expected.size + repeats + 1);
          expect(repeats).toBe(0);
        } finally {
          await ledger.close();
        }
      }),
    ));

  it('arrive though the platform was stopped while their receiver was down, which does not hold it up', () =>
    withCallbackReceiver((receiver) =>
      withDataDirectory(async (dataDirectory, started) => {
        const ledger = await RunLedger.open();
        try {
          const first = await startPlatform(dataDirectory, { env: allowsLoopback });
          started(first.up);
          const api = await FunctionsClient.of(first.ready);
          await registerAll(api, ledger);
          const expected = await enqueueAll(api, receiver.url);
          await endedInVain(api, expected, receiver);
          const stoppedMs = Date.now();
          first.up.kill('SIGTERM');
          expect(await first.up.exited).toEqual({ code: 0, signal: null });
          const stopMs = Date.now() - stoppedMs;
          expect(receiver.results).toEqual([]);
          receiver.isDown = false;
          const { up } = await startPlatform(dataDirectory, { env: allowsLoopback });
          started(up);
          await allArrive(expected, receiver);
          report('receiver down, platform stopped', { results: expected.size, stopMs });
        } finally {
          await ledger.close();
        }
      }),
    ));

  it('arrive though the replica that had them was killed: its successors deliver them', () =>
    withCallbackReceiver((receiver) =>
      withReplicas({}, async (set) => {
        const [one, two] = [await set.start(), await set.start()];
        await registerAll(one.api, set.ledger);
        await eventually(async () => expect(await two.api.functions()).toHaveLength(names.length));
        const expected = await eventually(() => enqueueAll(one.api, receiver.url));
        await endedInVain(one.api, expected, receiver);
        two.child.kill('SIGKILL');
        await eventually(() => expect(one.logged('callback.resumed').length).toBeGreaterThan(0));
        receiver.isDown = false;
        await allArrive(expected, receiver);
        const takenUp = one.logged('callback.resumed').map(({ results }) => Number(results));
        report('receiver down, one of two killed', { results: expected.size, takenUp });
        expect(takenUp.reduce((sum, some) => sum + some, 0)).toBeLessThan(expected.size);
      }),
    ));
});
