import { prepared, type Database } from '@drover/database';
import { sleep, type Clock, type Lifecycle, type Observe } from '@drover/service-kit';
import type { EventBusObservation } from '../observations.js';

const batchSize = 5_000;
const everyMs = 60_000;

// Removes from the front only, so that the remaining log has no holes; the head records how far.
const trimStatement = prepared(
  'events-trim',
  `with oldest as (
     select position, published_at from drover.events order by position limit ${batchSize}
   ), removed as (
     delete from drover.events
     where position < coalesce((select min(position) from oldest where published_at >= now() - $1 * interval '1 millisecond'),
                               (select max(position) + 1 from oldest))
     returning position
   ), head as (
     update drover.event_head set trimmed = greatest(trimmed, (select max(position) from removed))
     where exists (select 1 from removed)
   )
   select count(*) as removed from removed`,
);

/** Removes events older than the retention time. Safe to run in several processes at once. */
export class Retention implements Lifecycle {
  readonly name = 'event retention';
  readonly #closing = new AbortController();
  readonly #options: {
    readonly database: Database;
    readonly retentionMs: number;
    readonly clock: Clock;
    readonly observe: Observe<EventBusObservation>;
  };
  #done: Promise<void> = Promise.resolve();

  constructor(options: {
    readonly database: Database;
    readonly retentionMs: number;
    readonly clock: Clock;
    readonly observe: Observe<EventBusObservation>;
  }) {
    this.#options = options;
  }

  async start(): Promise<void> {
    this.#done = this.#run();
  }

  drain(): Promise<void> {
    return Promise.resolve();
  }

  async stop(): Promise<void> {
    this.#closing.abort(new Error('retention stopped'));
    await this.#done;
  }

  /** Runs one pass and returns the number of removed events. */
  async trim(): Promise<number> {
    const { database, retentionMs, observe } = this.#options;
    const [row] = await database.query<{ removed: number }>(trimStatement, [retentionMs]);
    const removed = row?.removed ?? 0;
    if (removed > 0) observe({ kind: 'bus.trimmed', events: removed });
    return removed;
  }

  async #run(): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      await sleep(this.#options.clock, everyMs, signal).catch(() => undefined);
      try {
        while (!signal.aborted && (await this.trim()) >= batchSize);
      } catch {
        // The database is unavailable, which other parts report; the next pass is in a minute.
      }
    }
  }
}
