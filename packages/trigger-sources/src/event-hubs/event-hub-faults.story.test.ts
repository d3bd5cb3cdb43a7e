import { startEmulators } from '@drover/azure-emulators';
import { eventually } from '@drover/testkit';
import { afterEach, describe, expect, it } from 'vitest';
import { MemoryTriggerStore } from '../store/memory-trigger-store.js';
import { EventHubBench, type EventHubBenchOptions } from '../testing/event-hub-bench.js';
import type { Deliver, Settlement } from '../trigger-source.js';
import { passingTo, refusing, serve, type TestServer } from './broker.test.fixture.js';
import type { EventHubListener } from './event-hub-listener.js';

const never = new AbortController().signal;
const complete: Settlement = { kind: 'complete' };
const secret = 'dG9wIHNlY3JldA==';
const at = (port: number): string =>
  `Endpoint=sb://localhost:${port};SharedAccessKeyName=a;SharedAccessKey=${secret};UseDevelopmentEmulator=true`;

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});
const startEmulator = async (port = 0): Promise<{ readonly port: number }> => {
  const emulator = await startEmulators({ ports: { amqp: port } });
  closing.push(() => emulator.stop());
  return { port: emulator.ports.amqp ?? 0 };
};
const startServer = async (...call: Parameters<typeof serve>): Promise<TestServer> => {
  const server = await serve(...call);
  closing.push(() => server.stop());
  return server;
};
const open = (port: number, over: Partial<EventHubBenchOptions> = {}): EventHubBench => {
  const bench = new EventHubBench({ eventHubs: at(port), tryTimeoutMs: 10_000, ...over });
  closing.push(() => bench.close());
  return bench;
};
const listen = async (bench: EventHubBench, deliver: Deliver): Promise<EventHubListener> => {
  const listener = bench.listener(deliver);
  closing.push(() => listener.stop());
  await listener.start(never);
  return listener;
};
const recording = () => {
  const seen: string[] = [];
  const deliver: Deliver = async ({ data }) => {
    seen.push(String(data));
    return complete;
  };
  return { seen, deliver };
};
const numbered = (from: number, to: number): string[] =>
  Array.from({ length: to - from + 1 }, (_, index) => String(from + index));

describe('an event hub listener whose service fails', () => {
  it('waits for a service that is not there yet, says so once, and begins by itself', async () => {
    const placeholder = await serve(() => undefined);
    const { port } = placeholder;
    await placeholder.stop();
    const bench = open(port);
    const { seen, deliver } = recording();
    await listen(bench, deliver);
    await eventually(() => bench.kinds('event-hub.unavailable').length === 1);
    await startEmulator(port);
    await bench.send(['late'], 'k');
    await eventually(() => expect(seen).toEqual(['late']));
    expect(bench.kinds('event-hub.unavailable')).toMatchObject([{ failure: 'unavailable', setting: 'Shop' }]);
    expect(bench.kinds('event-hub.available')).toHaveLength(1);
  });

  it('reads on after connections were cut, without a gap and without a repeat of what it has', async () => {
    const emulator = await startEmulator();
    const proxy = await startServer(passingTo(emulator.port));
    const bench = open(proxy.port);
    const held: (() => void)[] = [];
    const seen: string[] = [];
    await listen(bench, async ({ data }) => {
      seen.push(String(data));
      if (seen.length === 5) await new Promise<void>((resolve) => held.push(resolve));
      return complete;
    });
    await bench.send(numbered(1, 20), 'k');
    await eventually(() => held.length === 1);
    proxy.cut();
    await eventually(() => bench.kinds('event-hub.unavailable').length === 1);
    held[0]?.();
    await bench.producerOf(bench.hub).send([{ body: Buffer.from('21') }], 'k', never);
    await eventually(() => expect(seen).toEqual(numbered(1, 21)));
    await eventually(() => bench.kinds('event-hub.available').length === 1);
    expect(bench.kinds('event-hub.released')).toEqual([]);
  });

  it.each([
    ['denied', 401, 'amqp:unauthorized-access', 'denied'],
    ['missing', 404, 'amqp:not-found', 'missing'],
    ['busy', 503, 'com.microsoft:server-busy', 'throttled'],
  ] as const)('says once that a hub is %s, and asks ever less often', async (_, status, condition, failure) => {
    const answer = { 'status-code': status, 'status-description': 'no', 'error-condition': condition };
    const fine = { 'status-code': 202 };
    const broker = await startServer(refusing({ cbs: failure === 'denied' ? answer : fine, management: answer }));
    const bench = open(broker.port);
    const listener = await listen(bench, async () => complete);
    await eventually(() => bench.kinds('event-hub.unavailable').length === 1);
    expect(bench.kinds('event-hub.unavailable')).toMatchObject([{ failure, setting: 'Shop' }]);
    await expect(listener.measure(never)).rejects.toMatchObject({ code: 'EVENT_HUB_UNAVAILABLE' });
    expect(JSON.stringify(bench.observed)).not.toContain(secret);
    expect(bench.kinds('event-hub.unavailable')).toHaveLength(1);
    expect(broker.connections()).toBeLessThan(5);
  });

  it('waits for a hub that does not exist, begins when it is created, and names a missing consumer group too', async () => {
    const emulator = await startEmulators({ ports: { amqp: 0 }, createOnFirstUse: false });
    closing.push(() => emulator.stop());
    const port = emulator.ports.amqp ?? 0;
    const bench = open(port, { binding: { eventHubName: 'late', consumerGroup: 'readers' } });
    const { seen, deliver } = recording();
    await listen(bench, deliver);
    await eventually(() => bench.kinds('event-hub.unavailable').length === 1);
    const eventHubs = [{ name: 'late', partitionCount: 1, consumerGroups: ['readers'] }];
    await emulator.declare({ queues: [], topics: [], storageQueues: [], eventHubs });
    await bench.send(['first'], 'k');
    await eventually(() => expect(seen).toEqual(['first']));
    expect(bench.kinds('event-hub.unavailable')).toMatchObject([{ failure: 'missing' }]);
    const stranger = open(port, { binding: { eventHubName: 'late', consumerGroup: 'strangers' } });
    await listen(stranger, deliver);
    await eventually(() => expect(stranger.kinds('event-hub.unavailable')).toMatchObject([{ failure: 'missing' }]));
  });

  it.each([
    [
      'answers with something else',
      (socket: { write(text: string): void }) => socket.write('HTTP/1.1 400 Bad Request\r\n\r\n'),
    ],
    ['does not answer', () => undefined],
    ['hangs up', (socket: { destroy(): void }) => socket.destroy()],
  ])('retries a service that %s', async (_, onSocket) => {
    const server = await startServer(onSocket);
    const bench = open(server.port, { tryTimeoutMs: 100 });
    await listen(bench, async () => complete);
    await eventually(() => server.connections() >= 3);
    expect(bench.kinds('event-hub.unavailable')).toMatchObject([{ failure: 'unavailable' }]);
  });
});

