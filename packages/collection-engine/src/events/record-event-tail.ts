import { prepared, type Database, type DedicatedConnection } from '@drover/database';
import { BackOff, WakeUp, type Clock, type Lifecycle, type Observe, type Randomness } from '@drover/service-kit';
import { advanceFrontier, needsHorizon, type EventFrontier } from './event-frontier.js';
import { EventFollower, type FollowOptions, type RecordEventBatch } from './event-follower.js';
import type { RecordEventObservation } from './observations.js';
import {
  recordEventColumns,
  recordEventsChannel,
  replayPayload,
  toRecordEvent,
  type RecordEventRow,
} from './record-event.js';

export interface RecordEventTailOptions {
  readonly database: Database;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: Observe<RecordEventObservation>;
  /** Interval of reads without a notification, while events are followed: the bound on a notification that was lost. */
  readonly pollMs?: number;
}

const batchSize = 1_000;
/** Ids that one read without followers counts. */
const countSize = 100_000;
/** How often the frontier is moved on while events are not followed, so that the first reader finds it near the end. */
const idlePollMs = 5_000;
/** Notifications of one process are at least this far apart, however much it writes. */
const announceMs = 10;
/** How often the frontier is stored, for processes that start later. */
const storeMs = 1_000;
const retryBackOff = { firstMs: 50, maxMs: 2_000, factor: 2 };
const gapBackOff = { firstMs: 4, maxMs: 200, factor: 2 };
/**
 * How often the tail looks at a missing id before `position` answers with the position before it. A process that has not read for a
 * while, as one of several that serve a collection, finds ids of transactions that were rolled back long ago.
 */
const looksAtGap = 3;

const readStatement = prepared(
  'record-events-tail',
  `select wanted.*, event.id, pg_snapshot_xmin(pg_current_snapshot())::text::bigint as oldest
   from (select * from drover.record_events where id > $1 order by id limit ${batchSize}) event
   left join lateral (select ${recordEventColumns} where event.collection_id = any($2::uuid[])) wanted on true
   order by event.id`,
);
const countStatement = prepared(
  'record-events-count',
  `select count(*) as seen, coalesce(max(id), $1) as last
   from (select id from drover.record_events where id > $1 order by id limit ${countSize}) event`,
);
const horizonStatement = prepared('record-events-horizon', `select pg_current_xact_id()::text::bigint as horizon`);
const startStatement = prepared('record-events-start', `select frontier from drover.record_event_state`);
const storeStatement = prepared(
  'record-events-frontier',
  `update drover.record_event_state set frontier = $1 where frontier < $1`,
);
const announceStatement = prepared('record-events-announce', `select pg_notify('${recordEventsChannel}', '')`);

/** What a read of the ids alone finds, or the rows of the events. */
type TailRow = Partial<RecordEventRow> & { readonly id: number; readonly oldest: number };

/**
 * Reads the record events of all collections in the order of their ids, once for all consumers of this process.
 *
 * - Without followers it only counts ids every few seconds, or when `position` is called.
 * - With followers it reads when this process has written, when another one says so, and at the latest after `pollMs`. Bodies are
 *   read only for collections that are followed.
 * - At a missing id it stops until that id is visible or dead (`advanceFrontier`), and looks again soon.
 *
 * Writers do not NOTIFY, which would queue all their commits behind one lock of PostgreSQL: their process calls `wrote`, and tells the
 * others at most once in ten milliseconds, outside of the transactions.
 */
export class RecordEventTail implements Lifecycle {
  readonly name = 'record events';
  readonly #options: RecordEventTailOptions;
  readonly #pollMs: number;
  /** Listens and reads. */
  readonly #connection: DedicatedConnection;
  readonly #closing = new AbortController();
  readonly #wakeUp = new WakeUp();
  readonly #followers = new Set<EventFollower>();
  readonly #listeners = new Set<() => void>();
  readonly #replayListeners = new Set<() => void>();
  #frontier: EventFrontier = { position: 0, gap: undefined };
  #stored = 0;
  #storedMs = Number.NEGATIVE_INFINITY;
  #waiting: { readonly resolve: (position: number) => void; readonly reject: (error: unknown) => void }[] = [];
  #cancelAnnouncement: (() => void) | undefined;
  #done: Promise<void> = Promise.resolve();

