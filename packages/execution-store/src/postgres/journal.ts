import { GroupCommit, isRefusedByServer, prepared, type Database, type DatabaseIo } from '@drover/database';
import type { FencingTokens } from '@drover/ownership';
import { executionHomeLost, executionStoreFull, executionStoreStopped } from '../errors.js';
import { BinaryArrays } from './binary-arrays.js';
import type { LiveExecution, LiveExecutions, Note, Tenure } from './live-executions.js';

/** One entry on its way into the journal. */
export interface NewEntry {
  readonly live: LiveExecution;
  readonly text: string;
  /** What it says, unless it is the entry of the execution itself. */
  readonly note?: Note;
}

/** Entries that are written together or not at all. */
export type Append = readonly NewEntry[];

/** A journal row to be. */
interface NewRow {
  readonly tenure: Tenure;
  readonly number: number;
  text: string;
  readonly entries: NewEntry[];
}

/** The name of a row that may or may not have been written. */
type Doubtful = Pick<NewRow, 'tenure' | 'number'>;

export interface JournalOptions extends Pick<DatabaseIo, 'clock' | 'observe'> {
  readonly database: Database;
  readonly fencingTokens: FencingTokens;
  readonly live: LiveExecutions;
  readonly nextNumber: () => number;
}

const appendStatement = prepared(
  'execution-journal-append',
  'select drover.append_to_execution_journal($1, $2, $3, $4, $5) as lost',
);
const voidStatement = prepared(
  'execution-journal-void',
  'select drover.void_execution_journal($1, $2, $3, $4, $5) as lost',
);

/** Statements of a few megabytes: large ones hold up everybody behind them. */
const maxStatementBytes = 4_194_304;
/** What waits here is what callers wait for. */
const maxWaitingBytes = 134_217_728;

/**
 * Accepted executions and notes on them, one row for each partition of a statement. A write that failed is not tried
 * again: its caller hears of it. When no answer came it may have been written all the same, and would come to light
 * after a crash, when the caller has perhaps asked again with the same key: so its rows are made void before anything
 * else is written.
 */
export class Journal {
  readonly #options: JournalOptions;
  readonly #commits: GroupCommit<Append>;
  /** For statements that are to come: each needs its own until it has gone out. */
  readonly #spareArrays: BinaryArrays[] = [];
  #settling: Promise<void> | undefined;
  #doubtful: Doubtful[] = [];

