import { prepared, type Database } from '@drover/database';
import type { Clock } from '@drover/service-kit';
import type { FencingTokens } from '@drover/ownership';
import { BinaryArrays } from './binary-arrays.js';
import { acceptedEntry } from './journal-entry.js';
import { writeNames } from './journal.js';
import type { JournalRow, LiveExecution, LiveExecutions, Tenure } from './live-executions.js';

export interface JournalRewriteOptions {
  readonly database: Database;
  readonly fencingTokens: FencingTokens;
  readonly live: LiveExecutions;
  readonly nextNumber: () => number;
  readonly ttlMs: number;
  readonly clock: Clock;
}

/** A row that takes the place of others, with what is left of them. */
interface Replacement {
  readonly tenure: Tenure;
  readonly number: number;
  text: string;
  readonly entries: { readonly live: LiveExecution; readonly note: JournalRow | undefined }[];
}

/** One statement. It stays the same when it has to be said again, since its first time may have been heard. */
interface Plan {
  readonly gone: readonly JournalRow[];
  readonly replacements: readonly Replacement[];
}

const rewriteStatement = prepared(
  'execution-journal-rewrite',
  'select drover.rewrite_execution_journal($1, $2, $3, $4, $5, $6, $7, $8, $9) as lost',
);

/** Most executions are over by then: what is left belongs to those that wait long. */
const settledMs = 60_000;
/** A write without an answer has come to its end by then, so that the row which takes its name can go. */
const voidMs = 600_000;
const charactersInRow = 262_144;
const charactersAtOnce = 4_194_304;
const rowsAtOnce = 1_000;

/**
 * Rows of the journal of which little is left are replaced by fuller ones, and so are, before long, all that hold entries
 * of executions that have ended: as long as such an entry is there, its execution may not leave the archive.
 */
export class JournalRewrite {
  readonly #options: JournalRewriteOptions;
  #plan: Plan | undefined;

  constructor(options: JournalRewriteOptions) {
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

  #makePlan(): Plan | undefined {
    const { live } = this.#options;
    const gone = live.takeGone(rowsAtOnce).filter(({ tenure }) => this.#isCurrent(tenure));
    const replacements: Replacement[] = [];
    let characters = 0;
    for (const tenure of live.tenures) {
      if (!this.#isCurrent(tenure)) continue;
      const sparse = this.#sparseRows(tenure, rowsAtOnce - gone.length);
      if (sparse.size === 0) continue;
      const added = this.#replace(tenure, sparse);
      replacements.push(...added);
      gone.push(...sparse);
      characters += added.reduce((sum, { text }) => sum + text.length, 0);
      if (characters > charactersAtOnce || gone.length >= rowsAtOnce) break;
    }
    return gone.length > 0 ? { gone, replacements } : undefined;
  }

  #sparseRows(tenure: Tenure, most: number): Set<JournalRow> {
    const now = this.#options.clock.now();
    const heldMs = Math.max(settledMs, this.#options.ttlMs / 2);
    const sparse = new Set<JournalRow>();
    let characters = 0;
    for (const row of tenure.rows) {
      if (sparse.size >= most || characters > charactersAtOnce) break;
      const ageMs = now - row.writtenAt;
      if (row.left === row.total ? row.total > 0 || ageMs < voidMs : row.left === 0) continue;
      const isSparse = row.left * 2 <= row.total && ageMs >= settledMs;
      if (!isSparse && now - row.firstFinishedAt < heldMs) continue;
      sparse.add(row);
      characters += 256 * row.left; // about; what they hold is not at hand here
    }
    return sparse;
  }

  /** Entries move into new rows. A row with nothing but notes goes, too: what they say goes into the entries. */
  #replace(tenure: Tenure, sparse: ReadonlySet<JournalRow>): Replacement[] {
    const replacements: Replacement[] = [];
    let current: Replacement | undefined;
    for (const live of tenure.live.values()) {
      if (!live.row || !(sparse.has(live.row) || (live.note && sparse.has(live.note)))) continue;
      if (!current || current.text.length > charactersInRow) {
        current = { tenure, number: this.#options.nextNumber(), text: '', entries: [] };
        replacements.push(current);
      }
      current.text += acceptedEntry(live.accepted, live.attempts, live.failures);
      current.entries.push({ live, note: live.note });
    }
    return replacements;
  }

  async #carryOut(plan: Plan): Promise<void> {
    const lost = new Set<number>();
    // Of the lost ones the new home has read whatever there is; what is left of the plan still has to be told.
    const isOurs = ({ tenure }: { readonly tenure: Tenure }): boolean =>
      !lost.has(tenure.partition) && this.#isCurrent(tenure);
    for (;;) {
      const gone = plan.gone.filter(isOurs);
      const replacements = plan.replacements.filter(isOurs);
      if (gone.length === 0) return;
      const answer = await this.#send(gone, replacements);
      if (answer.length === 0) return this.#settle(gone, replacements);
      for (const partition of answer) lost.add(partition);
    }
  }

  async #send(gone: readonly JournalRow[], replacements: readonly Replacement[]): Promise<readonly number[]> {
    const claims = new Map(gone.map(({ tenure }) => [tenure.partition, tenure.token]));
    const partitions = [...claims.keys()].toSorted((a, b) => a - b);
    const arrays = new BinaryArrays();
    arrays.begin('integer', partitions.length);
    for (const partition of partitions) arrays.integer(partition);
    arrays.begin('bigint', partitions.length);
    for (const partition of partitions) arrays.bigint(claims.get(partition) ?? 0);
    writeNames(arrays, gone);
    writeNames(arrays, replacements);
    arrays.begin('text', replacements.length);
    for (const { text } of replacements) arrays.text(text);
    const [answer] = await this.#options.database.query<{ lost: number[] }>(rewriteStatement, arrays.values());
    return answer?.lost ?? [];
  }

  #settle(gone: readonly JournalRow[], replacements: readonly Replacement[]): void {
    const { live: executions, clock } = this.#options;
    const now = clock.now();
    for (const row of gone) executions.removeRow(row);
    for (const { tenure, number, entries } of replacements) {
      const row = executions.addRow(tenure, { token: tenure.token, number, total: entries.length, writtenAt: now });
      for (const { live, note } of entries) {
        executions.enter(live, row, now);
        executions.dropNote(live, note, now);
      }
    }
  }

  #isCurrent({ partition, token }: Tenure): boolean {
    return this.#options.fencingTokens.tokenOf(partition) === token;
  }
}
