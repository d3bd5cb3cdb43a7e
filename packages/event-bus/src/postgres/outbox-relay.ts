import { prepared, type Database, type DedicatedConnection } from '@drover/database';
import { BackOff, WakeUp, type Clock, type Lifecycle, type Observe, type Randomness } from '@drover/service-kit';
import type { EventBusObservation } from '../observations.js';
import { readByIndex } from './index-only-session.js';

/** Channel that announces the newest position whenever the relay moved events to the log. */
export const eventsChannel = 'drover_events';

export interface OutboxRelayOptions {
  readonly database: Database;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: Observe<EventBusObservation>;
}

const batchSize = 1_000;
/** Interval of the reads that find events of publishers that died before they could wake their relay. */
const pollMs = 5_000;
const retryBackOff = { firstMs: 50, maxMs: 2_000, factor: 2 };

const pendingStatement = prepared('relay-pending', 'select 1 from drover.outbox limit 1');
const lockStatement = prepared('relay-lock', `select pg_advisory_xact_lock(hashtextextended('drover.relay', 0))`);
// By ctid, which is safe under the lock: no other process removes rows, and none updates them.
const moveStatement = prepared(
  'relay-move',
  `with moved as (
     delete from drover.outbox
     where ctid = any (array(select ctid from drover.outbox order by id limit ${batchSize})) returning *
   ), head as (
     update drover.event_head set position = position + (select count(*) from moved)
     where exists (select 1 from moved) returning position
   ), placed as (
     insert into drover.events (position, topic, key, generation, payload, published_at)
     select head.position - (select count(*) from moved) + row_number() over (order by moved.id),
            topic, key, generation, payload, published_at
     from moved, head
   )
   select head.position, (select count(*) from moved) as moved, pg_notify('${eventsChannel}', head.position::text) from head`,
);

/**
 * Moves events from the outbox to the log and assigns their positions; one relay at a time runs in the whole installation.
 * A sequence number is assigned when a row is written, but the row becomes visible when its transaction commits, so a reader
 * that follows sequence numbers would miss slow transactions. Positions are assigned here, under a lock and to visible rows
 * only, so they grow in the order of visibility (docs/decisions/0004).
 *
 * Publishers do not NOTIFY, which would queue all their commits behind one lock of PostgreSQL. The publishing process wakes its
 * own relay; if it dies before, the relay of another process finds the events when it polls.
 */
export class OutboxRelay implements Lifecycle {
  readonly name = 'outbox relay';
  readonly #options: OutboxRelayOptions;
  readonly #connection: DedicatedConnection;
  readonly #closing = new AbortController();
  readonly #wakeUp = new WakeUp();
  #flushing: (() => void)[] = [];
  /** True while a publisher of this process may have written events that are not moved yet. */
  #isWoken = true;
  #done: Promise<void> = Promise.resolve();

  constructor(options: OutboxRelayOptions) {
    this.#options = options;
    this.#connection = options.database.dedicatedConnection('outbox relay');
    this.#connection.onConnected(readByIndex);
  }

  async start(signal?: AbortSignal): Promise<void> {
    await this.#connection.start(signal);
    this.#done = this.#run();
  }

  drain(): Promise<void> {
    return Promise.resolve();
  }

  async stop(): Promise<void> {
    this.#closing.abort(new Error('relay stopped'));
    await this.#done;
    await this.#connection.stop();
  }

  /** Runs soon: the outbox has new events. */
  wake(): void {
    this.#isWoken = true;
    this.#wakeUp.notify();
  }

  /** Resolves when all events that were committed before the call are in the log. Pending for as long as the database is away. */
  flush(): Promise<void> {
    return new Promise((resolve) => {
      this.#flushing.push(resolve);
      this.wake();
    });
  }

  async #run(): Promise<void> {
    const { clock, observe } = this.#options;
    const { signal } = this.#closing;
    const backOff = new BackOff(retryBackOff, this.#options);
    while (!signal.aborted) {
      this.#wakeUp.reset();
      const flushing = this.#flushing;
      this.#flushing = [];
      try {
        const startedMs = clock.monotonicMs();
        const { moved, position } = (await this.#isPending()) ? await this.#move() : { moved: 0, position: 0 };
        backOff.reset();
        if (moved > 0) {
          observe({
            kind: 'bus.relayed',
            events: moved,
            lastPosition: position,
            durationMs: clock.monotonicMs() - startedMs,
          });
        }
        if (moved === batchSize) {
          this.#flushing.push(...flushing);
          continue;
        }
        for (const resolve of flushing) resolve();
        await this.#wakeUp.wait(clock, pollMs, signal);
      } catch (error) {
        if (signal.aborted) return;
        this.#flushing.push(...flushing);
        this.#isWoken = true;
        observe({ kind: 'bus.relay-failed', error });
        await backOff.wait(signal).catch(() => undefined);
      }
    }
  }

  /** A poll of an empty outbox is one statement, without a transaction and its lock. */
  async #isPending(): Promise<boolean> {
    return this.#isWoken || (await this.#connection.query(pendingStatement)).length > 0;
  }

  /** Four pipelined statements in one round trip. The lock is a separate statement, so that the move sees all earlier commits. */
  async #move(): Promise<{ readonly moved: number; readonly position: number }> {
    const connection = this.#connection;
    this.#isWoken = false; // before the statements: events of a later wake-up may not be visible to them
    const [, , rows] = await Promise.all([
      connection.query('begin'),
      connection.query(lockStatement),
      connection.query<{ moved: number; position: number }>(moveStatement),
      connection.query('commit'),
    ]);
    return rows[0] ?? { moved: 0, position: 0 };
  }
}
