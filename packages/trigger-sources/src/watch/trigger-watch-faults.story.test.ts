import { setTimeout as pause } from 'node:timers/promises';
import { startEmulators } from '@drover/azure-emulators';
import { ServiceBusClient } from '@azure/service-bus';
import { seededRandomness, withScratchDirectory } from '@drover/testkit';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AzureQueueAccount } from '../queue/azure-storage-queue.js';
import { queueExtension } from '../queue/queue-extension.js';
import { FaultyTcpProxy } from '../service-bus/faulty-tcp-proxy.test.fixture.js';
import { serviceBusExtension } from '../service-bus/service-bus-extension.js';
import { storageConnection } from '../storage/storage-connection.js';
import { azuriteConnectionString } from '../testing/azurite.js';
import { startEventHubsEmulator } from '../testing/event-hubs-emulator.js';
import { WatchBench } from './watch-bench.test.fixture.js';

const never = new AbortController().signal;

let bench: WatchBench;
beforeEach(() => {
  bench = new WatchBench();
});
afterEach(() => bench.watch.close());

async function sendTo(connectionString: string, entity: string): Promise<void> {
  const client = new ServiceBusClient(connectionString);
  try {
    await client.createSender(entity).sendMessages({ body: 'x' });
  } finally {
    await client.close();
  }
}

describe('a watch', () => {
  it('notices every message, whatever the network does between it and the emulator', async () => {
    const emulators = await startEmulators({ ports: { queue: 0 } });
    const proxy = new FaultyTcpProxy(emulators.ports.queue ?? 0);
    const random = seededRandomness(14);
    const toProxy = { Storage: azuriteConnectionString(`http://127.0.0.1:${await proxy.start()}`) };
    const settings = { Storage: azuriteConnectionString(`http://127.0.0.1:${emulators.ports.queue}`) };
    const direct = new AzureQueueAccount(
      storageConnection({ service: 'queue', functionName: 'f', connection: 'Storage', settings }),
    );
    // Resolves to the wait for the notice; the network is calm by then, so that a slow machine gets through, too.
    const trial = async (index: number): Promise<() => Promise<unknown>> => {
      const queue = direct.queue(`trial-${index}`);
      await queue.create(never);
      const parked = bench.park(queueExtension, toProxy, { queueName: queue.name, connection: 'Storage' });
      await pause(random.fraction() * 200);
      if (random.fraction() < 0.3) await queue.send('before', { keep: 'by-default' }, never);
      const { once } = bench.start(parked);
      await pause(random.fraction() * 300);
      await queue.send('after', { keep: 'by-default' }, never);
      return once;
    };
    const disturb = async (over: AbortSignal): Promise<void> => {
      while (!over.aborted) {
        await pause(random.fraction() * 40);
        const chance = random.fraction();
        if (chance < 0.2) proxy.fault = 'refuse';
        else if (chance < 0.3) proxy.fault = 'garbage';
        else proxy.fault = 'pass';
        if (chance < 0.7) proxy.cut();
      }
      proxy.fault = 'pass';
    };
    const round = async (first: number): Promise<void> => {
      const over = new AbortController();
      const disturbing = disturb(over.signal);
      try {
        const sent = await Promise.all(Array.from({ length: 20 }, (_, index) => trial(first + index)));
        over.abort();
        await Promise.all(sent.map((noticed) => noticed()));
      } finally {
        over.abort();
        await disturbing;
      }
    };
    try {
      for (let first = 0; first < 100; first += 20) await round(first);
    } finally {
      await proxy.stop();
      await emulators.stop();
    }
    const lost = bench.observed.filter(({ kind }) => kind === 'watch.endpoint-lost').length;
    expect(lost).toBeGreaterThan(10); // else nothing was proved
  });

  it('notices what an emulator had accepted before it was killed, and what comes to the next one', async () => {
    await withScratchDirectory(async (directory) => {
      const first = await startEventHubsEmulator(directory);
      const { connectionString, port } = first;
      const park = (queueName: string) =>
        bench.park(serviceBusExtension, { Bus: connectionString }, { queueName, connection: 'Bus' });
      const [before, after] = [bench.start(park('before')), bench.start(park('after'))];
      await bench.connected(1);
      before.end(); // its application runs: nothing tells it about this message
      await sendTo(connectionString, 'before');
      first.child.kill('SIGKILL');
      await first.child.exited;
      const again = bench.start(park('before'));
      const second = await startEventHubsEmulator(directory, port);
      try {
        await again.once();
        expect(after.noticed).toEqual([]);
        await sendTo(connectionString, 'after');
        await after.once();
      } finally {
        await second.stop();
      }
    });
  });
});