  constructor(options: JournalOptions) {
    this.#options = options;
    this.#commits = new GroupCommit({
      name: 'execution-journal',
      clock: options.clock,
      observe: options.observe,
      write: (items, refuse) => this.#write(items, refuse),
      countOf: ({ length }) => length,
      bytesOf: textLength,
      maxConcurrent: 2,
      concurrentFrom: 24,
      maxBytes: maxStatementBytes,
      maxWaitingItems: Number.POSITIVE_INFINITY,
      maxWaitingBytes,
      full: ({ heldBytes }) => executionStoreFull({ waitingBytes: heldBytes, limitBytes: maxWaitingBytes }),
      stopped: () => executionStoreStopped({}),
    });
  }

  append(entries: Append): Promise<void> {
    return this.#commits.add(entries);
  }

  drain(deadline: AbortSignal): Promise<void> {
    return this.#commits.drain(deadline);
  }

  stop(): Promise<void> {
    return this.#commits.stop();
  }

  /** Sees to writes whose answer never came, also when nothing else is to be written. */
  settleDoubts(): Promise<void> {
    return (this.#settling ??= this.#settleDoubts().finally(() => (this.#settling = undefined)));
  }

  async #settleDoubts(): Promise<void> {
    const { database, live: executions, clock } = this.#options;
    const asked = new Set(this.#doubtful);
    const doubtful = this.#doubtful.filter(({ tenure }) => this.#isCurrent(tenure));
    if (doubtful.length > 0) {
      doubtful.sort((a, b) => a.tenure.partition - b.tenure.partition);
      const homes = new Map(doubtful.map(({ tenure }) => [tenure.partition, tenure]));
      const arrays = new BinaryArrays();
      arrays.begin('integer', homes.size);
      for (const { partition } of homes.values()) arrays.integer(partition);
      arrays.begin('bigint', homes.size);
      for (const { token } of homes.values()) arrays.bigint(token);
      writeNames(arrays, doubtful);
      await database.query(voidStatement, arrays.values());
      for (const { tenure, number } of doubtful) {
        executions.addRow(tenure, { token: tenure.token, number, total: 0, writtenAt: clock.now() });
      }
    }
    this.#doubtful = this.#doubtful.filter((row) => !asked.has(row));
  }

  async #write(items: readonly Append[], refuse: (item: Append, error: Error) => void): Promise<void> {
    // Again, should another write have failed meanwhile.
    while (this.#doubtful.length > 0) await this.settleDoubts();
    let lost: ReadonlySet<number> = new Set();
    for (let current = items; ; ) {
      let good: Tenure | undefined; // most have the same as the one before
      current = current.filter((item) => {
        const strange = item.find(({ live: { tenure } }) => {
          if (tenure === good) return false;
          if (lost.has(tenure.partition) || !this.#isCurrent(tenure)) return true;
          good = tenure;
          return false;
        });
        if (strange) refuse(item, executionHomeLost({ partition: strange.live.tenure.partition }));
        return !strange;
      });
      if (current.length === 0) return;
      lost = await this.#send(this.#toRows(current));
      if (lost.size === 0) return;
    }
  }

  /** One row for each partition. */
  #toRows(items: readonly Append[]): readonly NewRow[] {
    const rows = new Map<number, NewRow>();
    for (const item of items) {
      for (const entry of item) {
        const { tenure } = entry.live;
        let row = rows.get(tenure.partition);
        if (!row) {
          row = { tenure, number: this.#options.nextNumber(), text: '', entries: [] };
          rows.set(tenure.partition, row);
        }
        row.text += entry.text;
        row.entries.push(entry);
      }
    }
    // Locks are taken in this order, by everybody.
    return [...rows.values()].toSorted((a, b) => a.tenure.partition - b.tenure.partition);
  }

  /** Returns partitions that are not ours any more, in which case nothing was written. */
  async #send(rows: readonly NewRow[]): Promise<ReadonlySet<number>> {
    const arrays = this.#spareArrays.pop() ?? new BinaryArrays();
    arrays.clear();
    arrays.begin('integer', rows.length);
    for (const { tenure } of rows) arrays.integer(tenure.partition);
    for (let twice = 0; twice < 2; twice += 1) {
      // the claim, and the name of the row
      arrays.begin('bigint', rows.length);
      for (const { tenure } of rows) arrays.bigint(tenure.token);
    }
    arrays.begin('bigint', rows.length);
    for (const { number } of rows) arrays.bigint(number);
    arrays.begin('text', rows.length);
    for (const { text } of rows) arrays.text(text);
    try {
      const [answer] = await this.#options.database.query<{ lost: number[] }>(appendStatement, arrays.values());
      if (answer && answer.lost.length > 0) return new Set(answer.lost);
    } catch (error) {
      if (!isRefusedByServer(error)) this.#doubtful.push(...rows.map(({ tenure, number }) => ({ tenure, number })));
      throw error;
    } finally {
      this.#spareArrays.push(arrays);
    }
    this.#settle(rows);
    return new Set();
  }

  #settle(rows: readonly NewRow[]): void {
    const { live: executions, clock } = this.#options;
    const now = clock.now();
    for (const { tenure, number, entries } of rows) {
      const of = { token: tenure.token, number, total: entries.length, writtenAt: now };
      const row = executions.addRow(tenure, of);
      for (const { live, note } of entries) {
        if (note) executions.note(live, note, row, now);
        else executions.enter(live, row, now);
      }
    }
  }

  #isCurrent({ partition, token }: Tenure): boolean {
    return this.#options.fencingTokens.tokenOf(partition) === token;
  }
}

function textLength(entries: Append): number {
  let length = 0;
  for (const { text } of entries) length += text.length;
  return length;
}

/** Partitions, tokens and numbers, as three arrays. */
export function writeNames(
  arrays: BinaryArrays,
  rows: readonly { readonly tenure: Tenure; readonly token?: number; readonly number: number }[],
): void {
  arrays.begin('integer', rows.length);
  for (const { tenure } of rows) arrays.integer(tenure.partition);
  arrays.begin('bigint', rows.length);
  for (const { tenure, token = tenure.token } of rows) arrays.bigint(token);
  arrays.begin('bigint', rows.length);
  for (const { number } of rows) arrays.bigint(number);
}
