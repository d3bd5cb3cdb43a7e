import { eventually } from '@drover/testkit';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { azuriteConnectionString, startAzurite, type Azurite } from '../testing/azurite.js';
import { startQueueVictim } from '../testing/victims.js';
import type { Deliver, Settlement } from '../trigger-source.js';
import { AzureBench } from './azure-bench.test.fixture.js';
import { FaultyProxy, type ProxyFault } from '../testing/faulty-proxy.js';
import type { QueueListener } from './queue-listener.js';

const never = new AbortController().signal;
const complete: Settlement = { kind: 'complete' };
const bodies = (count: number): string[] => Array.from({ length: count }, (_, n) => `message ${n + 1}`);
let azurite: Azurite;
beforeAll(async () => {
  azurite = await startAzurite();
});
afterAll(() => azurite.stop());

describe('a network that fails', () => {
  let proxy: FaultyProxy;
  let through: string;
  let bench: AzureBench;
  const started: QueueListener[] = [];
  const listen = async (deliver: Deliver): Promise<QueueListener> => {
    const listener = bench.listener(deliver);
    started.push(listener);
    await listener.start(never);
    return listener;
  };
  /** Counts how often each message ran. */
  const counting = () => {
    const runs = new Map<string, number>();
    const deliver: Deliver = async ({ data }) => {
      runs.set(String(data), (runs.get(String(data)) ?? 0) + 1);
      return complete;
    };
    return { runs, deliver };
  };

  beforeEach(async () => {
    proxy = new FaultyProxy(azurite.url);
    through = azuriteConnectionString(await proxy.start());
    bench = new AzureBench(through, { leaseDuration: '00:00:02', maxDequeueCount: 50 });
    await bench.queue.create(never);
  });
  afterEach(async () => {
    proxy.fault = () => 'pass';
    await Promise.all(started.splice(0).map((listener) => listener.stop()));
    await proxy.stop();
  });

  it.each<ProxyFault>(['refuse', 500, 503, 429])('is waited out, with one complaint: %s', async (fault) => {
    await bench.send('waiting');
    const { runs, deliver } = counting();
    proxy.requests.length = 0;
    proxy.fault = () => fault;
    await listen(deliver);
    await eventually(() => proxy.requests.length >= 4 && bench.kinds('queue.unavailable').length > 0);
    expect(bench.kinds('queue.unavailable')).toHaveLength(1);
    proxy.fault = () => 'pass';
    await eventually(() => expect([...runs]).toEqual([['waiting', 1]]));
    expect(bench.kinds('queue.available')).toHaveLength(1);
  });

  it('does not undo what is done: a message is deleted although the answers got lost', async () => {
    bench = new AzureBench(through, { leaseDuration: '00:01:00' }); // no message comes again because a lease has ended
    await bench.queue.create(never);
    await bench.send(...bodies(10));
    const { runs, deliver } = counting();
    let lost = 0;
    proxy.fault = (request) => (request.startsWith('DELETE') && lost++ < 10 ? 'lose' : 'pass');
    await listen(deliver);
    await eventually(async () => (await bench.queue.count(never)) === 0);
    await eventually(() => bench.kinds('queue.completed').length === 10);
    expect([...runs.values()]).toEqual(Array.from({ length: 10 }, () => 1));
  });

  it('costs a lease but no message when the answer with messages gets lost', async () => {
    await bench.send(...bodies(5));
    const { runs, deliver } = counting();
    let lost = 0;
    proxy.fault = (request) => (request.startsWith('GET') && lost++ === 0 ? 'lose' : 'pass');
    await listen(deliver);
    await eventually(async () => (await bench.queue.count(never)) === 0);
    expect([...runs.keys()].toSorted()).toEqual(bodies(5));
    expect(bench.kinds('queue.redelivered').length).toBeGreaterThanOrEqual(5);
  });

  it('aborts a delivery whose lease cannot be renewed, and delivers the message again', async () => {
    await bench.send('contested');
    const signals: AbortSignal[] = [];
    proxy.fault = (request) => (request.startsWith('PUT') ? 'refuse' : 'pass');
    await listen((delivery, lost) => {
      signals.push(lost);
      if (delivery.deliveryCount > 1) return Promise.resolve(complete);
      return new Promise(() => undefined);
    });
    await eventually(() => signals[0]?.aborted === true);
    expect(bench.kinds('queue.lease-lost')).toHaveLength(1);
    await eventually(async () => (await bench.queue.count(never)) === 0);
  });

  it('does not hold up a stop', async () => {
    await bench.send('held');
    let runs = 0;
    const listener = await listen(() => {
      runs += 1;
      return new Promise(() => undefined);
    });
    await eventually(() => runs === 1);
    proxy.fault = () => 'hang';
    await expect(listener.stop()).resolves.toBeUndefined();
  });

  it('loses nothing when it fails all the time, in every way', async () => {
    let state = 7;
    const chance = (): number => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
    await bench.send(...bodies(60));
    const faults: readonly ProxyFault[] = ['refuse', 'lose', 500, 503];
    proxy.fault = () => (chance() < 0.3 ? (faults[Math.floor(chance() * faults.length)] ?? 'pass') : 'pass');
    const { runs, deliver } = counting();
    await listen(deliver);
    const direct = new AzureBench(azurite.connectionString, { queueName: bench.options.queueName });
    await eventually(async () => (await direct.queue.count(never)) === 0, 50_000);
    expect([...runs.keys()].toSorted()).toEqual(bodies(60).toSorted());
  });
});

describe('processes that are killed again and again', () => {
  it('lose no message and make no poison: each one is done in the end', async () => {
    const { connectionString } = azurite;
    const bench = new AzureBench(connectionString, { leaseDuration: '00:00:02', maxDequeueCount: 100 });
    await bench.queue.create(never);
    await bench.send(...bodies(300));
    const done = new Set<string>();
    const note = (lines: readonly string[]): void => {
      for (const line of lines) if (line.startsWith('got ')) done.add(line.slice(4));
    };
    for (let kill = 0; kill < 4; kill++) {
      const victim = await startQueueVictim({ connectionString, options: bench.options, settles: 'everything' });
      await eventually(async () => victim.holds() > 5 || (await bench.queue.count(never)) === 0);
      await victim.kill();
      note(victim.child.stdout);
    }
    const listener = bench.listener(async ({ data }) => {
      done.add(String(data));
      return complete;
    });
    await listener.start(never);
    await eventually(async () => (await bench.queue.count(never)) === 0);
    await listener.stop();
    expect([...done].toSorted()).toEqual(bodies(300).toSorted());
    await expect(bench.poison.count(never)).rejects.toMatchObject({ code: 'QueueNotFound' });
  });
});
