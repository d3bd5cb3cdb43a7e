import { eventually } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { runServiceBus } from './running-service-bus.test.fixture.js';

describe('Service Bus over a long time', () => {
  it('delivers 40,000 messages over one receiver link, each once, and holds nothing afterwards', async () => {
    const running = await runServiceBus({ queues: [{ name: 'soak' }] });
    const count = 40_000;
    const seen = new Uint8Array(count);
    let received = 0;
    const receiver = running.client.createReceiver('soak', { maxAutoLockRenewalDurationInMs: 0 });
    receiver.subscribe(
      {
        processMessage: (message) => {
          const { n } = message.body as { n: number };
          seen[n] = (seen[n] ?? 0) + 1;
          received += 1;
          return Promise.resolve();
        },
        processError: ({ error }) => Promise.reject(error),
      },
      { maxConcurrentCalls: 500 },
    );
    const sender = running.connect().createSender('soak');
    for (let first = 0; first < count; first += 500) {
      await sender.sendMessages(Array.from({ length: 500 }, (_, index) => ({ body: { n: first + index } })));
    }
    await eventually(() => expect(received).toBe(count));
    expect(seen.every((times) => times === 1)).toBe(true);
    await eventually(() =>
      expect(running.bus.console.entities()[0]).toMatchObject({ depth: 0, inFlight: 0, bytes: 0 }),
    );
    await running.stop();
  });

  it('goes on after a handler that hung for 2,047 later deliveries, the limit of the SDK, has ended', async () => {
    const running = await runServiceBus({ queues: [{ name: 'stuck' }] });
    let release: () => void = () => undefined;
    const hung = new Promise<void>((resolve) => {
      release = resolve;
    });
    let received = 0;
    const receiver = running.client.createReceiver('stuck', { maxAutoLockRenewalDurationInMs: 0 });
    receiver.subscribe(
      {
        processMessage: (message) => {
          received += 1;
          return message.body === 0 ? hung : Promise.resolve();
        },
        processError: ({ error }) => Promise.reject(error),
      },
      { maxConcurrentCalls: 20 },
    );
    const bodies = Array.from({ length: 3_000 }, (_, body) => ({ body }));
    await running.client.createSender('stuck').sendMessages(bodies);
    // The client's window is full of one unsettled delivery and 2,047 settled ones behind it.
    await eventually(() => expect(received).toBe(2_048));
    // The last handlers have been entered; their completions are still on the way.
    await eventually(() => expect(running.bus.console.entities()[0]).toMatchObject({ inFlight: 1 }));
    release();
    await eventually(() => expect(received).toBe(3_000));
    await running.stop();
  });
});
