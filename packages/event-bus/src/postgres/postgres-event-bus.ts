import type { NewEvent } from '@drover/contracts';
import { Notifications, type Database, type DedicatedConnection, type Transaction } from '@drover/database';
import { inOrder, type Clock, type Lifecycle, type Observe, type Randomness } from '@drover/service-kit';
import { Delivery } from '../delivery.js';
import type { EventBus, SubscribeOptions, Subscription } from '../event-bus.js';
import type { EventBusObservation } from '../observations.js';
import { eventsChannel, OutboxRelay } from './outbox-relay.js';
import { writeToOutbox } from './outbox.js';
import { Retention } from './retention.js';
import { NamedPostgresEventLog, PostgresEventLog } from './subscriber-log.js';

export interface PostgresEventBusOptions {
  readonly database: Database;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: Observe<EventBusObservation>;
  /** How long an absent subscriber may be away before it misses something. */
  readonly retentionMs?: number;
  /** How often to look without having been told: the bound on every lost notification. */
  readonly pollMs?: number;
}

const sevenDaysMs = 7 * 24 * 3_600_000;

/** The bus in PostgreSQL: a transactional outbox, one order for all, NOTIFY as the hint and positions as the truth. */
export class PostgresEventBus implements EventBus {
  readonly name = 'event bus';
  readonly #options: PostgresEventBusOptions;
  readonly #pollMs: number;
  readonly #relay: OutboxRelay;
  readonly #notifications: Notifications;
  /** Holds the locks on subscribers' names; they are gone with each connection, so connections are counted. */
  readonly #names: DedicatedConnection;
  readonly #parts: Lifecycle;
  readonly #deliveries = new Set<Delivery>();
  #connectionNumber = 0;

  constructor(options: PostgresEventBusOptions) {
    const { database, retentionMs = sevenDaysMs, pollMs = 500 } = options;
    this.#options = options;
    this.#pollMs = pollMs;
    this.#relay = new OutboxRelay({ ...options, pollMs });
    this.#notifications = new Notifications(database);
    this.#names = database.dedicatedConnection('subscriber names');
    this.#names.onConnected(() => {
      this.#connectionNumber += 1;
      return Promise.resolve();
    });
    this.#parts = inOrder('event bus', [
      this.#notifications,
      this.#names,
      this.#relay,
      new Retention({ ...options, retentionMs }),
    ]);
  }

  async start(signal: AbortSignal): Promise<void> {
    await this.#notifications.listen(eventsChannel, () => {
      for (const delivery of this.#deliveries) delivery.wake();
    });
    await this.#parts.start(signal);
  }

  drain(deadline: AbortSignal): Promise<void> {
    return this.#parts.drain(deadline);
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#deliveries].map((delivery) => delivery.close()));
    this.#deliveries.clear();
    await this.#parts.stop();
  }

  async publish(events: readonly NewEvent[], within?: Transaction): Promise<void> {
    if (events.length === 0) return;
    await writeToOutbox(within ?? this.#options.database, events);
    if (within) within.afterCommit(() => this.#relay.wake());
    else this.#relay.wake();
  }

  async lastPosition(): Promise<number> {
    const [row] = await this.#options.database.query<{ position: number }>('select position from drover.event_head');
    return row?.position ?? 0;
  }

  async subscribe({ topics, name, from, handle, onGap }: SubscribeOptions): Promise<Subscription> {
    const { database } = this.#options;
    const topicNames = topics.map((topic) => topic.name);
    const first = from === 'now' ? await this.lastPosition() : from;
    const connectionNumber = (): number => (this.#names.connected ? this.#connectionNumber : 0);
    const log =
      name === undefined
        ? new PostgresEventLog(database, topicNames, first)
        : new NamedPostgresEventLog(database, topicNames, first, { name, connection: this.#names, connectionNumber });
    const delivery = new Delivery({
      ...this.#options,
      subscriber: name ?? 'unnamed',
      handle,
      onGap,
      log,
      pollMs: this.#pollMs,
    });
    this.#deliveries.add(delivery);
    return {
      get position() {
        return delivery.position;
      },
      close: async () => {
        this.#deliveries.delete(delivery);
        await delivery.close();
      },
    };
  }
}