describe('an event hub listener that is stopped', () => {
  it('does not wait for a service that hangs', async () => {
    const server = await startServer(() => undefined);
    const bench = open(server.port, { tryTimeoutMs: 3_600_000 });
    const listener = await listen(bench, async () => complete);
    await eventually(() => server.connections() === 1);
    await listener.stop();
    expect(bench.kinds('event-hub.listener').at(-1)).toMatchObject({ state: 'stopped' });
  });
});

describe('several event hub listeners', () => {
  it('read the same number of partitions, and skip nothing while partitions move', async () => {
    const emulator = await startEmulator();
    const store = new MemoryTriggerStore();
    const one = open(emulator.port, { store });
    const two = open(emulator.port, { store, binding: { eventHubName: one.hub } });
    const [first, second] = [recording(), recording()];
    const lastOwned = (bench: EventHubBench): number => bench.kinds('event-hub.owned').at(-1)?.partitions ?? 0;
    await listen(one, first.deliver);
    await eventually(() => lastOwned(one) === 4);
    const sending = Promise.all(
      numbered(0, 7).map((key) =>
        one.send(
          numbered(0, 49).map((n) => `${key}/${n}`),
          key,
        ),
      ),
    );
    const stopped = await listen(two, second.deliver);
    await sending;
    await eventually(() => expect([lastOwned(one), lastOwned(two)]).toEqual([2, 2]));
    await eventually(async () => (await one.remaining()) === 0);
    const all = numbered(0, 7).flatMap((key) => numbered(0, 49).map((n) => `${key}/${n}`));
    expect(new Set([...first.seen, ...second.seen])).toEqual(new Set(all));
    await stopped.stop();
    await eventually(() => lastOwned(one) === 4);
    await one.send(['after'], 'k');
    await eventually(() => first.seen.includes('after'));
  });

  it('lose a partition to a reader with a higher owner level, and the signal of its run tells', async () => {
    const emulator = await startEmulator();
    const bench = open(emulator.port);
    const lost: boolean[] = [];
    await listen(
      bench,
      (_, signal) =>
        new Promise((resolve) => {
          signal.addEventListener('abort', () => {
            lost.push(true);
            resolve(complete);
          });
        }),
    );
    await bench.send(['held'], 'k');
    await eventually(() => bench.kinds('event-hub.claimed').length === 4);
    const client = bench.client();
    for (const partitionId of ['0', '1', '2', '3'])
      await client.read(
        {
          partitionId,
          consumerGroup: '$Default',
          position: { kind: 'start' },
          ownerLevel: 1_000,
          onEvent: () => undefined,
        },
        never,
      );
    await eventually(() => expect(lost).toEqual([true]));
    expect(bench.kinds('event-hub.checkpointed')).toEqual([]);
    expect(bench.kinds('event-hub.released').filter(({ unfinished }) => unfinished > 0)).toMatchObject([
      { reason: 'another reader took it', unfinished: 1 },
    ]);
  });

  it('give their partitions back when they are paused for long, and take them again when they go on', async () => {
    const emulator = await startEmulator();
    const store = new MemoryTriggerStore();
    const one = open(emulator.port, { store });
    const two = open(emulator.port, { store, binding: { eventHubName: one.hub } });
    const [first, second] = [recording(), recording()];
    const listener = await listen(one, first.deliver);
    await eventually(() => one.kinds('event-hub.claimed').length === 4);
    listener.pause();
    await listen(two, second.deliver);
    await one.send(numbered(1, 30));
    await eventually(() => expect(new Set(second.seen).size).toBe(30));
    listener.resume();
    await eventually(() => expect(one.kinds('event-hub.owned').at(-1)?.partitions).toBe(2));
  });
});
