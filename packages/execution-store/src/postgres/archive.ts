import {
  GroupCommit,
  isRefusedByServer,
  isUniqueViolation,
  prepared,
  type Database,
  type DatabaseIo,
} from '@drover/database';
import { BackOff } from '@drover/service-kit';
import type { FencingTokens } from '@drover/ownership';
import { executionHomeLost, executionStoreFull, executionStoreStopped } from '../errors.js';
import { writeArchiveRows, type ArchiveRow } from './archive-rows.js';
import { BinaryArrays } from './binary-arrays.js';
import { writeNames } from './journal.js';
import type { JournalRow, LiveExecution, LiveExecutions } from './live-executions.js';
import { withCallback, writeCallbackMarks } from './postgres-callback-marks.js';

/** An execution that has ended, on its way into the archive. */
export interface Finished extends ArchiveRow {
  /** Of the home that ran it. */
  readonly token: number;
  /** Absent when it was never in the journal. */
  readonly live: LiveExecution | undefined;
}

export interface ArchiveOptions extends DatabaseIo {
  readonly database: Database;
  readonly fencingTokens: FencingTokens;
  readonly live: LiveExecutions;
  readonly ttlMs: number;
  readonly deadLetterTtlMs: number;
}

const archiveStatement = prepared(
  'execution-archive',
  `select drover.archive_executions($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19,
     $20, $21, $22) as lost`,
);
/** The same for batches in which somebody asked for a callback. */
const callbacksStatement = prepared(
  'execution-archive-with-callbacks',
  `select drover.archive_executions_with_callbacks($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17,
     $18, $19, $20, $21, $22, $23, $24, $25, $26) as lost`,
);

const maxStatementBytes = 4_194_304;
/** For ends that nobody waits for: statements stay few and large. Who looks meanwhile sees that it runs. */
const linger = { ms: 10, items: 250 };
/** Results that may wait while the database is away; nothing new is accepted then, so these are of what ran already. */
const maxWaitingBytes = 268_435_456;
const retryBackOff = { firstMs: 50, maxMs: 2_000, factor: 2 };
/** Deleted along the way; more wait for the next statement. */
const maxTrimmedRows = 1_000;

/**
 * Executions that have ended. The same transaction that keeps them deletes the journal rows that nobody needs any more, and
 * marks those whose results are to be delivered elsewhere. While the database is away the write is tried again and again, until
 * it is durable or another replica is the home.
 */
export class Archive {
  readonly #options: ArchiveOptions;
  readonly #commits: GroupCommit<Finished>;
  readonly #arrays = new BinaryArrays();
  readonly #stopping = new AbortController();
  #writingSince: number | undefined;
  #bytesWritten = 0;

