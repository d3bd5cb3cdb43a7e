import { prepared, type Database, type DedicatedConnection } from '@drover/database';
import type { PublishedEvent } from '@drover/contracts';
import type { Batch, EventLog } from '../delivery.js';

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

/** The log as one unnamed subscriber sees it: its place is only in memory. */
export class PostgresEventLog implements EventLog {
  protected readonly database: Database;
  readonly #topics: readonly string[];
  readonly #from: number;

  constructor(database: Database, topics: readonly string[], from: number) {
    this.database = database;
    this.#topics = topics;
    this.#from = from;
  }

  async claim(): Promise<{ readonly position: number; isHeld(): boolean } | undefined> {
    return { position: this.#from, isHeld: () => true };
  }

  async read(after: number): Promise<Batch> {
    const rows = await this.database.query<EventRow>(readStatement, [after, this.#topics]);
    const events = rows.flatMap((row) => toEvent(row));
    const { head = after, trimmed = 0 } = rows[0] ?? {};
    // A short batch is all there is: what lies between is for others.
    const upTo = events.length < batchSize ? head : (events.at(-1)?.position ?? after);
    return { events, upTo, trimmed };
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
  readonly #connection: DedicatedConnection;
  readonly #connectionNumber: () => number;
  readonly #from: number;
  #heldOn: number | undefined;

  constructor(
    database: Database,
    topics: readonly string[],
    from: number,
    named: { readonly name: string; readonly connection: DedicatedConnection; readonly connectionNumber: () => number },
  ) {
    super(database, topics, from);
    this.#name = named.name;
    this.#connection = named.connection;
    this.#connectionNumber = named.connectionNumber;
    this.#from = from;
  }

  override async claim(): Promise<{ readonly position: number; isHeld(): boolean } | undefined> {
    const heldOn = this.#connectionNumber();
    // The lock counts how often a session took it: asking again on the same connection would have to be undone twice.
    if (this.#heldOn !== heldOn) {
      const [row] = await this.#connection.query<{ held: boolean }>(claimStatement, [this.#name]);
      if (!row?.held) return undefined;
      this.#heldOn = heldOn;
    }
    const [cursor] = await this.database.query<{ position: number }>(cursorStatement, [this.#name, this.#from]);
    return { position: cursor?.position ?? this.#from, isHeld: () => this.#connectionNumber() === heldOn };
  }

  override async remember(position: number): Promise<void> {
    await this.database.query(rememberStatement, [this.#name, position]);
  }

  override async letGo(): Promise<void> {
    if (this.#heldOn !== this.#connectionNumber()) return;
    this.#heldOn = undefined;
    await this.#connection.query(letGoStatement, [this.#name]);
  }
}

function toEvent(row: EventRow): PublishedEvent[] {
  const { position, topic, key, generation, payload, published_at: publishedAt } = row;
  return position === null ? [] : [{ position, topic, key, generation, payload, publishedAt }];
}
