import type { RecordChange } from '../collection-records.js';

interface RecordLanesOptions {
  readonly isBatch: boolean;
  readonly maxBatchSize: number;
}

interface Entry {
  readonly change: RecordChange;
  state: 'waiting' | 'running' | 'finished';
}

/**
 * The changes of a collection that were read and are not finished. Changes of one record run one after the other, in their order;
 * those of different records run side by side. Batches run one at a time. The position of the checkpoint never passes a change that
 * is not finished.
 */
export class RecordLanes {
  readonly #options: RecordLanesOptions;
  /** In the order of positions. */
  #entries: Entry[] = [];
  /** Records with a change that runs. */
  readonly #busy = new Set<string>();
  #running = 0;
  #readUpTo: number;
  #reached: number;

  constructor(options: RecordLanesOptions, after: number) {
    this.#options = options;
    this.#readUpTo = after;
    this.#reached = after;
  }

  /** Changes that wait. */
  get waiting(): number {
    return this.#entries.reduce((count, { state }) => count + (state === 'waiting' ? 1 : 0), 0);
  }

  get running(): number {
    return this.#running;
  }

  get oldestAtMs(): number | undefined {
    return this.#entries.find(({ state }) => state === 'waiting')?.change.atMs;
  }

  /** All changes up to this position have been added. */
  get readUpTo(): number {
    return this.#readUpTo;
  }

  /** All changes up to this position are finished. */
  get reached(): number {
    return this.#reached;
  }

  add(changes: readonly RecordChange[], upTo: number): void {
    for (const change of changes) this.#entries.push({ change, state: 'waiting' });
    this.#readUpTo = Math.max(this.#readUpTo, upTo);
    this.#advance();
  }

  /** Returns the next changes to run together; undefined if none may run now. Call `finish` or `putBack` with them. */
  take(maxConcurrent: number): readonly RecordChange[] | undefined {
    const { isBatch, maxBatchSize } = this.#options;
    if (this.#running >= (isBatch ? 1 : maxConcurrent)) return undefined;
    const chosen: Entry[] = [];
    // A record whose earlier change waits in vain for its turn must not be overtaken by a later one.
    const passed = new Set(this.#busy);
    for (const entry of this.#entries) {
      if (entry.state !== 'waiting' || (!isBatch && passed.has(entry.change.recordId))) continue;
      chosen.push(entry);
      passed.add(entry.change.recordId);
      if (!isBatch || chosen.length === maxBatchSize) break;
    }
    if (chosen.length === 0) return undefined;
    for (const entry of chosen) {
      entry.state = 'running';
      this.#busy.add(entry.change.recordId);
    }
    this.#running += 1;
    return chosen.map(({ change }) => change);
  }

  finish(changes: readonly RecordChange[]): void {
    this.#settle(changes, 'finished');
    this.#advance();
  }

  /** The changes were not run, and wait again. */
  putBack(changes: readonly RecordChange[]): void {
    this.#settle(changes, 'waiting');
  }

  /** Reserves a record for a change that is not among the entries. Returns false if none may run now. Call `release` afterwards. */
  reserve(recordId: string, maxConcurrent: number): boolean {
    if (this.#running >= (this.#options.isBatch ? 1 : maxConcurrent) || this.#busy.has(recordId)) return false;
    this.#busy.add(recordId);
    this.#running += 1;
    return true;
  }

  release(recordId: string): void {
    this.#busy.delete(recordId);
    this.#running -= 1;
  }

  #settle(changes: readonly RecordChange[], state: 'finished' | 'waiting'): void {
    const settled = new Set(changes.map(({ position }) => position));
    for (const entry of this.#entries) if (settled.has(entry.change.position)) entry.state = state;
    for (const { recordId } of changes) this.#busy.delete(recordId);
    this.#running -= 1;
  }

  #advance(): void {
    const open = this.#entries.findIndex(({ state }) => state !== 'finished');
    this.#entries = open === -1 ? [] : this.#entries.slice(open);
    const [first] = this.#entries;
    this.#reached = first ? first.change.position - 1 : this.#readUpTo;
  }
}
