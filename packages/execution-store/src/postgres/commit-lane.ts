import type { DatabaseIo } from '@drover/database';
import { executionStoreFull, executionStoreStopped } from '../errors.js';

export interface CommitLaneOptions<Item> extends Pick<DatabaseIo, 'clock' | 'observe'> {
  readonly name: string;
  /**
   * Writes all items in one statement, all or none, except those that it refuses itself: their callers hear of it at
   * once. When the server refuses the statement for what is in it, the items are tried again in halves.
   */
  readonly write: (items: readonly Item[], refuse: (item: Item, error: Error) => void) => Promise<void>;
  /** As how many an item counts; as one unless told. */
  readonly countOf?: (item: Item) => number;
  /** Statements that may be under way at a time: one, or a further one once so many wait. */
  readonly parallel?: { readonly most: number; readonly from: number };
  readonly maxItems: number;
  readonly maxStatementBytes: number;
  /** How long items that nobody waits for wait for others; at once unless told. */
  readonly linger?: { readonly ms: number; readonly enough: number };
  /** Above this nothing more is taken. A single item may be larger. */
  readonly maxWaitingBytes: number;
}

interface Waiting<Item> {
  readonly item: Item;
  readonly bytes: number;
  readonly count: number;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Items that arrive while a statement is under way go together into the next: one fsync serves them all, and a lone item
 * is written at once. Where many wait, a further statement need not wait for the one under way, whose answer may take as long as
 * we have other things to do. As `GroupCommit`, but statements and what waits are bounded by bytes, since items here have sizes
 * between a hundred bytes and a megabyte, and an item can be refused without the others.
 */
export class CommitLane<Item> {
  readonly #options: CommitLaneOptions<Item>;
  #waiting: Waiting<Item>[] = [];
  #bytes = 0;
  /** As many as wait. */
  #count = 0;
  /** Statements under way. */
  #writing = 0;
  #isToWrite = false;
  #isStopped = false;
  #idle: (() => void)[] = [];
  /** Ends the wait for more. */
  #hurry: (() => void) | undefined;
  #isUrgent = false;

  constructor(options: CommitLaneOptions<Item>) {
    this.#options = options;
  }

  /** Resolves once the item is durable. `bytes` is about what it takes in memory and in the statement. */
  add(item: Item, bytes: number, isUrgent = true): Promise<void> {
    const { maxWaitingBytes: limitBytes } = this.#options;
    if (this.#isStopped) return Promise.reject(executionStoreStopped({}));
    if (this.#bytes + bytes > limitBytes && this.#bytes > 0)
      return Promise.reject(executionStoreFull({ waitingBytes: this.#bytes, limitBytes }));
    return new Promise((resolve, reject) => {
      const count = this.#options.countOf?.(item) ?? 1;
      this.#bytes += bytes;
      this.#count += count;
      this.#waiting.push({ item, bytes, count, resolve, reject });
      this.#isUrgent ||= isUrgent;
      if (this.#hurry && !this.#canLinger()) this.#hurry();
      if (this.#isToWrite || !this.#mayWrite(this.#writing)) return;
      // Callers of the same tick belong together.
      this.#isToWrite = true;
      queueMicrotask(() => void this.#run());
    });
  }

  drain(deadline: AbortSignal): Promise<void> {
    if (this.#isIdle()) return Promise.resolve();
    this.#isUrgent = true;
    this.#hurry?.();
    return new Promise((resolve) => {
      this.#idle.push(resolve);
      deadline.addEventListener('abort', () => resolve(), { once: true });
    });
  }

  /** Gives up what waits, and waits for the statement that is under way. */
  stop(): Promise<void> {
    this.#isStopped = true;
    this.#hurry?.();
    for (const { bytes, count, reject } of this.#waiting.splice(0)) {
      this.#bytes -= bytes;
      this.#count -= count;
      reject(executionStoreStopped({}));
    }
    return this.drain(new AbortController().signal);
  }

  #isIdle(): boolean {
    return this.#writing === 0 && this.#waiting.length === 0;
  }

  /** Whether a statement may begin beside so many others. */
  #mayWrite(others: number): boolean {
    const { most = 1, from = 0 } = this.#options.parallel ?? {};
    return others === 0 ? this.#waiting.length > 0 : others < most && this.#count >= from;
  }

  async #run(): Promise<void> {
    this.#isToWrite = false;
    this.#writing += 1;
    while (this.#mayWrite(this.#writing - 1)) {
      if (this.#canLinger()) await this.#lingerOn();
      this.#isUrgent = false;
      await this.#commit(this.#takeBatch());
    }
    this.#writing -= 1;
    if (this.#isIdle()) for (const resolve of this.#idle.splice(0)) resolve();
  }

  #canLinger(): boolean {
    const { linger } = this.#options;
    return linger !== undefined && !this.#isUrgent && !this.#isStopped && this.#waiting.length < linger.enough;
  }

  /** A statement costs the same for one item as for a hundred, on both sides: worth a moment when nobody waits for it. */
  #lingerOn(): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.#options.clock.after(this.#options.linger?.ms ?? 0, () => this.#hurry?.());
      this.#hurry = () => {
        this.#hurry = undefined;
        cancel();
        resolve();
      };
    });
  }

  #takeBatch(): Waiting<Item>[] {
    const { maxItems, maxStatementBytes } = this.#options;
    let bytes = 0;
    let items = 0;
    for (const waiting of this.#waiting) {
      bytes += waiting.bytes;
      if (items > 0 && (bytes > maxStatementBytes || items >= maxItems)) break;
      this.#count -= waiting.count;
      items += 1;
    }
    if (items < this.#waiting.length) return this.#waiting.splice(0, items);
    const batch = this.#waiting;
    this.#waiting = [];
    return batch;
  }

  async #commit(batch: readonly Waiting<Item>[]): Promise<void> {
    const { name, write, clock, observe } = this.#options;
    const startedMs = clock.monotonicMs();
    try {
      await write(
        batch.map(({ item }) => item),
        (item, error) => batch.find((waiting) => waiting.item === item)?.reject(error),
      );
      observe({
        kind: 'database.rows-committed',
        name,
        rows: batch.reduce((sum, { count }) => sum + count, 0),
        durationMs: clock.monotonicMs() - startedMs,
        waiting: this.#waiting.length,
      });
      for (const { bytes, resolve } of batch) {
        this.#bytes -= bytes;
        resolve(); // means nothing to one that was refused
      }
    } catch (error) {
      if (batch.length > 1 && isRefusal(error)) {
        const middle = Math.ceil(batch.length / 2);
        await this.#commit(batch.slice(0, middle));
        await this.#commit(batch.slice(middle));
        return;
      }
      for (const { bytes, reject } of batch) {
        this.#bytes -= bytes;
        reject(error);
      }
    }
  }
}

/** The server is well and refused the statement for what it holds: nothing of it was written, others may be fine. */
export function isRefusal(error: unknown): boolean {
  return /^(22|23|42|54|P0)...$/.test(sqlStateOf(error));
}

export function isUniqueViolation(error: unknown): boolean {
  return sqlStateOf(error) === '23505';
}

function sqlStateOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
}
