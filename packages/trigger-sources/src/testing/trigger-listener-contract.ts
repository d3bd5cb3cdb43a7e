import { eventually } from '@drover/testkit';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Deliver, Delivery, Settlement, TriggerListener } from '../trigger-source.js';

/** One empty source with its environment. */
export interface TriggerWorld {
  /** Creates another listener on the source, as another process would. It is not started. */
  listener(deliver: Deliver): TriggerListener;
  send(bodies: readonly string[]): Promise<void>;
  /** Bodies of the dead letters. */
  putAside(): Promise<readonly string[]>;
  /** Number of messages, leased ones included, without dead letters. */
  remaining(): Promise<number>;
  /** Deliveries before a message is dead-lettered. */
  readonly maxDeliveries: number;
  /** The shortest delay that the source supports. */
  readonly shortestDelayMs: number;
  /** Starts a listener that settles nothing, in a process that can be killed without cleanup. */
  victim(): Promise<TriggerVictim>;
  /** What the source does not have. The tests of it are skipped or relaxed. */
  readonly lacks?: ReadonlySet<SourceCapability>;
  close(): Promise<void>;
}

/**
 * - delivery-limit: messages that are abandoned too often are dead-lettered
 * - delivery-count: the source counts deliveries, also those of other processes
 * - exclusive-delivery: a message is with one listener only, also while listeners come and go
 */
export type SourceCapability = 'delivery-limit' | 'delivery-count' | 'exclusive-delivery';

export interface TriggerVictim {
  /** Number of deliveries that it holds. */
  holds(): number;
  kill(): Promise<void>;
}

const complete: Settlement = { kind: 'complete' };
const never = new AbortController().signal;
const bodies = (count: number): string[] => Array.from({ length: count }, (_, n) => `message ${n + 1}`);
const sorted = (texts: Iterable<string>): string[] => [...texts].toSorted();

/** A `Deliver` that holds every delivery until the test settles it. */
function holding() {
  const held: {
    readonly delivery: Delivery;
    readonly lost: AbortSignal;
    readonly settle: (settlement: Settlement) => void;
  }[] = [];
  const deliver: Deliver = (delivery, lost) =>
    new Promise((resolve) => {
      held.push({ delivery, lost, settle: resolve });
    });
  return { held, deliver };
}

