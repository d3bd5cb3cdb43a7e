import { eventually } from '@drover/testkit';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { startBusEmulator, type BusEmulator } from '../testing/bus-emulator.js';
import type { Delivery, Settlement } from '../trigger-source.js';
import { BusBench, recording } from './bus-bench.test.fixture.js';

const complete: Settlement = { kind: 'complete' };
const sessionQueues = Array.from({ length: 8 }, (_, n) => `ordered-${n}`);
let emulator: BusEmulator;
beforeAll(async () => {
  const receiver = { lockDurationMs: 60_000, maxDeliveryCount: 4 };
  const ordered = sessionQueues.map((name) => ({ name, ...receiver, requiresSession: true }));
  emulator = await startBusEmulator({ entities: { queues: [...ordered, { name: 'plain', ...receiver }] } });
});
afterAll(() => emulator.stop());

const benches: BusBench[] = [];
let nextQueue = 0;
const open = (binding: Readonly<Record<string, unknown>>): BusBench => {
  const bench = new BusBench(emulator.connectionString, binding);
  benches.push(bench);
  return bench;
};
const openSessions = (binding: Readonly<Record<string, unknown>> = {}): BusBench =>
  open({ queueName: sessionQueues[nextQueue++] ?? '', isSessionsEnabled: true, ...binding });
afterEach(async () => {
  await Promise.all(benches.splice(0).map((bench) => bench.close()));
});

describe('sessions for several function workers', () => {
  it('are as many for each of them as for one', async () => {
    const bench = openSessions({ maxConcurrentSessions: 2 });
    await bench.send(
      ...Array.from({ length: 6 }, (_, n) => JSON.stringify({ $message: { body: 'x', sessionId: `s${n}` } })),
    );
    const { seen, deliver } = recording(() => new Promise<Settlement>(() => undefined));
    const listener = await bench.listen(deliver);
    await eventually(() => expect(seen).toHaveLength(2));
    listener.scale(2);
    await eventually(() => expect(seen).toHaveLength(4));
    listener.scale(1);
  });
});

describe('sessions', () => {
  const inSessions = (sessions: number, each: number) =>
    Array.from({ length: sessions * each }, (_, n) => ({
      body: Buffer.from(String(Math.floor(n / sessions))),
      sessionId: `s${n % sessions}`,
    }));
  const bySession = (seen: readonly Delivery[]): Record<string, unknown[]> => {
    const orders: Record<string, unknown[]> = {};
    for (const { data, metadata } of seen) (orders[String(metadata['SessionId'])] ??= []).push(data);
    return orders;
  };

  it('run each in order, several at a time', async () => {
    const bench = openSessions({ maxConcurrentSessions: 3, sessionIdleTimeout: '00:00:00.050' });
    await bench.sendBare(...inSessions(5, 8));
    let [running, most] = [0, 0];
    const { seen, deliver } = recording(async () => {
      running += 1;
      most = Math.max(most, running);
      await new Promise((resolve) => setImmediate(resolve));
      running -= 1;
      return complete;
    });
    await bench.listen(deliver);
    await eventually(async () => (await bench.remaining()) === 0);
    const expected = Array.from({ length: 8 }, (_, n) => String(n));
    for (let n = 0; n < 5; n++) expect(bySession(seen)[`s${n}`]).toEqual(expected);
    expect(most).toBeLessThanOrEqual(3);
    expect(most).toBeGreaterThan(1);
  });

  it.each([0, 10])('keep their order when a message fails, whatever prefetchCount is: %s', async (prefetchCount) => {
    const bench = openSessions({ prefetchCount });
    await bench.sendBare(...inSessions(1, 4));
    const { seen, deliver } = recording(({ data, deliveryCount }) =>
      data === '1' && deliveryCount < 3 ? { kind: 'abandon', delayMs: 50, byFunction: true } : complete,
    );
    await bench.listen(deliver);
    await eventually(async () => (await bench.remaining()) === 0);
    expect(seen.map(({ data }) => data)).toEqual(['0', '1', '1', '1', '2', '3']);
  });

  it('are given to functions: state, renewal and release', async () => {
    const bench = openSessions({ maxConcurrentSessions: 1, sessionIdleTimeout: '01:00:00' });
    await bench.sendBare(...inSessions(1, 2), { body: Buffer.from('other'), sessionId: 'later' });
    const states: string[] = [];
    const { seen, deliver } = recording(async ({ metadata }) => {
      const session = bench.lockedMessages.session(String(metadata['SessionId']));
      states.push(Buffer.from((await session.state()) ?? []).toString());
      await session.setState(Buffer.from(`saw ${seen.length}`));
      expect((await session.renew()).getTime()).toBeGreaterThan(Date.now());
      if (seen.length === 2) await session.release();
      return complete;
    });
    await bench.listen(deliver);
    // Without the release, the idle session would keep the only place for an hour.
    await eventually(() => expect(seen.map(({ data }) => data)).toEqual(['0', '1', 'other']));
    await eventually(() => expect(states).toEqual(['', 'saw 1', '']));
  });

  it('come as batches, one session each', async () => {
    const bench = openSessions({ cardinality: 'many', maxMessageBatchSize: 10, maxConcurrentSessions: 2 });
    await bench.sendBare(...inSessions(2, 6));
    const { seen, deliver } = recording();
    await bench.listen(deliver);
    await eventually(async () => (await bench.remaining()) === 0);
    for (const { metadata } of seen) expect(new Set(metadata['SessionIdArray'] as string[]).size).toBe(1);
    expect(seen.flatMap(({ data }) => data)).toHaveLength(12);
  });

  it('pause and resume without losing their order', async () => {
    const bench = openSessions({ maxConcurrentSessions: 1 });
    const { seen, deliver } = recording();
    const listener = await bench.listen(deliver);
    listener.pause();
    await bench.sendBare(...inSessions(1, 3));
    listener.resume();
    await eventually(() => expect(seen.map(({ data }) => data)).toEqual(['0', '1', '2']));
  });

  it('are refused with what to change when the entity has none, or when the trigger does not expect them', async () => {
    const wrong = open({ queueName: 'plain', isSessionsEnabled: true, clientRetryOptions: { tryTimeout: '00:00:02' } });
    const alsoWrong = openSessions({ isSessionsEnabled: false });
    await Promise.all([wrong, alsoWrong].map((bench) => bench.listen(async () => complete)));
    for (const bench of [wrong, alsoWrong])
      await eventually(() => expect(bench.kinds('service-bus.unavailable')).toMatchObject([{ failure: 'refused' }]));
  });
});
