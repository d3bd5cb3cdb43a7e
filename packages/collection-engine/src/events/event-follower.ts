import type { Queryable } from '@drover/database';
import { WakeUp, type Clock } from '@drover/service-kit';
import { readRecordEvents, type RecordEvent } from './record-event.js';

export interface FollowOptions {
  /** At least one. */
  readonly collectionIds: readonly string[];
  /** First position, exclusive, or only new events. */
  readonly after: number | 'now';
  readonly signal: AbortSignal;
  /** Yields a batch without events when there was none for so long, which tells the position. Undefined: never. */
  readonly idleMs?: number;
  /** Most events of a batch; 200 by default. */
  readonly batchSize?: number;
}

export interface RecordEventBatch {
  /** In order. Empty after an idle time. */
  readonly events: readonly RecordEvent[];
  /** All events of these collections up to this position have been yielded. */
  readonly upTo: number;
  /** Whether retention has removed events that this consumer had not read. Collections with history lose none. */
  readonly isTrimmed: boolean;
}

interface FollowerOptions extends FollowOptions {
  readonly after: number;
  readonly database: Queryable;
  readonly clock: Clock;
  /** The position that the tail has reached. */
  readonly position: () => number;
}

/** Events that a follower holds until its consumer takes them; beyond, it reads them again from the table. */
const mostBuffered = 1_000;
const forever = 2 ** 31 - 1;

/**
 * One consumer of the tail.
 *
 * - catching up: its position is behind that of the tail; it reads pages of the table, and what the tail offers is not used
 * - live: all events after its position are in the buffer, which the tail fills; when the buffer is full, or the tail moved on without
 *   an offer, it is dropped, and the follower catches up
 */
export class EventFollower {
  readonly collectionIds: readonly string[];
  readonly #options: FollowerOptions;
  readonly #wanted: ReadonlySet<string>;
  readonly #wakeUp = new WakeUp();
  readonly #closing = new AbortController();
  /** All events up to here have been yielded. */
  #position: number;
  #buffer: RecordEvent[] = [];
  /** All events up to here have been yielded or are in the buffer; undefined while catching up. */
  #bufferedUpTo: number | undefined;

  constructor(options: FollowerOptions) {
    this.#options = options;
    this.collectionIds = options.collectionIds;
    this.#wanted = new Set(options.collectionIds);
    this.#position = options.after;
  }

  /** Takes what the tail read between two positions. */
  offer(events: readonly RecordEvent[], from: number, upTo: number): void {
    if (this.#bufferedUpTo === from) {
      // A position of another process may be ahead of the tail of this one.
      this.#buffer.push(
        ...events.filter(({ id, collectionId }) => id > this.#position && this.#wanted.has(collectionId)),
      );
      this.#bufferedUpTo = upTo;
      if (this.#buffer.length > mostBuffered) this.#dropBuffer();
    }
    if (this.#buffer.length > 0 || this.#bufferedUpTo === undefined) this.#wakeUp.notify();
  }

  /**
   * The tail has moved on without an offer. A follower that is live by then, because it read the table while the tail still read, lacks
   * what lies between: it has to catch up, since no later offer would begin where its buffer ends.
   */
  skipped(): void {
    this.#dropBuffer();
    this.#wakeUp.notify();
  }

  close(): void {
    this.#closing.abort();
    this.#wakeUp.notify();
  }

  async *batches(): AsyncGenerator<RecordEventBatch, void, undefined> {
    const { signal, clock, idleMs } = this.#options;
    const end = (): void => this.close();
    signal.addEventListener('abort', end, { once: true });
    if (signal.aborted) end();
    const closed = this.#closing.signal;
    try {
      while (!closed.aborted) {
        this.#wakeUp.reset();
        const batch = this.#bufferedUpTo === undefined ? await this.#catchUp() : this.#takeBuffer();
        if (batch.events.length > 0 || batch.isTrimmed) yield batch;
        if (batch.events.length > 0 || this.#bufferedUpTo === undefined) continue;
        const waitedFrom = clock.monotonicMs();
        await this.#wakeUp.wait(clock, idleMs ?? forever, closed);
        if (this.#buffer.length === 0 && this.#bufferedUpTo !== undefined) this.#takeBuffer();
        const isIdle = idleMs !== undefined && clock.monotonicMs() - waitedFrom >= idleMs && this.#buffer.length === 0;
        if (isIdle && !closed.aborted) yield { events: [], upTo: this.#position, isTrimmed: false };
      }
    } finally {
      signal.removeEventListener('abort', end);
    }
  }

  #dropBuffer(): void {
    this.#buffer = [];
    this.#bufferedUpTo = undefined;
  }

  #takeBuffer(): RecordEventBatch {
    const { batchSize = 200 } = this.#options;
    const events = this.#buffer.splice(0, batchSize);
    const upTo = this.#buffer.length > 0 ? events.at(-1)?.id : this.#bufferedUpTo;
    this.#position = Math.max(this.#position, upTo ?? 0);
    return { events, upTo: this.#position, isTrimmed: false };
  }

  async #catchUp(): Promise<RecordEventBatch> {
    const { database, position, batchSize = 200 } = this.#options;
    const after = this.#position;
    const reached = position();
    const page = await readRecordEvents(database, {
      collectionIds: this.collectionIds,
      after,
      upTo: reached,
      limit: batchSize,
    });
    this.#position = page.upTo;
    // The tail may have moved during the read: only then is there nothing between this position and what it offers next.
    if (page.upTo >= position()) this.#bufferedUpTo = position();
    return { events: page.events, upTo: page.upTo, isTrimmed: after < page.trimmed };
  }
}
