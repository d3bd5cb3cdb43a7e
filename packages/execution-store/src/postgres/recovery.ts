import { prepared, type Database } from '@drover/database';
import type { Clock } from '@drover/service-kit';
import type { FencingTokens } from '@drover/ownership';
import type { AcceptedCall } from '@drover/contracts';
import { executionHomeLost, journalUnreadable } from '../errors.js';
import type { FailedAttempt, UnfinishedExecution } from '../execution-store.js';
import { mayHaveBegun } from '../may-have-begun.js';
import { BinaryArrays } from './binary-arrays.js';
import { readEntries, triedEntry, type JournalEntry } from './journal-entry.js';
import type { Journal } from './journal.js';
import { newTenure, type JournalRow, type LiveExecution, type LiveExecutions, type Tenure } from './live-executions.js';

export interface RecoveryOptions {
  readonly database: Database;
  readonly fencingTokens: FencingTokens;
  readonly live: LiveExecutions;
  readonly journal: Journal;
  readonly clock: Clock;
}

/** What the journal says of one execution. */
interface Found {
  entry?: { readonly accepted: AcceptedCall; readonly row: JournalRow };
  note?: JournalRow;
  noted: number;
  /** As many as anybody knows of, and what became of them. */
  attempts: number;
  failures: readonly FailedAttempt[];
}

const barrierStatement = prepared('execution-barrier', 'select drover.await_former_execution_homes($1, $2) as lost');
// Some megabytes at a time, however large or small the rows are.
const readStatement = prepared(
  'execution-journal-read',
  `select token, number, entries from (
     select token, number, entries, sum(octet_length(entries)) over (order by token, number) - octet_length(entries) as before
     from drover.execution_journal where partition = $1 and (token, number) > ($2, $3) order by token, number limit 1000
   ) as page where before < 8388608 order by token, number`,
);
const archivedStatement = prepared(
  'execution-archived',
  `select asked.execution_id from unnest($1::text[], $2::uuid[]) as asked (tenant_id, execution_id)
   join drover.executions using (tenant_id, execution_id)`,
);
const archivedAtOnce = 2_000;
const notedAtOnce = 5_000;

/** Goes on where the former home of a partition stopped: what is in its journal and not in the archive is still to run. */
export class Recovery {
  readonly #options: RecoveryOptions;

  constructor(options: RecoveryOptions) {
    this.#options = options;
  }

  async recover(partitions: readonly number[]): Promise<readonly UnfinishedExecution[]> {
    const { database, fencingTokens, live: executions } = this.#options;
    const sorted = partitions.toSorted((a, b) => a - b);
    const tenures = sorted.map((partition) => {
      const token = fencingTokens.tokenOf(partition);
      if (token === undefined) throw executionHomeLost({ partition });
      return newTenure(partition, token);
    });
    const [barrier] = await database.query<{ lost: number[] }>(barrierStatement, [
      sorted,
      tenures.map(({ token }) => token),
    ]);
    for (const partition of barrier?.lost ?? []) throw executionHomeLost({ partition });
    const recovered: LiveExecution[] = [];
    for (const tenure of tenures) recovered.push(...(await this.#recoverOne(tenure)));
    await this.#noteAttempts(recovered);
    for (const tenure of tenures) executions.install(tenure);
    return recovered
      .map(({ accepted, attempts, failures }) => ({ accepted, attempts, failures }))
      .toSorted((a, b) => (a.accepted.executionId < b.accepted.executionId ? -1 : 1));
  }

  async #recoverOne(tenure: Tenure): Promise<LiveExecution[]> {
    const { live: executions } = this.#options;
    const found = await this.#read(tenure);
    const archived = await this.#archived(found);
    const recovered: LiveExecution[] = [];
    for (const [executionId, { entry, note, attempts, failures }] of found) {
      if (!entry || archived.has(executionId)) continue;
      const live = executions.begin(tenure, entry.accepted, attempts, failures);
      for (const row of [entry.row, note]) if (row) row.left += 1;
      live.row = entry.row;
      live.note = note;
      recovered.push(live);
    }
    // Nobody knows when the others of its executions ended: until it has been rewritten, nothing leaves the archive.
    for (const row of tenure.rows) if (row.left < row.total) row.firstFinishedAt = 0;
    return recovered;
  }

  /** All rows of a partition, page by page. */
  async #read(tenure: Tenure): Promise<ReadonlyMap<string, Found>> {
    const { database, live: executions, clock } = this.#options;
    const { partition } = tenure;
    const found = new Map<string, Found>();
    let last = { token: -1, number: -1 };
    for (;;) {
      const rows = await database.query<{ token: number; number: number; entries: string }>(readStatement, [
        partition,
        last.token,
        last.number,
      ]);
      for (const { token, number, entries: text } of rows) {
        last = { token, number };
        const entries = this.#parse(text, partition, token, number);
        const row = executions.addRow(tenure, { token, number, total: entries.length, writtenAt: clock.now() });
        row.left = 0; // those that are needed are counted later
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

  async #archived(found: ReadonlyMap<string, Found>): Promise<ReadonlySet<string>> {
    const archived = new Set<string>();
    const calls = [...found.values()].flatMap(({ entry }) => (entry ? [entry.accepted] : []));
    for (let at = 0; at < calls.length; at += archivedAtOnce) {
      const page = calls.slice(at, at + archivedAtOnce);
      const arrays = new BinaryArrays();
      arrays.begin('text', page.length);
      for (const { tenantId } of page) arrays.text(tenantId);
      arrays.begin('uuid', page.length);
      for (const { executionId } of page) arrays.uuid(executionId);
      const rows = await this.#options.database.query<{ execution_id: string }>(archivedStatement, arrays.values());
      for (const row of rows) archived.add(row.execution_id);
    }
    return archived;
  }

  /** An attempt may have begun since the last note. After another crash the numbers go on from here. */
  async #noteAttempts(recovered: readonly LiveExecution[]): Promise<void> {
    const now = this.#options.clock.now();
    const begun = recovered.filter(({ accepted }) => mayHaveBegun(accepted, now));
    for (const live of begun) live.attempts += 1;
    for (let at = 0; at < begun.length; at += notedAtOnce) {
      const notes = begun.slice(at, at + notedAtOnce).map((live) => {
        const { attempts } = live;
        return { live, text: triedEntry(live.accepted.executionId, attempts), note: { attempts } };
      });
      await this.#options.journal.append(notes);
    }
  }
}

/** Rows come in the order of their writing, which is not always that of what they say. */
function collect(found: Map<string, Found>, entry: JournalEntry, row: JournalRow): void {
  const executionId = entry.kind === 'accepted' ? entry.accepted.executionId : entry.executionId;
  const known = found.get(executionId) ?? { noted: 0, attempts: 0, failures: [] };
  found.set(executionId, known);
  if (entry.kind === 'accepted') known.entry = { accepted: entry.accepted, row };
  else if (entry.attempts >= known.noted) {
    known.note = row;
    known.noted = entry.attempts;
  }
  if (entry.attempts < known.attempts) return;
  known.attempts = entry.attempts;
  if (entry.failures && entry.failures.length > 0) known.failures = entry.failures;
}
