import { eventually } from '@drover/testkit';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { busConnectionString, startBusEmulator, type BusEmulator } from '../testing/bus-emulator.js';
import type { Settlement } from '../trigger-source.js';
import { BusBench } from './bus-bench.test.fixture.js';
import { FaultyTcpProxy } from './faulty-tcp-proxy.test.fixture.js';

const complete: Settlement = { kind: 'complete' };
const lockDurationMs = 2_000;
const queues = ['a', 'b', 'c'];
let emulator: BusEmulator;
beforeAll(async () => {
  const entities = { queues: queues.map((name) => ({ name, lockDurationMs, maxDeliveryCount: 50 })) };
  emulator = await startBusEmulator({ entities });
});
afterAll(() => emulator.stop());

let proxy: FaultyTcpProxy;
let bench: BusBench;
/** Beside the proxy. */
let direct: BusBench;
beforeEach(async () => {
  proxy = new FaultyTcpProxy(emulator.port);
  const queueName = queues.shift() ?? '';
  bench = new BusBench(busConnectionString(await proxy.start()), { queueName });
  direct = new BusBench(emulator.connectionString, { queueName });
});
afterEach(async () => {
  proxy.fault = 'pass';
  await Promise.all([bench.close(), direct.close()]);
  await proxy.stop();
});

describe('a namespace that stops answering', () => {
  it('delays no stop when it stops answering while messages run', async () => {
    await direct.send('held');
    let runs = 0;
    const listener = await bench.listen(() => {
      runs += 1;
      return new Promise(() => undefined);
    });
    await eventually(() => runs === 1);
    proxy.freeze();
    await expect(listener.stop()).resolves.toBeUndefined();
  });
});

describe('a lock that is lost', () => {
  it('aborts the delivery, is counted, and is not settled twice', async () => {
    await direct.send('contested');
    const signals: AbortSignal[] = [];
    const settles: ((settlement: Settlement) => void)[] = [];
    await bench.listen((delivery, lost) => {
      signals.push(lost);
      if (delivery.deliveryCount > 1) return Promise.resolve(complete);
      return new Promise((resolve) => settles.push(resolve));
    });
    await eventually(() => signals.length === 1);
    proxy.freeze(); // renewals do not arrive
    await eventually(() => signals[0]?.aborted === true);
    expect(bench.kinds('service-bus.lock-lost')).toHaveLength(1);
    proxy.thaw();
    await eventually(() => signals.length === 2);
    settles[0]?.(complete); // too late, and of no effect
    await eventually(async () => (await direct.remaining()) === 0);
    expect(bench.count('service-bus.completed')).toBe(1);
    expect(bench.count('service-bus.redelivered')).toBe(1);
    expect(signals[1]?.aborted).toBe(false);
  });

  it('is kept by renewals for as long as the message runs', async () => {
    await direct.send('long');
    const startedAt = performance.now();
    let settle: (settlement: Settlement) => void = () => undefined;
    let runs = 0;
    await bench.listen(() => {
      runs += 1;
      return new Promise((resolve) => (settle = resolve));
    });
    await eventually(() => performance.now() - startedAt > 2.2 * lockDurationMs);
    settle(complete);
    await eventually(async () => (await direct.remaining()) === 0);
    expect([runs, bench.count('service-bus.lock-lost')]).toEqual([1, 0]);
  });
});
