import type { Database } from '@drover/database';
import type { FencingTokens } from '@drover/ownership';
import type { Clock } from '@drover/service-kit';
import { BinaryArrays } from './binary-arrays.js';
import { acceptedEntry } from './journal-entry.js';
import { termsOf, writePartitionClaims, writeRowKeys } from './journal-row-keys.js';
import type { JournaledExecution, JournaledExecutions, JournalRow, OwnershipTerm } from './journaled-executions.js';
import { replaceJournalRows, type ReplaceJournalRows } from './statements/journal.js';

export interface JournalCompactionOptions {
  readonly database: Database;
  readonly fencingTokens: FencingTokens;
  readonly journaled: JournaledExecutions;
  readonly nextRowNumber: () => number;
  readonly ttlMs: number;
  readonly clock: Clock;
}

/** A row that replaces others, with the entries that are still needed. */
interface Replacement {
  readonly term: OwnershipTerm;
  readonly number: number;
  text: string;
  readonly entries: { readonly execution: JournaledExecution; readonly retryRow: JournalRow | undefined }[];
}

/** One statement. A retry must send the same rows, since the first try may have been committed. */
interface CompactionPlan {
  readonly deleted: readonly JournalRow[];
  readonly replacements: readonly Replacement[];
}

/** Most executions have ended by this age; entries still needed then belong to executions that wait long. */
const settledMs = 60_000;
/** By this age an unconfirmed write has failed for good, so the empty row that took its key can be deleted. */
const voidMs = 600_000;
const maxRowCharacters = 262_144;
const maxPlanCharacters = 4_194_304;
const maxPlanRows = 1_000;

/**
 * Replaces journal rows of which few entries are needed by fuller ones. Rows with entries of executions that ended long ago are
 * replaced, too: as long as such an entry exists, its execution must stay in the archive.
 */
export class JournalCompaction {
  readonly #options: JournalCompactionOptions;
  #plan: CompactionPlan | undefined;

  constructor(options: JournalCompactionOptions) {
    this.#options = options;
  }

  async run(): Promise<void> {
    for (;;) {
      this.#plan ??= this.#makePlan();
      if (!this.#plan) return;
      await this.#carryOut(this.#plan);
      this.#plan = undefined;
    }
  }

  #makePlan(): CompactionPlan | undefined {
    const { journaled } = this.#options;
    const deleted = journaled.takeObsoleteRows(maxPlanRows).filter(({ term }) => this.#isCurrent(term));
    const replacements: Replacement[] = [];
    let characters = 0;
    for (const term of journaled.terms) {
      if (!this.#isCurrent(term)) continue;
      const sparse = this.#sparseRows(term, maxPlanRows - deleted.length);
      if (sparse.size === 0) continue;
      const added = this.#replace(term, sparse);
      replacements.push(...added);
      deleted.push(...sparse);
      characters += added.reduce((sum, { text }) => sum + text.length, 0);
      if (characters > maxPlanCharacters || deleted.length >= maxPlanRows) break;
    }
    return deleted.length > 0 ? { deleted, replacements } : undefined;
  }

  #sparseRows(term: OwnershipTerm, limit: number): Set<JournalRow> {
    const now = this.#options.clock.now();
    const maxHeldMs = Math.max(settledMs, this.#options.ttlMs / 2);
    const sparse = new Set<JournalRow>();
    let characters = 0;
    for (const row of term.rows) {
      if (sparse.size >= limit || characters > maxPlanCharacters) break;
      const ageMs = now - row.writtenAt;
      // Full rows stay, except old void ones; obsolete ones are deleted anyway.
      if (row.needed === row.total ? row.total > 0 || ageMs < voidMs : row.needed === 0) continue;
      const isSparse = row.needed * 2 <= row.total && ageMs >= settledMs;
      if (!isSparse && now - row.firstFinishedAt < maxHeldMs) continue;
      sparse.add(row);
      characters += 256 * row.needed; // an estimate: the text of entries is not in memory
    }
    return sparse;
  }

  /** Moves entries to new rows. A recorded retry becomes part of the entry, so rows with nothing but retries disappear. */
  #replace(term: OwnershipTerm, sparse: ReadonlySet<JournalRow>): Replacement[] {
    const replacements: Replacement[] = [];
    let current: Replacement | undefined;
    for (const execution of term.executions.values()) {
      const { row, retryRow } = execution;
      if (!row || !(sparse.has(row) || (retryRow && sparse.has(retryRow)))) continue;
      if (!current || current.text.length > maxRowCharacters) {
        current = { term, number: this.#options.nextRowNumber(), text: '', entries: [] };
        replacements.push(current);
      }
      current.text += acceptedEntry(execution.accepted, execution.attempts, execution.failures);
      current.entries.push({ execution, retryRow });
    }
    return replacements;
  }

  async #carryOut(plan: CompactionPlan): Promise<void> {
    const lost = new Set<number>();
    // New owners of lost partitions have read the rows as they were. The rest of the plan still applies.
    const isOwned = ({ term }: { readonly term: OwnershipTerm }): boolean =>
      !lost.has(term.partition) && this.#isCurrent(term);
    for (;;) {
      const deleted = plan.deleted.filter(isOwned);
      const replacements = plan.replacements.filter(isOwned);
      if (deleted.length === 0) return;
      const lostNow = await this.#send(deleted, replacements);
      if (lostNow.length === 0) return this.#recordReplaced(deleted, replacements);
      for (const partition of lostNow) lost.add(partition);
    }
  }

  async #send(deleted: readonly JournalRow[], replacements: readonly Replacement[]): Promise<readonly number[]> {
    const arrays = new BinaryArrays();
    writePartitionClaims(arrays, termsOf(deleted));
    writeRowKeys(arrays, deleted);
    writeRowKeys(arrays, replacements);
    arrays.begin('text', replacements.length);
    for (const { text } of replacements) arrays.text(text);
    const [answer] = await replaceJournalRows(this.#options.database, arrays.values<ReplaceJournalRows>(9));
    return answer?.lost ?? [];
  }

  #recordReplaced(deleted: readonly JournalRow[], replacements: readonly Replacement[]): void {
    const { journaled, clock } = this.#options;
    const now = clock.now();
    for (const row of deleted) journaled.removeRow(row);
    for (const { term, number, entries } of replacements) {
      const row = journaled.addRow(term, { token: term.token, number, total: entries.length, writtenAt: now });
      for (const { execution, retryRow } of entries) {
        journaled.entryWritten(execution, row, now);
        journaled.releaseRetry(execution, retryRow, now);
      }
    }
  }

  #isCurrent({ partition, token }: OwnershipTerm): boolean {
    return this.#options.fencingTokens.heldTokenOf(partition) === token;
  }
}