  constructor(options: ArchiveOptions) {
    this.#options = options;
    this.#commits = new GroupCommit({
      name: 'execution-archive',
      clock: options.clock,
      observe: options.observe,
      write: (items, refuse) => this.#write(items, refuse),
      bytesOf: bytesInStatement,
      linger,
      maxBytes: maxStatementBytes,
      maxWaitingItems: Number.POSITIVE_INFINITY,
      maxWaitingBytes,
      full: ({ heldBytes }) => executionStoreFull({ waitingBytes: heldBytes, limitBytes: maxWaitingBytes }),
      stopped: () => executionStoreStopped({}),
    });
  }

  add(finished: Finished, isAwaited: boolean): Promise<void> {
    return this.#commits.add(finished, isAwaited);
  }

  /** Since when a statement has been under way, in epoch milliseconds. */
  get writingSince(): number | undefined {
    return this.#writingSince;
  }

  /** Of inputs and outputs, since the start. */
  get bytesWritten(): number {
    return this.#bytesWritten;
  }

  drain(deadline: AbortSignal): Promise<void> {
    return this.#commits.drain(deadline);
  }

  stop(): Promise<void> {
    this.#stopping.abort(executionStoreStopped({}));
    return this.#commits.stop();
  }

  async #write(items: readonly Finished[], refuse: (item: Finished, error: Error) => void): Promise<void> {
    const backOff = new BackOff(retryBackOff, this.#options);
    const lost = new Set<number>();
    // Plain inserts are cheaper, but fail for what is there already: because no answer came when it was written, or
    // because a former home was quicker.
    let again = false;
    for (let current = items; ; ) {
      current = current.filter((item) => {
        if (!lost.has(item.partition) && this.#isCurrent(item.partition, item.token)) return true;
        refuse(item, executionHomeLost({ partition: item.partition }));
        return false;
      });
      if (current.length === 0) return;
      try {
        const answer = await this.#send(current, again, lost);
        if (answer.length === 0) return;
        for (const partition of answer) lost.add(partition);
      } catch (error) {
        if (isUniqueViolation(error) && !again) again = true;
        else if (isRefusedByServer(error)) throw error;
        else {
          again = true;
          await backOff.wait(this.#stopping.signal);
        }
      }
    }
  }

  async #send(items: readonly Finished[], again: boolean, lost: ReadonlySet<number>): Promise<readonly number[]> {
    const { database, live: executions, clock } = this.#options;
    const taken = executions.takeGone(maxTrimmedRows);
    const gone = [...taken, ...rowsThatEmpty(items)].filter(
      ({ tenure }) => !lost.has(tenure.partition) && this.#isCurrent(tenure.partition, tenure.token),
    );
    const now = clock.now();
    this.#writingSince = now;
    try {
      const { statement, values, bytes } = this.#toQuery(items, gone, again, now);
      const [answer] = await database.query<{ lost: number[] }>(statement, values);
      if (answer && answer.lost.length > 0) {
        executions.putBack(taken);
        return answer.lost;
      }
      this.#bytesWritten += bytes;
    } catch (error) {
      executions.putBack(taken);
      throw error;
    } finally {
      this.#writingSince = undefined;
    }
    for (const row of gone) executions.removeRow(row);
    for (const { live, outcome } of items) if (live) executions.finish(live, outcome.finishedAt);
    return [];
  }

  #toQuery(
    items: readonly Finished[],
    gone: readonly JournalRow[],
    again: boolean,
    now: number,
  ): { readonly statement: typeof archiveStatement; readonly values: readonly unknown[]; readonly bytes: number } {
    const claims = new Map<number, number>();
    for (const { partition, token } of items) claims.set(partition, token);
    for (const { tenure } of gone) claims.set(tenure.partition, tenure.token);
    // Locks are taken in this order, by everybody.
    const partitions = [...claims.keys()].toSorted((a, b) => a - b);
    const arrays = this.#arrays;
    arrays.clear();
    arrays.begin('integer', partitions.length);
    for (const partition of partitions) arrays.integer(partition);
    arrays.begin('bigint', partitions.length);
    for (const partition of partitions) arrays.bigint(claims.get(partition) ?? 0);
    writeNames(arrays, gone);
    const bytes = writeArchiveRows(arrays, items, (outcome) => this.#expiryOf(outcome, now));
    const calledBack = withCallback(items);
    if (calledBack.length > 0) writeCallbackMarks(arrays, calledBack, now);
    const values = arrays.values();
    return {
      statement: calledBack.length > 0 ? callbacksStatement : archiveStatement,
      values: [...values.slice(0, 5), bytes, again, ...values.slice(5)],
      bytes,
    };
  }

  /** What was written late, because the database was away, can still be read for a while. */
  #expiryOf({ finishedAt, deadLetter }: Finished['outcome'], now: number): number {
    const { ttlMs, deadLetterTtlMs } = this.#options;
    const keepMs = deadLetter ? deadLetterTtlMs : ttlMs;
    return Math.max(finishedAt + keepMs, now + keepMs / 2);
  }

  #isCurrent(partition: number, token: number): boolean {
    return this.#options.fencingTokens.tokenOf(partition) === token;
  }
}

function bytesInStatement({ accepted, outcome }: Finished): number {
  return 512 + accepted.payload.json.length + (outcome.output?.json.length ?? 0);
}

/** Journal rows whose last needed entries are of these executions. */
function rowsThatEmpty(items: readonly Finished[]): JournalRow[] {
  const counts = new Map<JournalRow, number>();
  // Somebody may say the same end twice; its entry counts once.
  for (const live of new Set(items.map((item) => item.live))) {
    if (!live || live.finishedAt !== undefined) continue;
    if (live.row) counts.set(live.row, (counts.get(live.row) ?? 0) + 1);
    if (live.note) counts.set(live.note, (counts.get(live.note) ?? 0) + 1);
  }
  const empty: JournalRow[] = [];
  for (const [row, count] of counts) if (count === row.left) empty.push(row);
  return empty;
}
