import type { AcceptedCall } from '@drover/contracts';
import type { Database } from '@drover/database';
import type { FencingTokens } from '@drover/ownership';
import type { Clock } from '@drover/service-kit';
import { journalUnreadable, partitionLost } from '../errors.js';
import { mayHaveStarted, type FailedAttempt, type UnfinishedExecution } from '../execution.js';
import { BinaryArrays } from './binary-arrays.js';
import { readEntries, retryEntry, type JournalEntry } from './journal-entry.js';
import type { Journal } from './journal.js';
import {
  newOwnershipTerm,
  type JournaledExecution,
  type JournaledExecutions,
  type JournalRow,
  type OwnershipTerm,
} from './journaled-executions.js';
import { awaitFormerOwners, filterArchived, readJournal, type FilterArchived } from './statements/recovery.js';

export interface RecoveryOptions {
  readonly database: Database;
  readonly fencingTokens: FencingTokens;
  readonly journaled: JournaledExecutions;
  readonly journal: Journal;
  readonly clock: Clock;
}

/** All that the journal has about one execution. */
interface FoundExecution {
  entry?: { readonly accepted: AcceptedCall; readonly row: JournalRow };
  retryRow?: JournalRow;
  /** The attempts in `retryRow`. */
  retryAttempts: number;
  /** The highest number of attempts in any entry, and the failures that came with it. */
  attempts: number;
  failures: readonly FailedAttempt[];
}

const archivedPerQuery = 2_000;
const retriesPerAppend = 5_000;

/** Recovers partitions: executions that are in the journal of the former owners, and not in the archive, are still to run. */
export class Recovery {
  readonly #options: RecoveryOptions;

  constructor(options: RecoveryOptions) {
    this.#options = options;
  }

  async recover(partitions: readonly number[]): Promise<readonly UnfinishedExecution[]> {
    const { database, fencingTokens, journaled } = this.#options;
    const sorted = partitions.toSorted((a, b) => a - b);
    const terms = sorted.map((partition) => {
      const token = fencingTokens.tokenOf(partition);
      if (token === undefined) throw partitionLost({ partition });
      return newOwnershipTerm(partition, token);
    });
    const [answer] = await awaitFormerOwners(database, [sorted, terms.map(({ token }) => token)]);
    for (const partition of answer?.lost ?? []) throw partitionLost({ partition });
    const recovered: JournaledExecution[] = [];
    for (const term of terms) recovered.push(...(await this.#recoverTerm(term)));
    await this.#recordAttempts(recovered);
    for (const term of terms) journaled.install(term);
    return recovered
      .map(({ accepted, attempts, failures }) => ({ accepted, attempts, failures }))
      .toSorted((a, b) => (a.accepted.executionId < b.accepted.executionId ? -1 : 1));
  }

  async #recoverTerm(term: OwnershipTerm): Promise<JournaledExecution[]> {
    const { journaled } = this.#options;
    const found = await this.#readRows(term);
    const archived = await this.#archivedOf(found);
    const recovered: JournaledExecution[] = [];
    for (const [executionId, { entry, retryRow, attempts, failures }] of found) {
      if (!entry || archived.has(executionId)) continue;
      const execution = journaled.add(term, entry.accepted, attempts, failures);
      for (const row of [entry.row, retryRow]) if (row) row.needed += 1;
      execution.row = entry.row;
      execution.retryRow = retryRow;
      recovered.push(execution);
    }
    // It is unknown when the other executions of such a row ended: until it is replaced, nothing may leave the archive.
    for (const row of term.rows) if (row.needed < row.total) row.firstFinishedAt = 0;
    return recovered;
  }

  /** Reads all rows of a partition, page by page. */
  async #readRows(term: OwnershipTerm): Promise<ReadonlyMap<string, FoundExecution>> {
    const { database, journaled, clock } = this.#options;
    const { partition } = term;
    const found = new Map<string, FoundExecution>();
    let last = { token: -1, number: -1 };
    for (;;) {
      const rows = await readJournal(database, [partition, last.token, last.number]);
      for (const { token, number, entries: text } of rows) {
        last = { token, number };
        const entries = this.#parse(text, partition, token, number);
        const row = journaled.addRow(term, { token, number, total: entries.length, writtenAt: clock.now() });
        row.needed = 0; // counted once the archive was asked
        for (const entry of entries) collect(found, entry, row);
      }
      if (rows.length === 0) return found;
    }
  }

  #parse(text: string, partition: number, token: number, number: number): JournalEntry[] {
    try {
      return readEntries(text);
    } catch (error) {
      const problem = error instanceof Error ? error.message : String(error);
      throw journalUnreadable({ partition, token, number, problem }, error);
    }
  }

  async #archivedOf(found: ReadonlyMap<string, FoundExecution>): Promise<ReadonlySet<string>> {
    const archived = new Set<string>();
    const calls = [...found.values()].flatMap(({ entry }) => (entry ? [entry.accepted] : []));
    for (let at = 0; at < calls.length; at += archivedPerQuery) {
      const page = calls.slice(at, at + archivedPerQuery);
      const arrays = new BinaryArrays();
      arrays.begin('text', page.length);
      for (const { tenantId } of page) arrays.text(tenantId);
      arrays.begin('uuid', page.length);
      for (const { executionId } of page) arrays.uuid(executionId);
      const rows = await filterArchived(this.#options.database, arrays.values<FilterArchived>(2));
      for (const row of rows) archived.add(row.execution_id);
    }
    return archived;
  }

  /** An attempt may have started after the last recorded one. It counts as used, so that numbers grow from owner to owner. */
  async #recordAttempts(recovered: readonly JournaledExecution[]): Promise<void> {
    const now = this.#options.clock.now();
    const started = recovered.filter(({ accepted }) => mayHaveStarted(accepted, now));
    for (const execution of started) execution.attempts += 1;
    for (let at = 0; at < started.length; at += retriesPerAppend) {
      const entries = started.slice(at, at + retriesPerAppend).map((execution) => {
        const { attempts } = execution;
        return { execution, text: retryEntry(execution.accepted.executionId, attempts), retry: { attempts } };
      });
      await this.#options.journal.append(entries);
    }
  }
}

/** Adds an entry to what is known. Statements may overlap, so rows are not always in the order of their contents. */
function collect(found: Map<string, FoundExecution>, entry: JournalEntry, row: JournalRow): void {
  const executionId = entry.kind === 'accepted' ? entry.accepted.executionId : entry.executionId;
  const known = found.get(executionId) ?? { retryAttempts: 0, attempts: 0, failures: [] };
  found.set(executionId, known);
  if (entry.kind === 'accepted') known.entry = { accepted: entry.accepted, row };
  else if (entry.attempts >= known.retryAttempts) {
    known.retryRow = row;
    known.retryAttempts = entry.attempts;
  }
  if (entry.attempts < known.attempts) return;
  known.attempts = entry.attempts;
  if (entry.failures && entry.failures.length > 0) known.failures = entry.failures;
}
