import { withScratchDirectory } from '@drover/testkit';
import rhea from 'rhea';
import { describe, expect, it } from 'vitest';
import { EventHubs } from './event-hubs.js';
import { EventHubsConsole } from './event-hubs-console.js';
import { EventHubsJournal } from './event-hubs-journal.js';
import { LogReader } from './partition-log.js';

const single = (body: string): { payload: Buffer; format: number } => ({
  payload: rhea.message.encode({ body }),
  format: 0,
});

function numbered(body: string, sequence: number): { payload: Buffer; format: number } {
  const annotations = { 'com.microsoft:producer-sequence-number': rhea.types.wrap_int(sequence) };
  return { payload: rhea.message.encode({ message_annotations: annotations, body }), format: 0 };
}

async function reopened<T>(directory: string, use: (hubs: EventHubs) => Promise<T>): Promise<T> {
  const journal = await EventHubsJournal.open(directory);
  try {
    return await use(new EventHubs({}, journal));
  } finally {
    await journal.close();
  }
}

function eventsOf(hubs: EventHubs, hub: string, partition: string): string[] {
  const log = hubs.find(hub)?.partition(partition)?.log;
  const bodies: string[] = [];
  if (!log) return bodies;
  const reader = new LogReader(log, 0);
  for (let next = reader.next(); next; next = reader.next()) bodies.push(rhea.message.decode(next).body as string);
  return bodies;
}

describe('EventHubsJournal', () => {
  it('restores hubs, events, numbering and producers after a restart', () =>
    withScratchDirectory(async (directory) => {
      await reopened(directory, async (hubs) => {
        const hub = hubs.find('Orders');
        const partition = hub?.partition('1');
        if (!hub || !partition) throw new Error('no hub');
        partition.producers.open(undefined, undefined, undefined);
        await hubs.publish(hub, partition, numbered('a', 1), { id: 1, epoch: 0 });
        await hubs.publish(hub, partition, numbered('b', 2), { id: 1, epoch: 0 });
      });
      await reopened(directory, async (hubs) => {
        const hub = hubs.find('orders');
        const partition = hub?.partition('1');
        if (!hub || !partition) throw new Error('no hub');
        expect(hub.name).toBe('Orders');
        expect(eventsOf(hubs, 'orders', '1')).toEqual(['a', 'b']);
        await hubs.publish(hub, partition, numbered('b', 2), { id: 1, epoch: 0 }); // a repeated batch
        await hubs.publish(hub, partition, numbered('c', 3), { id: 1, epoch: 0 });
        expect(partition.log.lastEnqueued?.sequence).toBe(2);
        expect(eventsOf(hubs, 'orders', '1')).toEqual(['a', 'b', 'c']);
      });
    }));

  it('shows an event only when it is durable', () =>
    withScratchDirectory((directory) =>
      reopened(directory, async (hubs) => {
        const hub = hubs.find('orders');
        if (!hub) throw new Error('no hub');
        const stored = hubs.publish(hub, hub.partition('0'), single('a'), undefined);
        expect(eventsOf(hubs, 'orders', '0')).toEqual([]);
        await stored;
        expect(eventsOf(hubs, 'orders', '0')).toEqual(['a']);
      }),
    ));

  it('forgets purged events and continues their numbering', () =>
    withScratchDirectory(async (directory) => {
      await reopened(directory, async (hubs) => {
        const console = new EventHubsConsole(hubs);
        hubs.find('orders');
        for (let i = 0; i < 8; i += 1) await console.send('orders', { body: String(i) });
        expect(console.entities()).toMatchObject([{ name: 'orders', depth: 8 }]);
        expect(await console.purge('orders', { deadLetters: false })).toBe(8);
      });
      await reopened(directory, async (hubs) => {
        const console = new EventHubsConsole(hubs);
        expect(console.entities()).toMatchObject([{ name: 'orders', depth: 0 }]);
        await console.send('orders', { body: 'after' });
        const [shown] = await console.peek('orders', { deadLetters: false, max: 10 });
        expect(shown).toMatchObject({ body: 'after', state: 'active' });
        expect(shown?.id.split('/')[1]).toBe('2');
      });
    }));
});

describe('EventHubsConsole', () => {
  it('pages through the events of all partitions', async () => {
    const hubs = new EventHubs({ hubs: [{ name: 'orders', partitionCount: 3 }] }, undefined);
    const console = new EventHubsConsole(hubs);
    for (let i = 0; i < 10; i += 1) {
      await console.send('orders', { body: `event ${i}`, contentType: 'text/plain', properties: { index: String(i) } });
    }
    const seen: string[] = [];
    let after: string | undefined;
    for (;;) {
      const page = await console.peek('orders', { deadLetters: false, max: 4, ...(after && { after }) });
      if (page.length === 0) break;
      seen.push(...page.map(({ body }) => body));
      after = page.at(-1)?.id;
    }
    expect(seen.toSorted()).toEqual(Array.from({ length: 10 }, (_, i) => `event ${i}`));
    await expect(console.peek('missing', { deadLetters: false, max: 1 })).rejects.toThrow("no event hub 'missing'");
  });
});
