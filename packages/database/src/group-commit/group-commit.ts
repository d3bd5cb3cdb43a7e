import type { Lifecycle } from '@drover/service-kit';
import type { DatabaseIo } from '../connection/database-io.js';
import { isRefusedByServer } from '../connection/translate-error.js';
import { ingestFull } from '../errors.js';

/** What is held when an item is refused because a limit is reached. */
export interface GroupCommitBacklog {
  readonly waitingItems: number;
  /** Bytes of the items that wait and of those being written. */
  readonly heldBytes: number;
}

export interface GroupCommitOptions<Item, Result = void> extends Pick<DatabaseIo, 'clock' | 'observe'> {
  readonly name: string;
  /**
   * Writes all items in one statement, all or none. Resolves with one result per item, in the same order, or with nothing when
   * items have no results. `reject` takes an item out of the batch: its caller gets the error, the others are not affected.
   *
   * When the server refuses the statement for its contents, the batch is split in halves and written again. A writer whose
   * statement failed with an unknown outcome settles that itself before it writes the next one.
   */
  readonly write: (
    items: readonly Item[],
    reject: (item: Item, error: Error) => void,
  ) => Promise<readonly Result[] | void>;
  /** The approximate size of an item in memory and in the statement; 0 by default. Called once per item. */
  readonly bytesOf?: (item: Item) => number;
  /** How many rows an item stands for, in metrics and in `concurrentFrom`; 1 by default. Called once per item. */
  readonly countOf?: (item: Item) => number;
  /** Limits of one statement: 1,000 items and any size by default. A single item may be larger. */
  readonly maxItems?: number;
  readonly maxBytes?: number;
  /** Limits of the backlog: 20,000 items and any size by default. A single item may be larger. Beyond them `add` rejects. */
  readonly maxWaitingItems?: number;
  readonly maxWaitingBytes?: number;
  /** Statements under way at a time. One, the default, preserves the order of items; two hide the round trip. */
  readonly maxConcurrent?: number;
  /** How many rows must wait before a statement starts beside another one; 1 by default. */
  readonly concurrentFrom?: number;
  /** How long items that are not urgent wait for others, unless `items` are there earlier; not at all by default. */
  readonly linger?: { readonly ms: number; readonly items: number };
  /** The error of `add` when the backlog is full; `DATABASE_INGEST_FULL` by default. */
  readonly full?: (backlog: GroupCommitBacklog) => Error;
  /** With it, `stop` rejects what waits and everything added later with this error. Without it, `stop` writes what waits. */
  readonly stopped?: () => Error;
}

interface WaitingItem<Item, Result> {
  readonly item: Item;
  readonly bytes: number;
  readonly count: number;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Writes the items of many callers in few statements, so that one fsync serves all of them.
 *
 * - Idle: nothing waits and no statement is under way. An item that is added is written in the same tick, together with all
 *   others that are added in that tick.
 * - Lingering: only items that are not urgent wait, and fewer than `linger.items`. An urgent item, enough items, the end of
 *   `linger.ms`, `drain` or `stop` end it.
 * - Writing: items that are added wait for the next statement. It starts when the one under way is answered, or beside it when
 *   `maxConcurrent` and `concurrentFrom` allow that.
 *
 * A batch is written whole or not at all. When the server refuses it because of one item, it is split in halves until that item
 * is alone, so that only its own caller gets the error. Any other error goes to all callers of the batch.
 */
export class GroupCommit<Item, Result = void> implements Lifecycle {
  readonly name: string;
  readonly #options: GroupCommitOptions<Item, Result>;
  readonly #maxItems: number;
  readonly #maxBytes: number;
  readonly #maxWaitingItems: number;
  readonly #maxWaitingBytes: number;
  #waiting: WaitingItem<Item, Result>[] = [];
  #waitingCount = 0;
  #hasUrgent = false;
  #heldBytes = 0;
  /** Statements under way, those that still linger included. */
  #running = 0;
  #isScheduled = false;
  #isStopped = false;
  #endLinger: (() => void) | undefined;
  #onIdle: (() => void)[] = [];

  constructor(options: GroupCommitOptions<Item, Result>) {
    this.name = options.name;
    this.#options = options;
    this.#maxItems = options.maxItems ?? 1_000;
    this.#maxBytes = options.maxBytes ?? Number.POSITIVE_INFINITY;
    this.#maxWaitingItems = options.maxWaitingItems ?? 20_000;
    this.#maxWaitingBytes = options.maxWaitingBytes ?? Number.POSITIVE_INFINITY;
  }

