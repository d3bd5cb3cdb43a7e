import { defineTopic, type NewEvent, type PublishedEvent } from '@drover/contracts';
import type { Transaction } from '@drover/database';
import { eventually } from '@drover/testkit';
import Type from 'typebox';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { BarrierSubject, EventBus, SubscribeOptions } from '../event-bus.js';

export const birds = defineTopic('test.birds', { about: 'Birds', schema: Type.Object({ n: Type.Integer() }) });
export const fish = defineTopic('test.fish', { about: 'Fish', schema: Type.Object({ n: Type.Integer() }) });

export const bird = (key: string, n: number): NewEvent => ({ topic: birds, key, generation: n, payload: { n } });

/** One installation: any number of buses, as processes have them, over the same store. */
export interface EventBusWorld {
  readonly open: () => Promise<EventBus>;
  /** Runs `work` in a transaction on the store that holds the outbox. */
  transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

/** A subscriber that records its events. */
export async function recorder(
  bus: EventBus,
  options: Partial<SubscribeOptions> = {},
): Promise<{ readonly seen: PublishedEvent[]; readonly close: () => Promise<void> }> {
  const seen: PublishedEvent[] = [];
  const subscription = await bus.subscribe({
    topics: [birds],
    from: 0,
    handle: (event) => void seen.push(event),
    ...options,
  });
  return { seen, close: () => subscription.close() };
}

/** Longer than a busy machine needs. */
const patientMs = 60_000;
const generations = (events: readonly PublishedEvent[]): number[] => events.map((event) => event.generation);
const upTo = (count: number): number[] => Array.from({ length: count }, (_, n) => n + 1);

/** The guarantees of every event bus; the test of each adapter runs it. */
export function eventBusContract(adapter: string, openWorld: () => Promise<EventBusWorld>): void {
  describe(`the event bus contract: ${adapter}`, () => {
    let world: EventBusWorld;
    beforeEach(async () => {
      world = await openWorld();
    });
    afterEach(() => world.close());

    it('delivers payload, key, generation and time as they were published', async () => {
      const bus = await world.open();
      const { seen } = await recorder(bus);
      await bus.publish([bird('robin', 7)]);
      await eventually(() => expect(seen).toHaveLength(1));
      expect(seen[0]).toMatchObject({ topic: 'test.birds', key: 'robin', generation: 7, payload: { n: 7 } });
      expect(seen[0]?.publishedAt).toBeInstanceOf(Date);
      expect(await bus.lastPosition()).toBe(seen[0]?.position);
    });

    it('keeps the order of each key while many publish at once from several processes', async () => {
      const buses = await Promise.all([world.open(), world.open(), world.open()]);
      const reader = await world.open();
      const { seen } = await recorder(reader);
      const keys = ['a', 'b', 'c', 'd', 'e', 'f'];
      await Promise.all(
        keys.map(async (key, index) => {
          const bus = buses[index % buses.length];
          for (const n of upTo(25)) {
            // every other event in a transaction that stays open a little longer than the others
            if (n % 2 === 0) await bus?.publish([bird(key, n)]);
            else await world.transaction(async (tx) => bus?.publish([bird(key, n)], tx));
          }
        }),
      );
      await eventually(() => expect(new Set(seen.map((event) => `${event.key}${event.generation}`)).size).toBe(150));
      for (const key of keys) {
        const own = seen.filter((event) => event.key === key);
        expect(generations(own)).toEqual(upTo(25));
      }
      const positions = seen.map((event) => event.position);
      expect(positions).toEqual(positions.toSorted((a, b) => a - b));
    });

    it('keeps the order of one batch', async () => {
      const bus = await world.open();
      const { seen } = await recorder(bus);
      await bus.publish(upTo(600).map((n) => bird('flock', n)));
      await eventually(() => expect(seen).toHaveLength(600));
      expect(generations(seen)).toEqual(upTo(600));
    });

    it('delivers what a transaction published only when it commits', async () => {
      const bus = await world.open();
      const { seen } = await recorder(bus);
      const failing = world.transaction(async (tx) => {
        await bus.publish([bird('ghost', 1)], tx);
        throw new Error('rolled back');
      });
      await expect(failing).rejects.toThrow('rolled back');
      await world.transaction((tx) => bus.publish([bird('real', 2)], tx));
      await eventually(() => expect(seen).toHaveLength(1));
      expect(seen[0]?.key).toBe('real');
    });

    it('gives every subscriber every event of its topics and no other', async () => {
      const [one, two] = [await world.open(), await world.open()];
      const birdsOnly = await recorder(one);
      const both = await recorder(two, { topics: [birds, fish] });
      await one.publish([bird('robin', 1), { topic: fish, key: 'cod', generation: 2, payload: { n: 2 } }]);
      await two.publish([bird('wren', 3)]);
      await eventually(() => expect(generations(both.seen)).toEqual([1, 2, 3]));
      await eventually(() => expect(generations(birdsOnly.seen)).toEqual([1, 3]));
    });

    it('hands an event out again until its handler succeeds, and nothing after it before', async () => {
      const bus = await world.open();
      const attempts: number[] = [];
      let failures = 2;
      await recorder(bus, {
        handle: ({ generation }) => {
          attempts.push(generation);
          if (generation === 2 && failures-- > 0) throw new Error('not now');
        },
      });
      await bus.publish([bird('a', 1), bird('a', 2), bird('b', 3)]);
      await eventually(() => expect(attempts).toEqual([1, 2, 2, 2, 3]));
    });

    it('resumes a named subscriber where it stopped, in another process', async () => {
      const publisher = await world.open();
      const before = await world.open();
      const first = await recorder(before, { name: 'projection' });
      await publisher.publish([bird('a', 1), bird('a', 2)]);
      await eventually(() => expect(first.seen).toHaveLength(2));
      await before.stop();
      await publisher.publish([bird('a', 3)]);
      const after = await world.open();
      const second = await recorder(after, { name: 'projection' });
      await publisher.publish([bird('a', 4)]);
      await eventually(() => expect(generations(second.seen)).toEqual([3, 4]));
      expect(generations(first.seen)).toEqual([1, 2]);
    });

    it('lets an unnamed subscriber catch up from the position it knows, or begin with what is new', async () => {
      const bus = await world.open();
      await bus.publish([bird('a', 1), bird('a', 2)]);
      const all = await recorder(bus);
      await eventually(() => expect(all.seen).toHaveLength(2));
      const resumed = await recorder(bus, { from: all.seen[0]?.position ?? 0 });
      const fresh = await recorder(bus, { from: 'now' });
      await bus.publish([bird('a', 3)]);
      await eventually(() => expect(generations(resumed.seen)).toEqual([2, 3]));
      await eventually(() => expect(generations(fresh.seen)).toEqual([3]));
    });

    it('does not let a slow subscriber hold up another', async () => {
      const bus = await world.open();
      let release = (): void => undefined;
      const stuck = new Promise<void>((resolve) => (release = resolve));
      const slow = await recorder(bus, { handle: () => stuck });
      const fast = await recorder(bus);
      await bus.publish(upTo(20).map((n) => bird('a', n)));
      await eventually(() => expect(fast.seen).toHaveLength(20));
      release();
      await slow.close();
    });

    it('lets one process at a time work under a name, and another take over when it leaves', async () => {
      const [one, two] = [await world.open(), await world.open()];
      const active = await recorder(one, { name: 'single' });
      await one.publish([bird('a', 1)]);
      await eventually(() => expect(active.seen).toHaveLength(1));
      const standby = await recorder(two, { name: 'single' });
      await one.publish([bird('a', 2)]);
      await eventually(() => expect(active.seen).toHaveLength(2));
      expect(standby.seen).toEqual([]);
      await active.close();
      await one.publish([bird('a', 3)]);
      await eventually(() => expect(generations(standby.seen)).toEqual([3]));
      expect(generations(active.seen)).toEqual([1, 2]);
    });

    it('lets one subscription at a time work under a name also within a process', async () => {
      const bus = await world.open();
      const active = await recorder(bus, { name: 'single' });
      await bus.publish([bird('a', 1)]);
      await eventually(() => expect(active.seen).toHaveLength(1));
      const standby = await recorder(bus, { name: 'single' });
      const another = await recorder(bus, { name: 'single' });
      await another.close(); // it had nothing to give back
      await bus.publish([bird('a', 2)]);
      await eventually(() => expect(active.seen).toHaveLength(2));
      await active.close();
      await bus.publish([bird('a', 3)]);
      await eventually(() => expect(generations(standby.seen)).toEqual([3]));
      expect(generations(active.seen)).toEqual([1, 2]);
    });

    it('hands out nothing once it drains, while it still takes what others publish', async () => {
      const [one, two] = [await world.open(), await world.open()];
      const drained = await recorder(one, { name: 'moving' });
      await one.publish([bird('a', 1)]);
      await eventually(() => expect(drained.seen).toHaveLength(1));
      await one.drain(new AbortController().signal);
      await one.publish([bird('a', 2)]);
      const next = await recorder(two, { name: 'moving' });
      await eventually(() => expect(generations(next.seen)).toEqual([2]));
      expect(generations(drained.seen)).toEqual([1]);
    });

    it('passes a barrier when all buses have handled what was committed before it', async () => {
      const [one, two] = await Promise.all([world.open(), world.open()]);
      const buses = await Promise.all([recorder(one), recorder(two)]);
      await world.transaction((tx) =>
        one.publish(
          upTo(300).map((n) => bird('a', n)),
          tx,
        ),
      );
      expect(await one.barrier({ withinMs: patientMs })).toEqual([]);
      for (const { seen } of buses) expect(seen).toHaveLength(300);
      expect(await two.barrier({ withinMs: patientMs })).toEqual([]);
    });

    it('tells what a barrier waits for when a handler or a participant of another bus takes longer', async () => {
      const [one, two] = await Promise.all([world.open(), world.open()]);
      let release = (): void => undefined;
      const held = new Promise<void>((resolve) => (release = resolve));
      const slow = await recorder(two, { handle: () => held });
      await one.publish([bird('a', 1)]);
      const waitsFor = async (subject?: BarrierSubject): Promise<string> =>
        (await one.barrier({ withinMs: 1_000, about: subject })).join();
      try {
        // More than once: on a busy machine, an answer may come too late.
        await eventually(async () => expect(await waitsFor()).toContain('its subscriptions, which are behind'));
      } finally {
        release();
      }
      expect(await one.barrier({ withinMs: patientMs })).toEqual([]);
      await slow.close();
      const about = { topic: birds.name, key: 'a', generation: 1, removed: false };
      const heard: unknown[] = [];
      two.onBarrier((subject, signal) => {
        heard.push(subject);
        return new Promise((resolve) => signal.addEventListener('abort', () => resolve('the nest')));
      });
      await eventually(async () => expect(await waitsFor(about)).toContain('the nest'));
      expect(heard).toContainEqual(about);
    });

    it('drains no longer than it may when a handler does not come to its end', async () => {
      const bus = await world.open();
      let release = (): void => undefined;
      const held = new Promise<void>((resolve) => (release = resolve));
      let isHandling = false;
      await recorder(bus, {
        handle: () => {
          isHandling = true;
          return held;
        },
      });
      await bus.publish([bird('a', 1)]);
      await eventually(() => isHandling);
      const deadline = new AbortController();
      const drained = bus.drain(deadline.signal);
      deadline.abort();
      await expect(drained).resolves.toBeUndefined();
      release();
    });

    it('finishes the event in hand when a subscription closes, and hands out no further one', async () => {
      const bus = await world.open();
      const log: string[] = [];
      let release = (): void => undefined;
      const held = new Promise<void>((resolve) => (release = resolve));
      const subscription = await recorder(bus, {
        handle: async ({ generation }) => {
          log.push(`begin ${generation}`);
          await held;
          log.push(`end ${generation}`);
        },
      });
      await bus.publish([bird('a', 1), bird('a', 2)]);
      await eventually(() => expect(log).toEqual(['begin 1']));
      const closed = subscription.close().then(() => log.push('closed'));
      release();
      await closed;
      expect(log).toEqual(['begin 1', 'end 1', 'closed']);
    });
  });
}
