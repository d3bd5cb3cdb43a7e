import type { AcceptedCall } from '@drover/contracts';
import type { FailedAttempt } from '../execution-store.js';

/** A row of the journal, as its home counts it. */
export interface JournalRow {
  readonly tenure: Tenure;
  /** Of the home that wrote it, perhaps a former one. */
  readonly token: number;
  readonly number: number;
  /** Entries it was written with. */
  readonly total: number;
  /** Epoch milliseconds. */
  readonly writtenAt: number;
  /** Entries that are still needed: at none it can go. */
  left: number;
  /** The earliest end of an execution whose entry it still holds: up to there the archive has to stay as it is. */
  firstFinishedAt: number;
}

/** An execution that was accepted and has not ended. */
export interface LiveExecution {
  readonly tenure: Tenure;
  readonly accepted: AcceptedCall;
  attempts: number;
  failures: readonly FailedAttempt[];
  /** Where its entry is; absent until it is durable. */
  row: JournalRow | undefined;
  /** Where the latest note on it is. */
  note: JournalRow | undefined;
  finishedAt: number | undefined;
}

/** Attempts were used up; without `failures` those known before still hold. */
export interface Note {
  readonly attempts: number;
  readonly failures?: readonly FailedAttempt[];
}

/** The time in which we are the home of a partition under one token. */
export interface Tenure {
  readonly partition: number;
  readonly token: number;
  readonly live: Map<string, LiveExecution>;
  /** All that the journal has of the partition. */
  readonly rows: Set<JournalRow>;
}

export function newTenure(partition: number, token: number): Tenure {
  return { partition, token, live: new Map(), rows: new Set() };
}

/** Everything that is in the journal, as its homes know it: which executions, and what is left of which row. */
export class LiveExecutions {
  readonly #tenures = new Map<number, Tenure>();
  #gone: JournalRow[] = [];

  get tenures(): Iterable<Tenure> {
    return this.#tenures.values();
  }

  /** The tenure under this token, as soon as all that its predecessors left is known. */
  tenure(partition: number, token: number | undefined): Tenure | undefined {
    const known = this.#tenures.get(partition);
    return known?.token === token ? known : undefined;
  }

  /** From now on this is the tenure of its partition. */
  install(tenure: Tenure): void {
    this.#tenures.set(tenure.partition, tenure);
    for (const row of tenure.rows) if (row.left === 0) this.#gone.push(row);
  }

  find(partition: number, executionId: string): LiveExecution | undefined {
    return this.#tenures.get(partition)?.live.get(executionId);
  }

  /** Forgets what belongs to tenures that are over. */
  keepOnly(isCurrent: (tenure: Tenure) => boolean): void {
    for (const tenure of this.#tenures.values()) if (!isCurrent(tenure)) this.#tenures.delete(tenure.partition);
    this.#gone = this.#gone.filter(({ tenure }) => this.#tenures.get(tenure.partition) === tenure);
  }

  /** From `accept` on, so that an end that comes before the answer of the journal finds it. */
  begin(tenure: Tenure, accepted: AcceptedCall, attempts = 0, failures: readonly FailedAttempt[] = []): LiveExecution {
    const live: LiveExecution = {
      tenure,
      accepted,
      attempts,
      failures,
      row: undefined,
      note: undefined,
      finishedAt: undefined,
    };
    tenure.live.set(accepted.executionId, live);
    return live;
  }

  /** It was not accepted after all. */
  abandon({ tenure, accepted }: LiveExecution): void {
    tenure.live.delete(accepted.executionId);
  }

  addRow(tenure: Tenure, of: Pick<JournalRow, 'token' | 'number' | 'total' | 'writtenAt'>): JournalRow {
    const row: JournalRow = { tenure, ...of, left: of.total, firstFinishedAt: Number.POSITIVE_INFINITY };
    tenure.rows.add(row);
    return row;
  }

  /** The entry of an execution is durable in `row`, perhaps in place of another row. */
  enter(live: LiveExecution, row: JournalRow, at: number): void {
    // Its end may have been quicker than this answer.
    if (live.finishedAt !== undefined) return this.#release(row, live.finishedAt);
    const former = live.row;
    live.row = row;
    if (former) this.#release(former, at);
  }

  /** A note on an execution is durable in `row`; an older one is not needed any more. */
  note(live: LiveExecution, { attempts, failures }: Note, row: JournalRow, at: number): void {
    if (live.finishedAt !== undefined) return this.#release(row, live.finishedAt);
    // A later one was quicker.
    if (attempts < live.attempts) return this.#release(row, at);
    live.attempts = attempts;
    if (failures) live.failures = failures;
    const former = live.note;
    live.note = row;
    if (former) this.#release(former, at);
  }

  /** What a note said is part of the entry now. */
  dropNote(live: LiveExecution, note: JournalRow | undefined, at: number): void {
    if (!note || live.note !== note) return;
    live.note = undefined;
    this.#release(note, at);
  }

  /** Its end is durable. */
  finish(live: LiveExecution, finishedAt: number): void {
    if (live.finishedAt !== undefined) return;
    live.finishedAt = finishedAt;
    live.tenure.live.delete(live.accepted.executionId);
    if (live.row) this.#release(live.row, finishedAt);
    if (live.note) this.#release(live.note, finishedAt);
  }

  /** The row is not in the database any more. */
  removeRow(row: JournalRow): void {
    row.tenure.rows.delete(row);
  }

  /** Rows that nobody needs and that are still in the database: whoever takes them deletes them, or puts them back. */
  takeGone(most: number): JournalRow[] {
    return this.#gone.splice(0, most);
  }

  putBack(rows: readonly JournalRow[]): void {
    this.#gone.push(...rows);
  }

  #release(row: JournalRow, finishedAt: number): void {
    row.left -= 1;
    row.firstFinishedAt = Math.min(row.firstFinishedAt, finishedAt);
    if (row.left === 0 && row.tenure.rows.has(row)) this.#gone.push(row);
  }
}
