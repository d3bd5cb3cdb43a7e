import { prepared, type Queryable } from '@drover/database';
import { sleep, type Clock, type Lifecycle, type Observe } from '@drover/service-kit';
import type { RecordEventObservation } from './observations.js';

export interface RecordEventRetentionOptions {
  readonly database: Queryable;
  /** Age at which events are removed. */
  readonly retentionMs: number;
  readonly clock: Clock;
  readonly observe: Observe<RecordEventObservation>;
}

const batchSize = 5_000;
const everyMs = 60_000;
/** Events that were kept may have lost their reason: a collection was removed, or its history was switched off. */
const fromTheStartMs = 3_600_000;

// Events are in the order of their time but for the length of a transaction, so a pass ends at the first young one.
const trimStatement = prepared(
  'record-events-trim',
  `with oldest as (
     select id, collection_id, at < now() - $2 * interval '1 millisecond' as is_old
     from drover.record_events
     where id > $1 and id <= (select frontier from drover.record_event_state)
     order by id limit ${batchSize}
   ), due as (
     select * from oldest where id < coalesce((select min(id) from oldest where not is_old), 9223372036854775807)
   ), removed as (
     delete from drover.record_events
     where id = any (array(
       select id from due where collection_id not in (
         select collection.id from drover.collections collection
         join drover.collection_versions using (version)
         where collection_versions.collection_id = collection.id and definition -> 'history' = 'true'
       )
     ))
     returning id
   ), state as (
     update drover.record_event_state set trimmed = greatest(trimmed, (select max(id) from removed))
     where exists (select 1 from removed)
   )
   select (select count(*) from removed) as removed, count(*) as passed, coalesce(max(id), $1) as last from due`,
);

const failedDays = 30;
const trimFailedStatement = prepared(
  'failed-changes-trim',
  `delete from drover.failed_changes where id in (
     select id from drover.failed_changes where failed_at < now() - interval '${failedDays} days' limit ${batchSize}
   )`,
);

/**
 * Removes record events older than the retention time, but for those of collections with history, and failed changes
 * after a month. Safe in several processes.
 */
export class RecordEventRetention implements Lifecycle {
  readonly name = 'retention of record events';
  readonly #options: RecordEventRetentionOptions;
  readonly #closing = new AbortController();
  /** Events up to here were removed or are kept. */
  #passed = 0;
  #startedMs = Number.NEGATIVE_INFINITY;
  #done: Promise<void> = Promise.resolve();

  constructor(options: RecordEventRetentionOptions) {
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

  async #run(): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      try {
        while (!signal.aborted && (await this.#trim()) >= batchSize);
        await this.#options.database.query(trimFailedStatement);
      } catch {
        // The database is unavailable, which other parts report; the next pass is in a minute.
      }
      await sleep(this.#options.clock, everyMs, signal).catch(() => undefined);
    }
  }

  /** Resolves with the number of events that were looked at. */
  async #trim(): Promise<number> {
    const { database, retentionMs, clock, observe } = this.#options;
    if (clock.monotonicMs() - this.#startedMs >= fromTheStartMs) {
      this.#startedMs = clock.monotonicMs();
      this.#passed = 0;
    }
    const values = [this.#passed, retentionMs];
    const [row] = await database.query<{ removed: number; passed: number; last: number }>(trimStatement, values);
    if (!row) return 0;
    this.#passed = row.last;
    if (row.removed > 0) observe({ kind: 'record-events.trimmed', events: row.removed, upTo: row.last });
    return row.passed;
  }
}
