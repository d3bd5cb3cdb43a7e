import type { NewEvent, PublishedEvent } from '@drover/contracts';
import type { Transaction } from '@drover/database';
import type { Clock, Observe, Randomness } from '@drover/service-kit';
import { closeDeliveries, EventDelivery, type EventLog } from '../event-delivery.js';
import { BarrierParts } from '../barrier-parts.js';
import type { BarrierOptions, BarrierParticipant, EventBus, SubscribeOptions, Subscription } from '../event-bus.js';
import type { EventBusObservation } from '../observations.js';

/** The log that several in-memory buses share, as processes share a database. */
export class MemoryEventLog {
  readonly events: PublishedEvent[] = [];
  readonly cursors = new Map<string, number>();
  readonly claimed = new Set<string>();
  readonly deliveries = new Set<EventDelivery>();
  /** Of all buses. */
  readonly barriers = new Set<BarrierParts>();
}

export interface MemoryEventBusOptions {
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: Observe<EventBusObservation>;
  readonly log?: MemoryEventLog;
}

const batchSize = 256;

/** Event bus for tests: the same guarantees, except that nothing survives the process. */
export class MemoryEventBus implements EventBus {
  readonly name = 'event bus';
  readonly #options: MemoryEventBusOptions;
  readonly #log: MemoryEventLog;
  readonly #own = new Set<EventDelivery>();
  readonly #barrier: BarrierParts;

  constructor(options: MemoryEventBusOptions) {
    this.#options = options;
    this.#log = options.log ?? new MemoryEventLog();
    this.#barrier = new BarrierParts(options.clock);
    this.#log.barriers.add(this.#barrier);
  }

  start(): Promise<void> {
    return Promise.resolve();
  }

  drain(deadline: AbortSignal): Promise<void> {
    this.#log.barriers.delete(this.#barrier);
    return closeDeliveries(this.#own, deadline);
  }

  async stop(): Promise<void> {
    this.#log.barriers.delete(this.#barrier);
    await Promise.all([...this.#own].map((delivery) => delivery.close()));
    for (const delivery of this.#own) this.#log.deliveries.delete(delivery);
    this.#own.clear();
  }

  async publish(events: readonly NewEvent[], within?: Transaction): Promise<void> {
    if (within) within.afterCommit(() => this.#append(events));
    else this.#append(events);
  }

  lastPosition(): Promise<number> {
    return Promise.resolve(this.#log.events.length);
  }

  async barrier({ withinMs, about }: BarrierOptions): Promise<readonly string[]> {
    const position = this.#log.events.length;
    const passed = [...this.#log.barriers].map((parts) => parts.pass({ position, withinMs, about }));
    return (await Promise.all(passed)).flat();
  }

  onBarrier(participant: BarrierParticipant): void {
    this.#barrier.addParticipant(participant);
  }

  async subscribe({ topics, name, from, handle, onGap }: SubscribeOptions): Promise<Subscription> {
    const first = from === 'now' ? this.#log.events.length : from;
    const delivery = new EventDelivery({
      ...this.#options,
      subscriber: name ?? 'unnamed',
      handle,
      onGap,
      log: this.#reader(new Set(topics.map((topic) => topic.name)), name, first),
      pollMs: 1_000,
    });
    this.#own.add(delivery);
    this.#log.deliveries.add(delivery);
    if (name === undefined) this.#barrier.add(delivery);
    return delivery;
  }

  #append(events: readonly NewEvent[]): void {
    const publishedAt = new Date(this.#options.clock.now());
    for (const { topic, key, generation, payload } of events) {
      const position = this.#log.events.length + 1;
      // Through JSON, as in the other adapters: subscribers never share an object with the publisher.
      this.#log.events.push({
        position,
        topic: topic.name,
        key,
        generation,
        payload: JSON.parse(JSON.stringify(payload)),
        publishedAt,
      });
    }
    for (const delivery of this.#log.deliveries) delivery.wake();
  }

  #reader(topics: ReadonlySet<string>, name: string | undefined, first: number): EventLog {
    const log = this.#log;
    let isOurs = false;
    return {
      async claim() {
        if (name === undefined) return { position: first, isHeld: () => true };
        if (!isOurs && log.claimed.has(name)) return undefined;
        isOurs = true;
        log.claimed.add(name);
        if (!log.cursors.has(name)) log.cursors.set(name, first);
        return { position: log.cursors.get(name) ?? first, isHeld: () => true };
      },
      async read(after) {
        const slice = log.events.slice(after, after + batchSize);
        const upTo = after + slice.length;
        const events = slice.filter((event) => topics.has(event.topic));
        return { events, upTo, isComplete: upTo >= log.events.length, trimmed: 0 };
      },
      async savePosition(position) {
        if (name !== undefined) log.cursors.set(name, position);
      },
      async release() {
        if (name === undefined || !isOurs) return;
        isOurs = false;
        log.claimed.delete(name);
        for (const delivery of log.deliveries) delivery.wake();
      },
    };
  }
}