  /**
   * Resolves with the item's result once it is durable. Rejects when it was not written, when the backlog is full or after `stop`.
   * Nothing is promised after a rejection because the connection broke: the item may have been written.
   */
  add(item: Item, isUrgent = true): Promise<Result> {
    const { bytesOf, countOf, stopped } = this.#options;
    if (this.#isStopped && stopped) return Promise.reject(stopped());
    const bytes = bytesOf ? bytesOf(item) : 0;
    if (this.#isFullFor(bytes)) return Promise.reject(this.#fullError());
    return new Promise((resolve, reject) => {
      const count = countOf ? countOf(item) : 1;
      this.#heldBytes += bytes;
      this.#waitingCount += count;
      this.#waiting.push({ item, bytes, count, resolve, reject });
      this.#hasUrgent ||= isUrgent;
      if (this.#endLinger && !this.#mayLinger()) this.#endLinger();
      if (this.#isScheduled || !this.#mayWriteBeside(this.#running)) return;
      this.#isScheduled = true;
      queueMicrotask(() => this.#startStatements());
    });
  }

  start(): Promise<void> {
    return Promise.resolve();
  }

  drain(deadline: AbortSignal): Promise<void> {
    if (this.#isIdle() || deadline.aborted) return Promise.resolve();
    this.#hasUrgent = true;
    this.#endLinger?.();
    return new Promise((resolve) => {
      this.#onIdle.push(resolve);
      deadline.addEventListener('abort', () => resolve(), { once: true });
    });
  }

  /** Resolves when no statement is under way. What waits is rejected or written first, see `stopped`. */
  stop(): Promise<void> {
    const { stopped } = this.#options;
    if (stopped) {
      this.#isStopped = true;
      for (const { bytes, count, reject } of this.#waiting.splice(0)) {
        this.#heldBytes -= bytes;
        this.#waitingCount -= count;
        reject(stopped());
      }
      this.#endLinger?.();
    }
    return this.drain(new AbortController().signal);
  }

  #isIdle(): boolean {
    return this.#running === 0 && this.#waiting.length === 0;
  }

  #isFullFor(bytes: number): boolean {
    if (this.#waiting.length >= this.#maxWaitingItems) return true;
    // An item that is larger than the limit must be writable, too.
    return this.#heldBytes > 0 && this.#heldBytes + bytes > this.#maxWaitingBytes;
  }

  #fullError(): Error {
    const backlog = { waitingItems: this.#waiting.length, heldBytes: this.#heldBytes };
    if (this.#options.full) return this.#options.full(backlog);
    const isFullOfItems = backlog.waitingItems >= this.#maxWaitingItems;
    return isFullOfItems
      ? ingestFull({ name: this.name, capacity: this.#maxWaitingItems, unit: 'rows' })
      : ingestFull({ name: this.name, capacity: this.#maxWaitingBytes, unit: 'bytes' });
  }

  #mayWriteBeside(others: number): boolean {
    if (this.#waiting.length === 0) return false;
    const { maxConcurrent = 1, concurrentFrom = 1 } = this.#options;
    return others === 0 || (others < maxConcurrent && this.#waitingCount >= concurrentFrom);
  }

  #startStatements(): void {
    this.#isScheduled = false;
    while (this.#mayWriteBeside(this.#running)) void this.#run();
  }

  async #run(): Promise<void> {
    this.#running += 1;
    while (this.#mayWriteBeside(this.#running - 1)) {
      if (this.#mayLinger()) {
        await this.#linger();
        if (this.#waiting.length === 0) break; // stopped meanwhile
      }
      this.#hasUrgent = false;
      await this.#commit(this.#takeBatch());
    }
    this.#running -= 1;
    if (this.#isIdle()) for (const resolve of this.#onIdle.splice(0)) resolve();
  }

  #mayLinger(): boolean {
    const { linger } = this.#options;
    return linger !== undefined && !this.#hasUrgent && !this.#isStopped && this.#waiting.length < linger.items;
  }

  /** A statement costs about the same for one item as for a hundred: worth a short delay when no caller waits for it. */
  #linger(): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.#options.clock.after(this.#options.linger?.ms ?? 0, () => this.#endLinger?.());
      this.#endLinger = () => {
        this.#endLinger = undefined;
        cancel();
        resolve();
      };
    });
  }

  #takeBatch(): WaitingItem<Item, Result>[] {
    let bytes = 0;
    let items = 0;
    for (const waiting of this.#waiting) {
      bytes += waiting.bytes;
      if (items > 0 && (bytes > this.#maxBytes || items >= this.#maxItems)) break;
      this.#waitingCount -= waiting.count;
      items += 1;
    }
    if (items < this.#waiting.length) return this.#waiting.splice(0, items);
    const batch = this.#waiting;
    this.#waiting = [];
    return batch;
  }

  async #commit(batch: readonly WaitingItem<Item, Result>[]): Promise<void> {
    const { write, clock } = this.#options;
    const startedMs = clock.monotonicMs();
    try {
      const results = await write(
        batch.map(({ item }) => item),
        (item, error) => batch.find((waiting) => waiting.item === item)?.reject(error),
      );
      if (results && results.length !== batch.length) {
        throw new Error(`${this.name}: the writer returned ${results.length} results for ${batch.length} items`);
      }
      this.#committed(batch, results, clock.monotonicMs() - startedMs);
    } catch (error) {
      if (batch.length > 1 && isRefusedByServer(error)) {
        const middle = Math.ceil(batch.length / 2);
        await this.#commit(batch.slice(0, middle));
        await this.#commit(batch.slice(middle));
        return;
      }
      for (const { bytes, reject } of batch) {
        this.#heldBytes -= bytes;
        reject(error);
      }
    }
  }

  #committed(batch: readonly WaitingItem<Item, Result>[], results: readonly Result[] | void, durationMs: number): void {
    this.#options.observe({
      kind: 'database.rows-committed',
      name: this.name,
      rows: batch.reduce((sum, { count }) => sum + count, 0),
      durationMs,
      waiting: this.#waiting.length,
    });
    let index = 0;
    for (const { bytes, resolve } of batch) {
      this.#heldBytes -= bytes;
      // No effect on an item that was rejected. One result per item was checked; without results, Result is void.
      resolve(results?.[index] as Result);
      index += 1;
    }
  }
}
