import { prepared, type Database, type DedicatedConnection } from '@drover/database';
import type { PublishedEvent } from '@drover/contracts';
import type { Batch, Claim, EventLog } from '../event-delivery.js';

const batchSize = 256;

const readStatement = prepared(
  'events-read',
  `select head.position as head, head.trimmed, event.position, event.topic, event.key, event.generation, event.payload, event.published_at
   from drover.event_head head
   left join lateral (
     select * from drover.events where position > $1 and topic = any($2) order by position limit ${batchSize}
   ) event on true
   order by event.position`,
);
const claimStatement = prepared(
  'subscriber-claim',
  `select pg_try_advisory_lock(hashtextextended('drover.subscriber:' || $1, 0)) as held`,
);
const releaseStatement = prepared(
  'subscriber-release',
  `select pg_advisory_unlock(hashtextextended('drover.subscriber:' || $1, 0))`,
);
const cursorStatement = prepared(
  'subscriber-cursor',
  `insert into drover.event_cursors as cursor (subscriber, position) values ($1, $2)
   on conflict (subscriber) do update set position = cursor.position returning position`,
);
const savePositionStatement = prepared(
  'subscriber-save',
  `update drover.event_cursors set position = greatest(position, $2), updated_at = now() where subscriber = $1`,
);

interface EventRow {
  readonly head: number;
  readonly trimmed: number;
  readonly position: number | null;
  readonly topic: string;
  readonly key: string;
  readonly generation: number;
  readonly payload: unknown;
  readonly published_at: Date;
}

/** Connection that the subscribers of one bus share: statements are pipelined instead of waiting for the pool. */
export interface SubscriberConnection {
  readonly connection: DedicatedConnection;
  /** Number of the current connection, counted from 1; 0 while there is none. */
  readonly connectionNumber: () => number;
  /** Names with a subscriber in this process: PostgreSQL grants a session the same lock repeatedly. */
  readonly claimedHere: Set<string>;
}

/** The topics that a subscriber reads, and its first position, exclusive. */
export interface EventSelection {
  readonly topics: readonly string[];
  readonly from: number;
}

/** The log of an unnamed subscriber, whose position is only in memory. */
export class PostgresEventLog implements EventLog {
  protected readonly shared: SubscriberConnection;
  protected readonly selection: EventSelection;

  constructor(shared: SubscriberConnection, selection: EventSelection) {
    this.shared = shared;
    this.selection = selection;
  }

  async claim(): Promise<Claim | undefined> {
    return { position: this.selection.from, isHeld: () => true };
  }

  async read(after: number): Promise<Batch> {
    const rows = await this.shared.connection.query<EventRow>(readStatement, [after, this.selection.topics]);
    const events = rows.flatMap((row) => toEvent(row));
    const { head = after, trimmed = 0 } = rows[0] ?? {};
    // A short batch contains all events of these topics up to the head.
    const isComplete = events.length < batchSize;
    const upTo = isComplete ? head : (events.at(-1)?.position ?? after);
    return { events, upTo, isComplete, trimmed };
  }

  async savePosition(_position: number): Promise<void> {}

  async release(): Promise<void> {}
}

/**
 * The log of a named subscriber. The claim is a session lock on the shared connection: PostgreSQL releases it when the connection
 * ends, and a subscriber that stands by takes over.
 */
export class NamedPostgresEventLog extends PostgresEventLog {
  readonly #name: string;
  readonly #database: Database;
  #isClaimedByUs = false;
  #heldOn: number | undefined;

  constructor(
    shared: SubscriberConnection,
    selection: EventSelection,
    named: { readonly name: string; readonly database: Database },
  ) {
    super(shared, selection);
    this.#name = named.name;
    this.#database = named.database;
  }

  override async claim(): Promise<Claim | undefined> {
    const { connection, connectionNumber, claimedHere } = this.shared;
    if (!this.#isClaimedByUs && claimedHere.has(this.#name)) return undefined;
    claimedHere.add(this.#name);
    this.#isClaimedByUs = true;
    const heldOn = connectionNumber();
    // Session locks are counted: acquiring it twice on one connection would require two releases.
    if (this.#heldOn !== heldOn) {
      const [row] = await connection.query<{ held: boolean }>(claimStatement, [this.#name]);
      if (!row?.held) return undefined;
      this.#heldOn = heldOn;
    }
    const [cursor] = await this.#database.query<{ position: number }>(cursorStatement, [
      this.#name,
      this.selection.from,
    ]);
    return { position: cursor?.position ?? this.selection.from, isHeld: () => connectionNumber() === heldOn };
  }

  override async savePosition(position: number): Promise<void> {
    await this.#database.query(savePositionStatement, [this.#name, position]);
  }

  override async release(): Promise<void> {
    const { connection, connectionNumber, claimedHere } = this.shared;
    try {
      if (this.#heldOn === connectionNumber()) await connection.query(releaseStatement, [this.#name]);
    } finally {
      this.#heldOn = undefined;
      if (this.#isClaimedByUs) claimedHere.delete(this.#name);
      this.#isClaimedByUs = false;
    }
  }
}

function toEvent(row: EventRow): PublishedEvent[] {
  const { position, topic, key, generation, payload, published_at: publishedAt } = row;
  return position === null ? [] : [{ position, topic, key, generation, payload, publishedAt }];
}
