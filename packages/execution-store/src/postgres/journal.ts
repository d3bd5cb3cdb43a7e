import { GroupCommit, isRefusedByServer, type Database, type DatabaseIo } from '@drover/database';
import type { FencingTokens } from '@drover/ownership';
import { executionStoreFull, executionStoreStopped, partitionLost } from '../errors.js';
import { BinaryArrays } from './binary-arrays.js';
import { termsOf, writePartitionClaims, writeRowKeys } from './journal-row-keys.js';
import type { JournaledExecution, JournaledExecutions, OwnershipTerm, RetryRecord } from './journaled-executions.js';
import { appendToJournal, voidJournalRows, type AppendToJournal, type VoidJournalRows } from './statements/journal.js';

/** An entry that is to be written. */
export interface NewEntry {
  readonly execution: JournaledExecution;
  readonly text: string;
  /** The retry that the entry records; absent in the entry of the execution itself. */
  readonly retry?: RetryRecord;
}

/** Entries that are written together or not at all. */
export type JournalAppend = readonly NewEntry[];

/** A row that is to be written. */
interface NewRow {
  readonly term: OwnershipTerm;
  readonly number: number;
  text: string;
  readonly entries: NewEntry[];
}

/** A row whose write failed with an unknown outcome. */
type UnconfirmedRow = Pick<NewRow, 'term' | 'number'>;

export interface JournalOptions extends Pick<DatabaseIo, 'clock' | 'observe'> {
  readonly database: Database;
  readonly fencingTokens: FencingTokens;
  readonly journaled: JournaledExecutions;
  readonly nextRowNumber: () => number;
}

/** A larger statement would delay all callers behind it. */
const maxStatementBytes = 4_194_304;
const maxWaitingBytes = 134_217_728;

/**
 * Appends accepted executions and retries to the journal: one row per partition in each statement. A failed append is not retried; its
 * caller gets the error.
 *
 * A row whose write failed with an unknown outcome (connection lost) may exist. After a crash it would be recovered, although its
 * caller got an error and may have sent the call again with the same key. So the journal makes such rows void before it writes
 * anything else.
 */
export class Journal {
  readonly #options: JournalOptions;
  readonly #commits: GroupCommit<JournalAppend>;
  /** Buffers for coming statements. A statement needs its own until it is answered. */
  readonly #spareArrays: BinaryArrays[] = [];
  #voiding: Promise<void> | undefined;
  #unconfirmed: UnconfirmedRow[] = [];