/** The contract of every trigger listener; the test of each source runs it. */
export function triggerListenerContract(source: string, openWorld: () => Promise<TriggerWorld>): void {
  describe(`the trigger listener contract: ${source}`, () => {
    let world: TriggerWorld;
    const started: TriggerListener[] = [];
    const listen = async (deliver: Deliver): Promise<TriggerListener> => {
      const listener = world.listener(deliver);
      started.push(listener);
      await listener.start(never);
      return listener;
    };
    /** Records every delivery. */
    const listenToAll = async (settle: (delivery: Delivery) => Settlement = () => complete) => {
      const seen: Delivery[] = [];
      const listener = await listen(async (delivery) => {
        seen.push(delivery);
        return settle(delivery);
      });
      return { seen, listener };
    };
    const texts = (deliveries: readonly Delivery[]): string[] => deliveries.map(({ data }) => String(data));

    beforeEach(async () => {
      world = await openWorld();
    });
    afterEach(async () => {
      await Promise.all(started.splice(0).map((listener) => listener.stop()));
      await world.close();
    });

    it('hands out everything once, and nothing again that was completed', async () => {
      await world.send(bodies(40));
      const { seen } = await listenToAll();
      await eventually(async () => (await world.remaining()) === 0);
      expect(sorted(texts(seen))).toEqual(sorted(bodies(40)));
      expect(new Set(seen.map((delivery) => delivery.deliveryCount))).toEqual(new Set([1]));
    });

    it('hands out what comes while it listens', async () => {
      const { seen } = await listenToAll();
      await world.send(['late']);
      await eventually(() => expect(texts(seen)).toEqual(['late']));
    });

    it('shares the work with other listeners, each piece for one of them', async () => {
      await world.send(bodies(60));
      const [one, two] = [await listenToAll(), await listenToAll()];
      await eventually(async () => (await world.remaining()) === 0);
      const seen = texts([...one.seen, ...two.seen]);
      expect(sorted(world.lacks?.has('exclusive-delivery') ? new Set(seen) : seen)).toEqual(sorted(bodies(60)));
    });

    it('hands out again what was abandoned, and counts', async () => {
      await world.send(['stubborn']);
      const { seen } = await listenToAll(({ deliveryCount }) =>
        deliveryCount < 3 ? { kind: 'abandon', delayMs: 0 } : complete,
      );
      await eventually(async () => (await world.remaining()) === 0);
      expect(texts(seen)).toEqual(['stubborn', 'stubborn', 'stubborn']);
      expect(seen.map((delivery) => delivery.deliveryCount)).toEqual([1, 2, 3]);
    });

    it('hands out again what was abandoned for a while, and not earlier', async () => {
      await world.send(['later']);
      const times: number[] = [];
      const { seen } = await listenToAll(() => {
        times.push(performance.now());
        return times.length === 1 ? { kind: 'abandon', delayMs: world.shortestDelayMs } : complete;
      });
      await eventually(() => expect(seen).toHaveLength(2));
      const [first = 0, second = 0] = times;
      // Sources that store whole seconds or milliseconds may round the start of the delay.
      expect(second - first).toBeGreaterThanOrEqual(world.shortestDelayMs - 5);
    });

    it('puts aside what was dead-lettered: it never comes back', async () => {
      await world.send(['bad', 'good']);
      const { seen } = await listenToAll(({ data }) =>
        String(data) === 'bad' ? { kind: 'deadLetter', reason: 'not a number', byFunction: true } : complete,
      );
      await eventually(async () => (await world.remaining()) === 0);
      expect(await world.putAside()).toEqual(['bad']);
      expect(sorted(texts(seen))).toEqual(['bad', 'good']);
    });

    it('puts aside what was abandoned as often as it may be handed out', async ({ skip }) => {
      skip(world.lacks?.has('delivery-limit') === true, 'the source has no limit of deliveries');
      await world.send(['hopeless']);
      const { seen } = await listenToAll(() => ({ kind: 'abandon', delayMs: 0 }));
      await eventually(async () => expect(await world.putAside()).toEqual(['hopeless']));
      expect(seen).toHaveLength(world.maxDeliveries);
      await eventually(async () => (await world.remaining()) === 0);
    });

    it('hands out nothing while it is paused, and goes on when it resumes', async () => {
      const { held, deliver } = holding();
      const listener = await listen(deliver);
      await world.send(['before']);
      await eventually(() => held.length === 1);
      listener.pause();
      held[0]?.settle(complete);
      await world.send(bodies(5));
      await eventually(async () => (await world.remaining()) === 5);
      expect(held).toHaveLength(1);
      listener.resume();
      await eventually(() => held.length === 6);
      for (const { settle } of held) settle(complete);
      await eventually(async () => (await world.remaining()) === 0);
    });

    it('drains: finishes what it has, and takes nothing more', async () => {
      const { held, deliver } = holding();
      const listener = await listen(deliver);
      await world.send(['in hand']);
      await eventually(() => held.length === 1);
      let isDrained = false;
      const drained = listener.drain(never).then(() => (isDrained = true));
      await world.send(['for others']);
      expect(isDrained).toBe(false);
      held[0]?.settle(complete);
      await drained;
      expect(held).toHaveLength(1);
      const { seen } = await listenToAll();
      await eventually(() => expect(texts(seen)).toEqual(['for others']));
      await eventually(async () => (await world.remaining()) === 0);
    });

    it('drains no longer than it may', async () => {
      const { held, deliver } = holding();
      const listener = await listen(deliver);
      await world.send(['endless']);
      await eventually(() => held.length === 1);
      const deadline = new AbortController();
      const drained = listener.drain(deadline.signal);
      deadline.abort();
      await expect(drained).resolves.toBeUndefined();
    });

    it('loses nothing when it is stopped in the middle: others get what it had, and it hears that it lost it', async () => {
      const { held, deliver } = holding();
      await world.send(bodies(30));
      const listener = await listen(deliver);
      await eventually(() => held.length > 0);
      await listener.stop();
      const stoppedWith = held.length;
      expect(held.every(({ lost }) => lost.aborted)).toBe(true);
      const { seen } = await listenToAll();
      await eventually(async () => (await world.remaining()) === 0);
      for (const { settle } of held) settle(complete); // too late, and of no effect
      expect(sorted(new Set(texts(seen)))).toEqual(sorted(bodies(30)));
      expect(held).toHaveLength(stoppedWith);
    });

    it('loses nothing when its process is killed: what it held comes back', async () => {
      await world.send(bodies(4));
      const victim = await world.victim();
      await eventually(() => victim.holds() === 4);
      await victim.kill();
      const { seen } = await listenToAll();
      await eventually(async () => (await world.remaining()) === 0);
      expect(sorted(texts(seen))).toEqual(sorted(bodies(4)));
      const count = world.lacks?.has('delivery-count') ? 1 : 2;
      expect(new Set(seen.map((delivery) => delivery.deliveryCount))).toEqual(new Set([count]));
    });

    it('hands out again what its user failed to take at all', async () => {
      await world.send(['thrown']);
      const { seen } = await listenToAll(({ deliveryCount }) => {
        if (deliveryCount === 1) throw new Error('deliver must not throw');
        return complete;
      });
      await eventually(async () => (await world.remaining()) === 0);
      expect(seen).toHaveLength(2);
    });

    it('measures what waits, without what is being worked on', async () => {
      const { held, deliver } = holding();
      const listener = world.listener(deliver);
      started.push(listener);
      expect(await listener.measure(never)).toMatchObject({ waiting: 0, oldestAgeMs: undefined });
      await world.send(bodies(3));
      const { waiting, oldestAgeMs = 0, arrivalsPerSecond = 1 } = await listener.measure(never);
      expect(waiting).toBe(3);
      expect(oldestAgeMs).toBeGreaterThanOrEqual(0);
      expect(arrivalsPerSecond).toBeGreaterThan(0);
      await listener.start(never);
      await eventually(() => held.length === 3);
      expect(await listener.measure(never)).toMatchObject({ waiting: 0, oldestAgeMs: undefined });
      for (const { settle } of held) settle(complete);
    });

    it('can be stopped twice, and without having started', async () => {
      const { listener } = await listenToAll();
      await listener.stop();
      await listener.stop();
      const idle = world.listener(() => Promise.resolve(complete));
      await idle.drain(never);
      await idle.stop();
      const late = world.listener(() => Promise.resolve(complete));
      await expect(late.start(AbortSignal.abort(new Error('too late')))).rejects.toThrow('too late');
      await late.stop();
    });
  });
}
