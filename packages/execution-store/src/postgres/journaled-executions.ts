import type { AcceptedCall } from '@drover/contracts';
import type { FailedAttempt } from '../execution.js';

/** The time in which this replica owns a partition under one fencing token. */
export interface OwnershipTerm {
  readonly partition: number;
  readonly token: number;
  /** Accepted executions that have not ended, by id. */
  readonly executions: Map<string, JournaledExecution>;
  /** All rows that the journal has of the partition. */
  readonly rows: Set<JournalRow>;
}

export function newOwnershipTerm(partition: number, token: number): OwnershipTerm {
  return { partition, token, executions: new Map(), rows: new Set() };
}

/** A row of the journal. An entry of it is needed until its execution has ended or the entry was written again elsewhere. */
export interface JournalRow {
  readonly term: OwnershipTerm;
  /** The fencing token under which the row was written, perhaps by a former owner. */
  readonly token: number;
  readonly number: number;
  /** How many entries the row was written with. */
  readonly total: number;
  /** Epoch milliseconds. */
  readonly writtenAt: number;
  /** How many entries are still needed. With none left the row is obsolete. */
  needed: number;
  /** The earliest end of an execution whose entry is in the row. Executions that ended at or after it must stay in the archive. */
  firstFinishedAt: number;
}

/** An execution whose acceptance was sent to the journal. */
export interface JournaledExecution {
  readonly term: OwnershipTerm;
  readonly accepted: AcceptedCall;
  attempts: number;
  failures: readonly FailedAttempt[];
  /** The row with its entry, once that is durable. */
  row: JournalRow | undefined;
  /** The row with the latest record of a retry. */
  retryRow: JournalRow | undefined;
  /** Set once the end is durable. */
  finishedAt: number | undefined;
}

/** The attempts that were used so far. Without `failures` the failures recorded before are still the latest. */
export interface RetryRecord {
  readonly attempts: number;
  readonly failures?: readonly FailedAttempt[];
}

/**
 * The contents of the journal, as far as this replica owns them: which executions have not ended, and how many entries of each row are
 * still needed. Answers of the database may arrive in any order: an end before the acceptance, a later retry before an earlier one.
 */
export class JournaledExecutions {
  readonly #terms = new Map<number, OwnershipTerm>();
  #obsolete: JournalRow[] = [];

  get terms(): Iterable<OwnershipTerm> {
    return this.#terms.values();
  }

  /** Returns the term under this token, once its partition is recovered. */
  term(partition: number, token: number | undefined): OwnershipTerm | undefined {
    const known = this.#terms.get(partition);
    return known?.token === token ? known : undefined;
  }

  /** Makes a recovered term the current one of its partition. */
  install(term: OwnershipTerm): void {
    this.#terms.set(term.partition, term);
    for (const row of term.rows) if (row.needed === 0) this.#obsolete.push(row);
  }

  find(partition: number, executionId: string): JournaledExecution | undefined {
    return this.#terms.get(partition)?.executions.get(executionId);
  }

  /** Forgets terms that are over, and their rows. */
  dropEndedTerms(isCurrent: (term: OwnershipTerm) => boolean): void {
    for (const term of this.#terms.values()) if (!isCurrent(term)) this.#terms.delete(term.partition);
    this.#obsolete = this.#obsolete.filter(({ term }) => this.#terms.get(term.partition) === term);
  }

  /** Adds an execution before it is durable, so that an end that is quicker than the journal's answer finds it. */
  add(
    term: OwnershipTerm,
    accepted: AcceptedCall,
    attempts = 0,
    failures: readonly FailedAttempt[] = [],
  ): JournaledExecution {
    const execution: JournaledExecution = {
      term,
      accepted,
      attempts,
      failures,
      row: undefined,
      retryRow: undefined,
      finishedAt: undefined,
    };
    term.executions.set(accepted.executionId, execution);
    return execution;
  }

  /** Removes an execution whose acceptance could not be written. */
  remove({ term, accepted }: JournaledExecution): void {
    term.executions.delete(accepted.executionId);
  }

  addRow(term: OwnershipTerm, of: Pick<JournalRow, 'token' | 'number' | 'total' | 'writtenAt'>): JournalRow {
    const row: JournalRow = { term, ...of, needed: of.total, firstFinishedAt: Number.POSITIVE_INFINITY };
    term.rows.add(row);
    return row;
  }

  /** Records that the entry of an execution is durable in `row`, perhaps in place of another row. */
  entryWritten(execution: JournaledExecution, row: JournalRow, at: number): void {
    if (execution.finishedAt !== undefined) return this.#releaseEntry(row, execution.finishedAt);
    const former = execution.row;
    execution.row = row;
    if (former) this.#releaseEntry(former, at);
  }

  /** Records that a retry is durable in `row`. Only the one with the most attempts is needed. */
  retryWritten(execution: JournaledExecution, { attempts, failures }: RetryRecord, row: JournalRow, at: number): void {
    if (execution.finishedAt !== undefined) return this.#releaseEntry(row, execution.finishedAt);
    if (attempts < execution.attempts) return this.#releaseEntry(row, at);
    execution.attempts = attempts;
    if (failures) execution.failures = failures;
    const former = execution.retryRow;
    execution.retryRow = row;
    if (former) this.#releaseEntry(former, at);
  }

  /** Releases the record of a retry that is part of the execution's entry by now, unless a newer one took its place. */
  releaseRetry(execution: JournaledExecution, retryRow: JournalRow | undefined, at: number): void {
    if (!retryRow || execution.retryRow !== retryRow) return;
    execution.retryRow = undefined;
    this.#releaseEntry(retryRow, at);
  }

  /** Records that the end of an execution is durable. Does nothing the second time. */
  finish(execution: JournaledExecution, finishedAt: number): void {
    if (execution.finishedAt !== undefined) return;
    execution.finishedAt = finishedAt;
    execution.term.executions.delete(execution.accepted.executionId);
    if (execution.row) this.#releaseEntry(execution.row, finishedAt);
    if (execution.retryRow) this.#releaseEntry(execution.retryRow, finishedAt);
  }

  /** Forgets a row that was deleted from the database. */
  removeRow(row: JournalRow): void {
    row.term.rows.delete(row);
  }

  /** Takes up to `limit` obsolete rows. The caller must delete them from the database, or return them. */
  takeObsoleteRows(limit: number): JournalRow[] {
    return this.#obsolete.splice(0, limit);
  }

  returnObsoleteRows(rows: readonly JournalRow[]): void {
    this.#obsolete.push(...rows);
  }

  #releaseEntry(row: JournalRow, finishedAt: number): void {
    row.needed -= 1;
    row.firstFinishedAt = Math.min(row.firstFinishedAt, finishedAt);
    if (row.needed === 0 && row.term.rows.has(row)) this.#obsolete.push(row);
  }
}
