import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll } from 'vitest';
import { startBusEmulator, type BusEmulator } from '../testing/bus-emulator.js';
import { startBusVictim } from '../testing/victims.js';
import { triggerListenerContract, type TriggerWorld } from '../testing/trigger-listener-contract.js';
import { BusBench } from './bus-bench.test.fixture.js';

const maxDeliveries = 4;
const lockDurationMs = 1_500;
const names = { queues: 25, topics: 25 };
const of = (kind: string, count: number): string[] => Array.from({ length: count }, (_, n) => `${kind}-${n}`);
let emulator: BusEmulator;
beforeAll(async () => {
  const receiver = { lockDurationMs, maxDeliveryCount: maxDeliveries };
  emulator = await startBusEmulator({
    entities: {
      queues: of('queue', names.queues).map((name) => ({ name, ...receiver })),
      topics: of('topic', names.topics).map((name) => ({
        name,
        subscriptions: [{ name: 'all', rules: [], ...receiver }],
      })),
    },
  });
});
afterAll(() => emulator.stop());

async function openWorld(binding: Readonly<Record<string, unknown>>): Promise<TriggerWorld> {
  const { connectionString } = emulator;
  const bench = new BusBench(connectionString, binding);
  const benches = [bench];
  return {
    maxDeliveries,
    shortestDelayMs: 300,
    listener: (deliver) => bench.listener(deliver),
    send: (bodies) => bench.send(...bodies),
    putAside: async () => (await bench.deadLetters()).map(({ body }) => String(body)),
    remaining: () => bench.remaining(),
    victim: () => startBusVictim({ connectionString, binding, settles: 'nothing' }),
    close: async () => void (await Promise.all(benches.map((one) => one.close()))),
  };
}

let next = 0;
triggerListenerContract('service bus queue', () => openWorld({ queueName: `queue-${next++}`, id: randomUUID() }));

let nextTopic = 0;
triggerListenerContract('service bus subscription', () =>
  openWorld({ topicName: `topic-${nextTopic++}`, subscriptionName: 'all' }),
);