  constructor(options: RecordEventTailOptions) {
    this.#options = options;
    this.#pollMs = options.pollMs ?? 500;
    this.#connection = options.database.dedicatedConnection('record events');
    this.#connection.onNotification((_, payload) => {
      if (payload === replayPayload) for (const listener of this.#replayListeners) listener();
      else this.#notified();
    });
    this.#connection.onConnected(
      async (connection) => {
        // A plan that PostgreSQL made when the table was nearly empty is a sequential scan, and stays until the next analyze.
        for (const method of ['seqscan', 'bitmapscan', 'sort']) await connection.query(`set enable_${method} = off`);
        await connection.query(`listen ${recordEventsChannel}`);
      },
      () => {
        this.#notified();
        for (const listener of this.#replayListeners) listener();
      },
    );
  }

  async start(signal?: AbortSignal): Promise<void> {
    await this.#connection.start(signal);
    const [state] = await this.#connection.query<{ frontier: number }>(startStatement);
    this.#frontier = { position: state?.frontier ?? 0, gap: undefined };
    this.#stored = this.#frontier.position;
    this.#done = this.#run();
  }

  /** Ends all followers: their consumers continue elsewhere from the last position that they have seen. */
  drain(): Promise<void> {
    for (const follower of this.#followers) follower.close();
    return Promise.resolve();
  }

  async stop(): Promise<void> {
    await this.drain();
    this.#closing.abort(new Error('the tail of record events was stopped'));
    this.#wakeUp.notify();
    this.#cancelAnnouncement?.();
    await this.#done;
    await this.#connection.stop();
  }

  /** Call it after each commit of this process that wrote events. */
  wrote(): void {
    this.#wakeFollowed();
    this.#cancelAnnouncement ??= this.#options.clock.after(announceMs, () => {
      this.#cancelAnnouncement = undefined;
      // A lost notification costs others the time until they poll.
      this.#options.database.query(announceStatement).catch(() => undefined);
    });
  }

  /** Calls `action` when any process has written events, or may have. Returns the function that unsubscribes. */
  onWritten(action: () => void): () => void {
    this.#listeners.add(action);
    return () => void this.#listeners.delete(action);
  }

  /** Calls `action` when failed changes are to be delivered again, or may be. Returns the function that unsubscribes. */
  onReplay(action: () => void): () => void {
    this.#replayListeners.add(action);
    return () => void this.#replayListeners.delete(action);
  }

  /**
   * Resolves with a position up to which no event can appear any more, so that a reader may continue after it. It includes all
   * events that had committed before the call, unless an older transaction is still in progress.
   */
  position(): Promise<number> {
    if (this.#closing.signal.aborted) return Promise.reject(this.#closing.signal.reason);
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      this.#wakeUp.notify();
    });
  }

  /**
   * Yields the events of collections after a position, in order and without end, until `signal` aborts or the tail drains. A consumer
   * that is slower than the events makes no other one wait: it reads on from the table.
   */
  follow(options: FollowOptions): AsyncGenerator<RecordEventBatch, void, undefined> {
    return this.#follow(options);
  }

  async *#follow(options: FollowOptions): AsyncGenerator<RecordEventBatch, void, undefined> {
    const { database, clock } = this.#options;
    const after = options.after === 'now' ? await this.position() : options.after;
    const follower = new EventFollower({ ...options, after, database, clock, position: () => this.#frontier.position });
    this.#followers.add(follower);
    try {
      // Between `position` and here nothing was offered; the follower starts by reading the table.
      this.#wakeUp.notify();
      yield* follower.batches();
    } finally {
      this.#followers.delete(follower);
    }
  }

  async #run(): Promise<void> {
    const { clock, observe } = this.#options;
    const { signal } = this.#closing;
    const failures = new BackOff(retryBackOff, this.#options);
    const gaps = new BackOff(gapBackOff, this.#options);
    while (!signal.aborted) {
      this.#wakeUp.reset();
      const asked = this.#waiting.splice(0);
      try {
        while (await this.#read()) signal.throwIfAborted();
        failures.reset();
        if (this.#frontier.gap === undefined) gaps.reset();
        // The next looks mostly find out that the missing id will not appear.
        if (this.#frontier.gap && gaps.failures < looksAtGap) this.#waiting.push(...asked);
        else for (const { resolve } of asked) resolve(this.#frontier.position);
        await this.#store();
        await this.#wakeUp.wait(clock, this.#frontier.gap ? gaps.nextMs() : this.#idleMs(), signal);
      } catch (error) {
        for (const { reject } of asked) reject(error);
        if (signal.aborted) break;
        observe({ kind: 'record-events.read-failed', error });
        await failures.wait(signal).catch(() => undefined);
      }
    }
    for (const { reject } of this.#waiting.splice(0)) reject(signal.reason);
  }

  #notified(): void {
    this.#wakeFollowed();
    for (const listener of this.#listeners) listener();
  }

  #wakeFollowed(): void {
    if (this.#followers.size > 0) this.#wakeUp.notify();
  }

  #idleMs(): number {
    return this.#followers.size > 0 ? this.#pollMs : idlePollMs;
  }

  /** Reads once; resolves with true if there may be more. */
  async #read(): Promise<boolean> {
    return this.#followers.size === 0 && this.#frontier.gap === undefined ? this.#countIds() : this.#readRows();
  }

  async #countIds(): Promise<boolean> {
    const { position } = this.#frontier;
    const [counted] = await this.#connection.query<{ seen: number; last: number }>(countStatement, [position]);
    const { seen = 0, last = position } = counted ?? {};
    if (last - position !== seen) return this.#readRows();
    this.#move({ position: last, gap: undefined }, []);
    return seen === countSize;
  }

  async #readRows(): Promise<boolean> {
    const { observe } = this.#options;
    const before = this.#frontier;
    const collectionIds = [...new Set([...this.#followers].flatMap((follower) => follower.collectionIds))];
    const followed = new Set(this.#followers);
    const rows = await this.#connection.query<TailRow>(readStatement, [before.position, collectionIds]);
    const read = { ids: rows.map(({ id }) => id), oldestTransaction: rows[0]?.oldest ?? 0 };
    let after = advanceFrontier(before, read);
    if (after.gap && needsHorizon(before, after)) {
      const [taken] = await this.#connection.query<{ horizon: number }>(horizonStatement);
      after = { ...after, gap: { ...after.gap, horizon: taken?.horizon } };
      observe({ kind: 'record-events.gap', after: after.position, upTo: after.gap?.upTo ?? after.position });
    }
    this.#move(after, rows, followed);
    return rows.length === batchSize && after.position > before.position;
  }

  /** Followers that came during the read are not offered what may lack their collection: they read the table. */
  #move(after: EventFrontier, rows: readonly TailRow[], followed: ReadonlySet<EventFollower> = new Set()): void {
    const from = this.#frontier.position;
    this.#frontier = after;
    if (after.position === from) return;
    const events = rows
      .filter(
        (row): row is TailRow & RecordEventRow => row.id <= after.position && typeof row.collection_id === 'string',
      )
      .map(toRecordEvent);
    for (const follower of this.#followers) {
      if (followed.has(follower)) follower.offer(events, from, after.position);
      else follower.skipped();
    }
  }

  async #store(): Promise<void> {
    const { clock } = this.#options;
    const { position } = this.#frontier;
    if (position === this.#stored || clock.monotonicMs() - this.#storedMs < storeMs) return;
    this.#storedMs = clock.monotonicMs();
    await this.#connection.query(storeStatement, [position]);
    this.#stored = position;
  }
}
