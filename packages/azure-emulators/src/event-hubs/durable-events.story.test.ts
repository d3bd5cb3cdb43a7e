import path from 'node:path';
import { earliestEventPosition, EventHubConsumerClient, EventHubProducerClient } from '@azure/event-hubs';
import { Child, eventually, withScratchDirectory } from '@drover/testkit';
import { expect, it } from 'vitest';

const program = path.resolve(import.meta.dirname, '../../dist/event-hubs/testing/event-hubs-process.js');
const retryOptions = { maxRetries: 0, timeoutInMs: 30_000 };

async function start(directory: string): Promise<{ child: Child; connectionString: string }> {
  const child = new Child(process.execPath, [program, directory], { stdio: ['ignore', 'pipe', 'pipe', 'ipc'] });
  const port = (await child.line(/^port \d+$/)).slice(5);
  const keys = 'SharedAccessKeyName=any;SharedAccessKey=any';
  return { child, connectionString: `Endpoint=sb://127.0.0.1:${port};${keys};UseDevelopmentEmulator=true;` };
}

it('has every accepted event, in order and once, after the process was killed', () =>
  withScratchDirectory(async (directory) => {
    const first = await start(directory);
    const accepted: number[] = [0, 0];
    // A call of the SDK that was under way may notice the end only when its time is over.
    const killed = first.child.exited.then(() => Promise.reject(new Error('the emulator was killed')));
    killed.catch(() => undefined);
    const send = async (partition: number): Promise<void> => {
      const producer = new EventHubProducerClient(first.connectionString, 'hub', { retryOptions });
      const options = { partitionId: String(partition) };
      try {
        for (let n = 0; ; n += 10) {
          const events = Array.from({ length: 10 }, (_, i) => ({ body: n + i }));
          await Promise.race([producer.sendBatch(events, options), killed]);
          accepted[partition] = n + 10;
        }
      } catch {
        void producer.close().catch(() => undefined);
      }
    };
    const senders = [send(0), send(1)];
    await eventually(() => accepted.every((count) => count > 150));
    first.child.kill('SIGKILL');
    await Promise.all([first.child.exited, ...senders]);

    const second = await start(directory);
    const consumer = new EventHubConsumerClient('$Default', second.connectionString, 'hub', { retryOptions });
    const found: { body: unknown; sequence: number }[][] = [[], []];
    const subscriptions = found.map((events, partition) =>
      consumer.subscribe(
        String(partition),
        {
          processEvents: (received) => {
            events.push(
              ...received.map(({ body, sequenceNumber }) => ({ body: body as unknown, sequence: sequenceNumber })),
            );
            return Promise.resolve();
          },
          processError: () => Promise.resolve(),
        },
        { startPosition: earliestEventPosition },
      ),
    );
    const properties = await Promise.all(['0', '1'].map((id) => consumer.getPartitionProperties(id)));
    for (const [partition, { lastEnqueuedSequenceNumber }] of properties.entries()) {
      const count = lastEnqueuedSequenceNumber + 1;
      expect(count).toBeGreaterThanOrEqual(accepted[partition] ?? 0);
      await eventually(() => expect(found[partition]?.length).toBe(count));
      // An event that was stored but not answered may be there as well, never twice and never with a gap before it.
      const expected = Array.from({ length: count }, (_, index) => ({ body: index, sequence: index }));
      expect(found[partition]).toEqual(expected);
    }
    await Promise.all(subscriptions.map((subscription) => subscription.close()));
    await consumer.close();
    await second.child.end();
  }));
