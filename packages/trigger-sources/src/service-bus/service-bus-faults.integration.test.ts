import { eventually } from '@drover/testkit';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { busConnectionString, startBusEmulator, type BusEmulator } from '../testing/bus-emulator.js';
import type { Deliver, Settlement } from '../trigger-source.js';
import { BusBench } from './bus-bench.test.fixture.js';
import { serviceBusReaders } from './observations.js';
import { FaultyTcpProxy } from './faulty-tcp-proxy.test.fixture.js';

const never = new AbortController().signal;
const complete: Settlement = { kind: 'complete' };
const lockDurationMs = 2_000;
const queues = Array.from({ length: 20 }, (_, n) => `queue-${n}`);
let emulator: BusEmulator;
beforeAll(async () => {
  emulator = await startBusEmulator({
    entities: {
      queues: [
        ...queues.map((name) => ({ name, lockDurationMs, maxDeliveryCount: 50 })),
        { name: 'ordered', lockDurationMs, maxDeliveryCount: 50, requiresSession: true },
      ],
    },
  });
});
afterAll(() => emulator.stop());

let next = 0;
let proxy: FaultyTcpProxy;
let bench: BusBench;
/** Beside the proxy. */
let direct: BusBench;
beforeEach(async () => {
  proxy = new FaultyTcpProxy(emulator.port);
  const port = await proxy.start();
  const queueName = queues[next++] ?? '';
  bench = new BusBench(busConnectionString(port), { queueName });
  direct = new BusBench(emulator.connectionString, { queueName });
});
afterEach(async () => {
  proxy.fault = 'pass';
  await Promise.all([bench.close(), direct.close()]);
  await proxy.stop();
});

/** Counts how often each message ran. */
function counting() {
  const runs = new Map<string, number>();
  const deliver: Deliver = async ({ data }) => {
    runs.set(String(data), (runs.get(String(data)) ?? 0) + 1);
    return complete;
  };
  return { runs, deliver };
}

describe('a namespace that cannot be used', () => {
  it.each(['refuse', 'garbage'] as const)(
    'is waited for, with one complaint, and used when it is back: %s',
    async (fault) => {
      await direct.send('waiting');
      proxy.fault = fault;
      const { runs, deliver } = counting();
      await bench.listen(deliver);
      await eventually(() => proxy.connections >= 3);
      expect(bench.kinds('service-bus.unavailable')).toMatchObject([{ failure: 'unavailable', setting: 'Bus' }]);
      proxy.fault = 'pass';
      await eventually(() => expect([...runs]).toEqual([['waiting', 1]]));
      expect(bench.kinds('service-bus.available')).toHaveLength(1);
    },
  );

  it('is measured with the reason', async () => {
    proxy.fault = 'refuse';
    await expect(bench.listener(async () => complete).measure(never)).rejects.toMatchObject({
      code: 'SERVICE_BUS_UNAVAILABLE',
      message: expect.stringContaining(`${bench.path} is unavailable (measure)`),
    });
  });

  it('delays neither start nor stop when it never answers', async () => {
    proxy.fault = 'hang';
    const listener = await bench.listen(async () => complete);
    await eventually(() => proxy.connections >= 1);
    await expect(listener.stop()).resolves.toBeUndefined();
  });
});

describe('a wrong key', () => {
  it('is reported once, with the name of the setting and without the key, and not tried in a hot loop', async () => {
    const strict = await startBusEmulator({ key: 'cmlnaHQ=', entities: { queues: [{ name: 'orders' }] } });
    const guarded = new FaultyTcpProxy(strict.port);
    const port = await guarded.start();
    const wrong = new BusBench(busConnectionString(port, 'd3Jvbmcga2V5'), { queueName: 'orders' });
    const right = new BusBench(busConnectionString(port, 'cmlnaHQ='), { queueName: 'orders' });
    try {
      await wrong.listen(async () => complete);
      await eventually(() => guarded.connections >= 3);
      expect(wrong.kinds('service-bus.unavailable')).toMatchObject([{ failure: 'denied', setting: 'Bus' }]);
      const { say } = serviceBusReaders['service-bus.unavailable'];
      for (const observation of wrong.kinds('service-bus.unavailable'))
        expect(say(observation)).toMatch(/access is denied; check the key in the setting Bus/);
      expect(JSON.stringify(wrong.observed)).not.toContain('d3Jvbmcga2V5');
      const connections = guarded.connections;
      await expect(wrong.send('x')).rejects.toMatchObject({ code: 'SERVICE_BUS_UNAVAILABLE' });
      expect(guarded.connections - connections).toBeLessThan(10);
      const { runs, deliver } = counting();
      await right.send('welcome');
      await right.listen(deliver);
      await eventually(() => expect([...runs]).toEqual([['welcome', 1]]));
    } finally {
      await Promise.all([wrong.close(), right.close()]);
      await guarded.stop();
      await strict.stop();
    }
  });
});

describe('a connection that breaks', () => {
  it('is opened again, and messages that ran meanwhile are settled over the new one', async () => {
    await direct.send('in hand', 'second');
    const settles: (() => void)[] = [];
    const { runs, deliver } = counting();
    await bench.listen((delivery, lost) => {
      if (runs.size < 2)
        return new Promise((resolve) => settles.push(() => void deliver(delivery, lost).then(resolve)));
      return deliver(delivery, lost);
    });
    await eventually(() => settles.length === 2);
    proxy.cut();
    await eventually(() => bench.kinds('service-bus.available').length === 1);
    await direct.send('after');
    for (const settle of settles) settle();
    await eventually(async () => (await direct.remaining()) === 0);
    expect(Object.fromEntries(runs)).toEqual({ after: 1, 'in hand': 1, second: 1 });
    expect(bench.count('service-bus.lock-lost')).toBe(0);
    expect(bench.count('service-bus.redelivered')).toBe(0);
  });

  it('loses no message however often it breaks, and every repeat is counted', async () => {
    const bodies = Array.from({ length: 400 }, (_, n) => `message ${n}`);
    const { runs, deliver } = counting();
    await direct.send(...bodies);
    await bench.listen(deliver);
    for (const share of [50, 150, 250]) {
      await eventually(() => runs.size >= share);
      proxy.cut();
    }
    await eventually(async () => (await direct.remaining()) === 0);
    expect([...runs.keys()].toSorted()).toEqual(bodies.toSorted());
    const repeats = [...runs.values()].reduce((sum, count) => sum + count - 1, 0);
    expect(repeats).toBeLessThanOrEqual(bench.count('service-bus.redelivered'));
  });
});

describe('a session whose connection breaks', () => {
  it('is lost with its messages, which run again in order', async () => {
    const sessions = new BusBench(bench.connection.connectionString.reveal(), {
      queueName: 'ordered',
      isSessionsEnabled: true,
      maxConcurrentSessions: 1,
    });
    const bodies = ['1', '2', '3', '4'];
    await sessions.sendBare(...bodies.map((body) => ({ body: Buffer.from(body), sessionId: 'a' })));
    const runs: string[] = [];
    const signals: AbortSignal[] = [];
    await sessions.listen(async ({ data }, lost) => {
      runs.push(String(data));
      signals.push(lost);
      if (runs.length !== 2) return complete;
      proxy.cut();
      return new Promise((resolve) => lost.addEventListener('abort', () => resolve(complete)));
    });
    await eventually(() => expect(runs).toEqual(['1', '2', '2', '3', '4']));
    expect(signals[1]?.aborted).toBe(true);
    expect(sessions.kinds('service-bus.lock-lost')).toHaveLength(1);
    await sessions.close();
  });
});