  constructor(options: JournalOptions) {
    this.#options = options;
    this.#commits = new GroupCommit({
      name: 'execution-journal',
      clock: options.clock,
      observe: options.observe,
      write: (appends, reject) => this.#write(appends, reject),
      countOf: ({ length }) => length,
      bytesOf: textLength,
      maxConcurrent: 2,
      concurrentFrom: 24,
      maxBytes: maxStatementBytes,
      maxWaitingItems: Number.POSITIVE_INFINITY, // limited by bytes: an entry has more than a hundred
      maxWaitingBytes,
      full: ({ heldBytes }) => executionStoreFull({ waitingBytes: heldBytes, limitBytes: maxWaitingBytes }),
      stopped: () => executionStoreStopped({}),
    });
  }

  /** Resolves once the entries are durable. */
  append(entries: JournalAppend): Promise<void> {
    return this.#commits.add(entries);
  }

  drain(deadline: AbortSignal): Promise<void> {
    return this.#commits.drain(deadline);
  }

  stop(): Promise<void> {
    return this.#commits.stop();
  }

  /** Makes rows with an unknown outcome void. Maintenance calls it, too, for a journal that has nothing to write. */
  voidUnconfirmedRows(): Promise<void> {
    return (this.#voiding ??= this.#voidUnconfirmedRows().finally(() => (this.#voiding = undefined)));
  }

  async #voidUnconfirmedRows(): Promise<void> {
    const { database, journaled, clock } = this.#options;
    const seen = new Set(this.#unconfirmed);
    // A former owner's rows are the new owner's to recover.
    const rows = this.#unconfirmed.filter(({ term }) => this.#isCurrent(term));
    if (rows.length > 0) {
      rows.sort((a, b) => a.term.partition - b.term.partition);
      const arrays = new BinaryArrays();
      writePartitionClaims(arrays, termsOf(rows));
      writeRowKeys(arrays, rows);
      await voidJournalRows(database, arrays.values<VoidJournalRows>(5));
      for (const { term, number } of rows) {
        journaled.addRow(term, { token: term.token, number, total: 0, writtenAt: clock.now() });
      }
    }
    this.#unconfirmed = this.#unconfirmed.filter((row) => !seen.has(row));
  }

  async #write(
    appends: readonly JournalAppend[],
    reject: (append: JournalAppend, error: Error) => void,
  ): Promise<void> {
    // A statement beside this one may fail while rows are made void.
    while (this.#unconfirmed.length > 0) await this.voidUnconfirmedRows();
    let lost: ReadonlySet<number> = new Set();
    for (let remaining = appends; ; ) {
      let owned: OwnershipTerm | undefined; // most entries have the same term as the one before
      remaining = remaining.filter((append) => {
        const foreign = append.find(({ execution: { term } }) => {
          if (term === owned) return false;
          if (lost.has(term.partition) || !this.#isCurrent(term)) return true;
          owned = term;
          return false;
        });
        if (foreign) reject(append, partitionLost({ partition: foreign.execution.term.partition }));
        return !foreign;
      });
      if (remaining.length === 0) return;
      lost = await this.#send(this.#toRows(remaining));
      if (lost.size === 0) return;
    }
  }

  /** Makes one row per partition, in ascending order: all replicas take locks in this order. */
  #toRows(appends: readonly JournalAppend[]): readonly NewRow[] {
    const rows = new Map<number, NewRow>();
    for (const append of appends) {
      for (const entry of append) {
        const { term } = entry.execution;
        let row = rows.get(term.partition);
        if (!row) {
          row = { term, number: this.#options.nextRowNumber(), text: '', entries: [] };
          rows.set(term.partition, row);
        }
        row.text += entry.text;
        row.entries.push(entry);
      }
    }
    return [...rows.values()].toSorted((a, b) => a.term.partition - b.term.partition);
  }

  /** Writes the rows. Returns the partitions that this replica has lost; if there are any, nothing was written. */
  async #send(rows: readonly NewRow[]): Promise<ReadonlySet<number>> {
    const arrays = this.#spareArrays.pop() ?? new BinaryArrays();
    arrays.clear();
    arrays.begin('integer', rows.length);
    for (const { term } of rows) arrays.integer(term.partition);
    for (let array = 0; array < 2; array += 1) {
      // The token to check, and the token in the row's key.
      arrays.begin('bigint', rows.length);
      for (const { term } of rows) arrays.bigint(term.token);
    }
    arrays.begin('bigint', rows.length);
    for (const { number } of rows) arrays.bigint(number);
    arrays.begin('text', rows.length);
    for (const { text } of rows) arrays.text(text);
    try {
      const [answer] = await appendToJournal(this.#options.database, arrays.values<AppendToJournal>(5));
      if (answer && answer.lost.length > 0) return new Set(answer.lost);
    } catch (error) {
      if (!isRefusedByServer(error)) this.#unconfirmed.push(...rows.map(({ term, number }) => ({ term, number })));
      throw error;
    } finally {
      this.#spareArrays.push(arrays);
    }
    this.#recordWritten(rows);
    return new Set();
  }

  #recordWritten(rows: readonly NewRow[]): void {
    const { journaled, clock } = this.#options;
    const now = clock.now();
    for (const { term, number, entries } of rows) {
      const row = journaled.addRow(term, { token: term.token, number, total: entries.length, writtenAt: now });
      for (const { execution, retry } of entries) {
        if (retry) journaled.retryWritten(execution, retry, row, now);
        else journaled.entryWritten(execution, row, now);
      }
    }
  }

  #isCurrent({ partition, token }: OwnershipTerm): boolean {
    return this.#options.fencingTokens.heldTokenOf(partition) === token;
  }
}

function textLength(entries: JournalAppend): number {
  let length = 0;
  for (const { text } of entries) length += text.length;
  return length;
}
