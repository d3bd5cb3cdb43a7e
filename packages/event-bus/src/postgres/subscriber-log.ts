import { prepared, type Database, type DedicatedConnection } from '@drover/database';
import type { PublishedEvent } from '@drover/contracts';
import type { Batch, Claim, EventLog } from '../delivery.js';

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
const letGoStatement = prepared(
  'subscriber-let-go',
  `select pg_advisory_unlock(hashtextextended('drover.subscriber:' || $1, 0))`,
);
const cursorStatement = prepared(
  'subscriber-cursor',
  `insert into drover.event_cursors as cursor (subscriber, position) values ($1, $2)
   on conflict (subscriber) do update set position = cursor.position returning position`,
);
const rememberStatement = prepared(
  'subscriber-remember',
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

/** What the subscribers of one bus share: statements go out as they come, without waiting for a turn in the pool. */
export interface SubscriberConnection {
  readonly connection: DedicatedConnection;
  /** Which connection that is, counted from 1; 0 while there is none. */
  readonly connectionNumber: () => number;
  /** Names with a subscriber in this very process: PostgreSQL gives a session the same lock as often as it asks. */
  readonly takenHere: Set<string>;
}

/** What a subscriber reads, and after which position it begins. */
export interface Place {
  readonly topics: readonly string[];
  readonly from: number;
}

/** The log as one unnamed subscriber sees it: its place is only in memory. */
export class PostgresEventLog implements EventLog {
  protected readonly shared: SubscriberConnection;
  protected readonly place: Place;

  constructor(shared: SubscriberConnection, place: Place) {
    this.shared = shared;
    this.place = place;
  }

  async claim(): Promise<Claim | undefined> {
    return { position: this.place.from, isHeld: () => true };
  }

  async read(after: number): Promise<Batch> {
    const rows = await this.shared.connection.query<EventRow>(readStatement, [after, this.place.topics]);
    const events = rows.flatMap((row) => toEvent(row));
    const { head = after, trimmed = 0 } = rows[0] ?? {};
    // A short batch is all there is: what lies between is for others.
    const isComplete = events.length < batchSize;
    const upTo = isComplete ? head : (events.at(-1)?.position ?? after);
    return { events, upTo, isComplete, trimmed };
  }

  async remember(_position: number): Promise<void> {}

  async letGo(): Promise<void> {}
}

/**
 * The log as one named subscriber sees it. The right to the name is a session lock on the bus's own connection: it ends
 * with that connection, so whoever stands by takes over as soon as PostgreSQL sees the process gone.
 */
export class NamedPostgresEventLog extends PostgresEventLog {
  readonly #name: string;
  readonly #database: Database;
  #isTakenByUs = false;
  #heldOn: number | undefined;

  constructor(
    shared: SubscriberConnection,
    place: Place,
    named: { readonly name: string; readonly database: Database },
  ) {
    super(shared, place);
    this.#name = named.name;
    this.#database = named.database;
  }

  override async claim(): Promise<Claim | undefined> {
    const { connection, connectionNumber, takenHere } = this.shared;
    if (!this.#isTakenByUs && takenHere.has(this.#name)) return undefined;
    takenHere.add(this.#name);
    this.#isTakenByUs = true;
    const heldOn = connectionNumber();
    // The lock counts how often a session took it: asking again on the same connection would have to be undone twice.
    if (this.#heldOn !== heldOn) {
      const [row] = await connection.query<{ held: boolean }>(claimStatement, [this.#name]);
      if (!row?.held) return undefined;
      this.#heldOn = heldOn;
    }
    const [cursor] = await this.#database.query<{ position: number }>(cursorStatement, [this.#name, this.place.from]);
    return { position: cursor?.position ?? this.place.from, isHeld: () => connectionNumber() === heldOn };
  }

  override async remember(position: number): Promise<void> {
    await this.#database.query(rememberStatement, [this.#name, position]);
  }

  override async letGo(): Promise<void> {
    const { connection, connectionNumber, takenHere } = this.shared;
    try {
      if (this.#heldOn === connectionNumber()) await connection.query(letGoStatement, [this.#name]);
    } finally {
      this.#heldOn = undefined;
      if (this.#isTakenByUs) takenHere.delete(this.#name);
      this.#isTakenByUs = false;
    }
  }
}

function toEvent(row: EventRow): PublishedEvent[] {
  const { position, topic, key, generation, payload, published_at: publishedAt } = row;
  return position === null ? [] : [{ position, topic, key, generation, payload, publishedAt }];
}
