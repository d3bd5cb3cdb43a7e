import type { PublishedEvent } from '@drover/contracts';
import { FakeClock, seededRandomness } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { EventDelivery, type EventLog } from './event-delivery.js';
import type { EventBusObservation } from './observations.js';

const event = (position: number): PublishedEvent => ({
  position,
  topic: 'test.birds',
  key: 'a',
  generation: position,
  payload: {},
  publishedAt: new Date(0),
});

/** A log with these positions in it, under a name that can be taken away. */
class FakeLog implements EventLog {
  readonly remembered: number[] = [];
  isHeld = true;
  readonly #events: readonly PublishedEvent[];

  constructor(count: number) {
    this.#events = Array.from({ length: count }, (_, n) => event(n + 1));
  }

  async claim(): ReturnType<EventLog['claim']> {
    return this.isHeld ? { position: 0, isHeld: () => this.isHeld } : undefined;
  }

  async read(after: number): ReturnType<EventLog['read']> {
    return { events: this.#events.slice(after), upTo: this.#events.length, isComplete: true, trimmed: 0 };
  }

  async savePosition(position: number): Promise<void> {
    this.remembered.push(position);
  }

  async release(): Promise<void> {}
}

function deliver(
  log: FakeLog,
  handle: (event: PublishedEvent) => void | Promise<void>,
): { readonly clock: FakeClock; readonly delivery: EventDelivery; readonly observed: EventBusObservation[] } {
  const clock = new FakeClock();
  const observed: EventBusObservation[] = [];
  const delivery = new EventDelivery({
    subscriber: 'reader',
    handle,
    onGap: undefined,
    log,
    pollMs: 500,
    clock,
    randomness: seededRandomness(1),
    observe: (o) => void observed.push(o),
  });
  return { clock, delivery, observed };
}

describe('a delivery', () => {
  it('stops within a batch when it loses its name, and continues when it has claimed it again', async () => {
    const log = new FakeLog(4);
    const handled: number[] = [];
    const { clock, delivery } = deliver(log, ({ position }) => {
      handled.push(position);
      if (position === 2) log.isHeld = false;
    });
    await clock.advance(5_000);
    expect(handled).toEqual([1, 2]);
    log.isHeld = true;
    await clock.advance(500);
    expect(handled).toEqual([1, 2, 3, 4]);
    await delivery.close();
  });

  it('does not go on trying an event that its handler refuses once another one has its name', async () => {
    const log = new FakeLog(1);
    const { clock, delivery, observed } = deliver(log, () => {
      throw new Error('not now');
    });
    await clock.advance(200);
    const tries = (): number => observed.filter(({ kind }) => kind === 'bus.handler-failed').length;
    expect(tries()).toBeGreaterThan(1);
    log.isHeld = false;
    const before = tries();
    await clock.advance(60_000);
    expect(tries()).toBe(before);
    await delivery.close();
  });

  it('notes how far it came also in the middle of a long batch', async () => {
    const log = new FakeLog(10);
    const { clock, delivery } = deliver(log, () => new Promise((resolve) => void clock.after(100, resolve)));
    await clock.advance(650);
    expect(log.remembered).toEqual([3, 6]);
    await Promise.all([delivery.close(), clock.advance(100)]); // the event in hand
  });
});
