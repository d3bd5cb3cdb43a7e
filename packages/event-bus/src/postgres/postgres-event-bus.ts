import type { NewEvent } from '@drover/contracts';
import {
  GroupCommit,
  Notifications,
  type Database,
  type DedicatedConnection,
  type Transaction,
} from '@drover/database';
import { inOrder, type Clock, type Lifecycle, type Observe, type Randomness } from '@drover/service-kit';
import { BarrierParts } from '../barrier-parts.js';
import { closeDeliveries, EventDelivery } from '../event-delivery.js';
import type { BarrierOptions, BarrierParticipant, EventBus, SubscribeOptions, Subscription } from '../event-bus.js';
import type { EventBusObservation } from '../observations.js';
import { BusMember } from './bus-member.js';
import { readByIndex } from './index-only-session.js';
import { InstallationBarrier } from './installation-barrier.js';
import { eventsChannel, OutboxRelay } from './outbox-relay.js';
import { writeToOutbox } from './outbox.js';
import { Retention } from './retention.js';
import { NamedPostgresEventLog, PostgresEventLog, type SubscriberConnection } from './subscriber-log.js';

export interface PostgresEventBusOptions {
  readonly database: Database;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: Observe<EventBusObservation>;
  /** Age at which events are removed: a named subscriber that is away for longer misses events. */
  readonly retentionMs?: number;
  /** Interval of reads without a notification: the bound on a connection for notifications that died unnoticed. */
  readonly pollMs?: number;
}

const sevenDaysMs = 7 * 24 * 3_600_000;
/** Rare, because each subscription of each idle process reads; every new connection for notifications reads at once. */
const defaultPollMs = 5_000;

/** Event bus in PostgreSQL: a transactional outbox, one total order, NOTIFY as a hint and positions as the truth. */
export class PostgresEventBus implements EventBus {
  readonly name = 'event bus';
  readonly #options: PostgresEventBusOptions;
  readonly #relay: OutboxRelay;
  readonly #notifications: Notifications;
  /** Commits events of many callers together. One commit at a time, which preserves the order of publication. */
  readonly #outbox: GroupCommit<readonly NewEvent[]>;
  /** Connection on which subscribers read and hold the locks on their names. */
  readonly #subscribers: SubscriberConnection;
  readonly #member: BusMember;
  readonly #barrierParts: BarrierParts;
  readonly #barrier: InstallationBarrier;
  readonly #parts: Lifecycle;
  readonly #deliveries = new Set<EventDelivery>();

  constructor(options: PostgresEventBusOptions) {
    const { database, retentionMs = sevenDaysMs } = options;
    this.#options = options;
    this.#relay = new OutboxRelay(options);
    this.#notifications = new Notifications(database);
    const { clock, randomness } = options;
    this.#member = new BusMember(randomness);
    this.#subscribers = subscriberConnection(database.dedicatedConnection('subscribers'), this.#member);
    this.#barrierParts = new BarrierParts(clock);
    this.#barrier = new InstallationBarrier({
      connection: this.#subscribers.connection,
      notifications: this.#notifications,
      relay: this.#relay,
      member: this.#member,
      parts: this.#barrierParts,
      clock,
      randomness,
    });
    this.#outbox = new GroupCommit({
      name: 'outbox',
      maxConcurrent: 1,
      clock: options.clock,
      observe: () => undefined,
      write: (published) => writeToOutbox(database, published.flat()),
    });
    this.#parts = inOrder('event bus', [
      this.#notifications,
      this.#subscribers.connection,
      this.#relay,
      new Retention({ ...options, retentionMs }),
      this.#outbox,
    ]);
  }

  async start(signal: AbortSignal): Promise<void> {
    await this.#notifications.listen(eventsChannel, () => {
      for (const delivery of this.#deliveries) delivery.wake();
    });
    await this.#barrier.listen();
    await this.#parts.start(signal);
  }

  /** Ends the subscriptions; publishing stays possible until `stop`. */
  async drain(deadline: AbortSignal): Promise<void> {
    await this.#member.leave(this.#subscribers.connection);
    await closeDeliveries(this.#deliveries, deadline);
    await this.#parts.drain(deadline);
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#deliveries].map((delivery) => delivery.close()));
    this.#deliveries.clear();
    await this.#parts.stop();
  }

  async publish(events: readonly NewEvent[], within?: Transaction): Promise<void> {
    if (events.length === 0) return;
    if (within) {
      await writeToOutbox(within, events);
      within.afterCommit(() => this.#relay.wake());
    } else {
      await this.#outbox.add(events);
      this.#relay.wake();
    }
  }

  async lastPosition(): Promise<number> {
    const [row] = await this.#options.database.query<{ position: number }>('select position from drover.event_head');
    return row?.position ?? 0;
  }

  barrier(options: BarrierOptions): Promise<readonly string[]> {
    return this.#barrier.wait(options);
  }

  onBarrier(participant: BarrierParticipant): void {
    this.#barrierParts.addParticipant(participant);
  }

  async subscribe({ topics, name, from, handle, onGap }: SubscribeOptions): Promise<Subscription> {
    const { database } = this.#options;
    const topicNames = topics.map((topic) => topic.name);
    const first = from === 'now' ? await this.lastPosition() : from;
    const selection = { topics: topicNames, from: first };
    const log =
      name === undefined
        ? new PostgresEventLog(this.#subscribers, selection)
        : new NamedPostgresEventLog(this.#subscribers, selection, { name, database });
    const delivery = new EventDelivery({
      ...this.#options,
      subscriber: name ?? 'unnamed',
      handle,
      onGap,
      log,
      pollMs: this.#options.pollMs ?? defaultPollMs,
    });
    this.#deliveries.add(delivery);
    if (name === undefined) this.#barrierParts.add(delivery);
    return {
      get position() {
        return delivery.position;
      },
      close: async () => {
        this.#deliveries.delete(delivery);
        this.#barrierParts.remove(delivery);
        await delivery.close();
      },
    };
  }
}

/** Counts connections, because a session lock is lost with the connection that acquired it. */
function subscriberConnection(connection: DedicatedConnection, member: BusMember): SubscriberConnection {
  let made = 0;
  connection.onConnected(async (fresh) => {
    await readByIndex(fresh);
    await member.join(fresh);
    made += 1;
  });
  return { connection, connectionNumber: () => (connection.connected ? made : 0), claimedHere: new Set() };
}
