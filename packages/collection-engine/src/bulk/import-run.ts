import { hasCode, isCodedError } from '@drover/contracts';
import type { AnswerQueue } from './answer-queue.js';
import { importInterrupted } from './bulk-errors.js';
import type { ImportRow } from './import-rows.js';
import type { RecordProblem } from '../model/record-problem.js';
import type { ImportProgress, ReportFormat } from './report-format.js';

/** What became of a row. */
export type RowOutcome = 'created' | 'updated' | readonly RecordProblem[];

/**
 * Checks rows at once, commits them when `turn` has come, and returns what became of each. Rejects if `turn` does, or if the import
 * cannot go on.
 */
export type WriteRows = (rows: readonly ImportRow[], turn: Promise<unknown>) => Promise<readonly RowOutcome[]>;

/** Rows of one transaction. Twice as many as 1,000 wait half as often for its commit, which takes some milliseconds. */
const batchRows = 2_000;
/** Characters of one transaction: long rows make smaller batches. */
const batchSize = 4 * 1_024 * 1_024;

/**
 * Imports rows batch by batch, each in one transaction. While PostgreSQL writes two batches the next one is read, so at most three are
 * in memory. Batches are committed one after the other: everything up to the line of the last progress is done and nothing behind
 * it, of rows with one unique value the first is created, and in an upsert the last one wins.
 */
export class ImportRun {
  readonly #write: WriteRows;
  readonly #format: ReportFormat;
  readonly #answer: AnswerQueue;
  #progress: ImportProgress = { line: 0, rows: 0, created: 0, updated: 0, rejected: 0 };

  constructor(options: { readonly write: WriteRows; readonly format: ReportFormat; readonly answer: AnswerQueue }) {
    this.#write = options.write;
    this.#format = options.format;
    this.#answer = options.answer;
  }

  /** Reports a failure as the last line of the answer; rejects with it if the format cannot. */
  async run(rows: AsyncIterable<readonly ImportRow[]>, signal: AbortSignal): Promise<void> {
    try {
      await this.#importAll(rows, signal);
      this.#answer.write(this.#format.done(this.#progress));
    } catch (error) {
      if (!isCodedError(error)) throw error;
      const line = this.#format.failed({ code: error.code, detail: error.message }, this.#progress);
      if (line === undefined) throw error;
      this.#answer.write(line);
    }
  }

  async #importAll(rows: AsyncIterable<readonly ImportRow[]>, signal: AbortSignal): Promise<void> {
    let before: Promise<void> = Promise.resolve();
    let last: Promise<void> = Promise.resolve();
    try {
      for await (const batch of batchesOf(rows)) {
        await before;
        await this.#answer.room();
        signal.throwIfAborted();
        before = last;
        last = this.#importBatch(batch, before);
        last.catch(() => undefined); // awaited a batch later
      }
    } finally {
      await last;
    }
  }

  async #importBatch(batch: readonly ImportRow[], turn: Promise<void>): Promise<void> {
    const readable = batch.filter(({ unreadable }) => unreadable === undefined);
    const outcomes = readable.length === 0 ? [] : await this.#write(readable, turn).catch(this.#interrupted(batch));
    await turn;
    const { created, updated, rejected, rows } = this.#progress;
    const counts = { created, updated, rejected };
    let at = 0;
    for (const row of batch) {
      const outcome = row.unreadable === undefined ? outcomes[at++] : unreadableRow(row.unreadable);
      if (outcome === undefined) throw new Error('The writer returned fewer outcomes than rows.');
      if (typeof outcome === 'string') counts[outcome] += 1;
      else {
        counts.rejected += 1;
        this.#answer.write(this.#format.rejected(row, outcome));
      }
    }
    this.#progress = { line: batch.at(-1)?.line ?? 0, rows: rows + batch.length, ...counts };
    this.#answer.write(this.#format.progress(this.#progress));
  }

  /** Throws what tells the client where to resume, if the write of a batch failed because PostgreSQL is away. */
  #interrupted(batch: readonly ImportRow[]): (error: unknown) => never {
    return (error) => {
      if (!(error instanceof Error) || !hasCode(error, 'DATABASE_UNAVAILABLE')) throw error;
      const { line } = this.#progress;
      throw importInterrupted({ line, uncertain: batch.at(-1)?.line ?? line, reason: error.message }, error);
    };
  }
}

async function* batchesOf(blocks: AsyncIterable<readonly ImportRow[]>): AsyncGenerator<readonly ImportRow[]> {
  let batch: ImportRow[] = [];
  let size = 0;
  try {
    for await (const block of blocks) {
      for (const row of block) {
        batch.push(row);
        size += row.size;
        if (batch.length < batchRows && size < batchSize) continue;
        yield batch;
        batch = [];
        size = 0;
      }
    }
  } catch (error) {
    // A line that cannot be read: the rows before it are imported.
    if (isCodedError(error) && batch.length > 0) yield batch;
    throw error;
  }
  if (batch.length > 0) yield batch;
}

const unreadableRow = (detail: string): RecordProblem[] => [
  { code: 'INVALID_PAYLOAD', detail, source: { pointer: '' } },
];
