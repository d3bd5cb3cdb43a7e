import { prepared, type Database, type DedicatedConnection } from '@drover/database';
import { BackOff, WakeUp, type Clock, type Lifecycle, type Observe, type Randomness } from '@drover/service-kit';
import type { EventBusObservation } from '../observations.js';
import { readByIndex } from './index-only-session.js';

/** Told to everybody who listens, with the newest position, whenever events got their place. */
export const eventsChannel = 'drover_events';

export interface OutboxRelayOptions {
  readonly database: Database;
  /** How often to look for events of publishers that died before they could wake us. */
  readonly pollMs: number;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: Observe<EventBusObservation>;
}

const batchSize = 1_000;
const retryBackOff = { firstMs: 50, maxMs: 2_000, factor: 2 };

const lockStatement = prepared('relay-lock', `select pg_advisory_xact_lock(hashtextextended('drover.relay', 0))`);
// By ctid, which is safe under the lock: nobody else removes rows and nobody changes them.
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
 * Gives events their place in the order: moves them from the outbox to the log, one relay at a time in the whole
 * installation. Sequence numbers are handed out when a row is written but rows appear when their transaction commits, so
 * a reader that goes by them would miss slow transactions. Positions given here, under a lock and to visible rows only,
 * grow in the order in which they can be seen. (docs/decisions/0004)
 *
 * Publishers do not NOTIFY: that would queue all their commits behind one lock of PostgreSQL. The process that published
 * wakes its own relay; if it dies before that, another one finds the events when it polls.
 */
export class OutboxRelay implements Lifecycle {
  readonly name = 'outbox relay';
  readonly #options: OutboxRelayOptions;
  readonly #connection: DedicatedConnection;
  readonly #closing = new AbortController();
  readonly #wakeUp = new WakeUp();
  #done: Promise<void> = Promise.resolve();

  constructor(options: OutboxRelayOptions) {
    this.#options = options;
    this.#connection = options.database.dedicatedConnection('outbox relay');
    this.#connection.onConnected(readByIndex);
  }

  async start(): Promise<void> {
    await this.#connection.start();
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

  /** There is something in the outbox. */
  wake(): void {
    this.#wakeUp.notify();
  }

  async #run(): Promise<void> {
    const { clock, observe, pollMs } = this.#options;
    const { signal } = this.#closing;
    const backOff = new BackOff(retryBackOff, this.#options);
    while (!signal.aborted) {
      this.#wakeUp.reset();
      try {
        const startedMs = clock.monotonicMs();
        const { moved, position } = await this.#move();
        backOff.reset();
        if (moved > 0) {
          observe({
            kind: 'bus.relayed',
            events: moved,
            lastPosition: position,
            durationMs: clock.monotonicMs() - startedMs,
          });
        }
        if (moved < batchSize) await this.#wakeUp.wait(clock, pollMs, signal);
      } catch (error) {
        if (signal.aborted) return;
        observe({ kind: 'bus.relay-failed', error });
        await backOff.wait(signal).catch(() => undefined);
      }
    }
  }

  /** Four statements, one round trip: the lock is a statement of its own so that the move sees all that came before it. */
  async #move(): Promise<{ readonly moved: number; readonly position: number }> {
    const connection = this.#connection;
    const [, , rows] = await Promise.all([
      connection.query('begin'),
      connection.query(lockStatement),
      connection.query<{ moved: number; position: number }>(moveStatement),
      connection.query('commit'),
    ]);
    return rows[0] ?? { moved: 0, position: 0 };
  }
}
