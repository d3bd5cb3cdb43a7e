import { GroupCommit, isRefusedByServer, isUniqueViolation, type Database, type DatabaseIo } from '@drover/database';
import type { FencingTokens } from '@drover/ownership';
import { BackOff } from '@drover/service-kit';
import { executionStoreFull, executionStoreStopped, partitionLost } from '../errors.js';
import { writeArchivedRows, type ArchiveItem } from './archive-rows.js';
import { BinaryArrays } from './binary-arrays.js';
import { writeRowKeys } from './journal-row-keys.js';
import type { JournaledExecution, JournaledExecutions, JournalRow } from './journaled-executions.js';
import { writePendingCallbacks } from './postgres-pending-callbacks.js';
import {
  archiveExecutions,
  archiveExecutionsWithCallbacks,
  type ArchivedColumns,
  type CallbackColumns,
} from './statements/archive.js';
import type { JournalRowKeys, LostPartitionsRow, PartitionClaims } from './statements/define-statement.js';

/** An execution that has ended and is to be archived. */
export interface EndedExecution extends ArchiveItem {
  /** The fencing token of the term in which it ran. */
  readonly token: number;
  /** Absent when its acceptance was not journaled. */
  readonly journaled: JournaledExecution | undefined;
}

export interface ArchiveOptions extends DatabaseIo {
  readonly database: Database;
  readonly fencingTokens: FencingTokens;
  readonly journaled: JournaledExecutions;
  readonly ttlMs: number;
  readonly deadLetterTtlMs: number;
}

type ArchiveArrays<Columns extends readonly Buffer[]> = readonly [...PartitionClaims, ...JournalRowKeys, ...Columns];

const maxStatementBytes = 4_194_304;
/** For ends that no caller waits for: few, large statements. Until then the execution is reported as running. */
const linger = { ms: 10, items: 250 };
/** Results that may wait while the database is unavailable. Nothing is accepted meanwhile, so they are of executions that ran before. */
const maxWaitingBytes = 268_435_456;
/** Short: what waits here runs again if the process dies, so a database that is back is noticed at once. */
const retryBackOff = { firstMs: 50, maxMs: 500, factor: 2 };
/** Obsolete journal rows that one statement deletes. Others wait for the next one. */
const maxDeletedRows = 1_000;

/**
 * Archives executions that have ended. The same transaction deletes journal rows that became obsolete and adds pending callbacks. A
 * write that failed is retried until it is durable, this replica loses the partition, or the store stops: a retry ignores executions
 * that are archived already.
 */
export class Archive {
  readonly #options: ArchiveOptions;
  readonly #commits: GroupCommit<EndedExecution>;
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
      write: (ended, reject) => this.#write(ended, reject),
      bytesOf: bytesInStatement,
      linger,
      maxBytes: maxStatementBytes,
      maxWaitingItems: Number.POSITIVE_INFINITY, // limited by bytes, see `bytesInStatement`
      maxWaitingBytes,
      full: ({ heldBytes }) => executionStoreFull({ waitingBytes: heldBytes, limitBytes: maxWaitingBytes }),
      stopped: () => executionStoreStopped({}),
    });
  }

  /** Resolves once the end is durable. */
  add(ended: EndedExecution, isAwaited: boolean): Promise<void> {
    return this.#commits.add(ended, isAwaited);
  }

  /** When the statement that is under way was sent, in epoch milliseconds. */
  get writingSince(): number | undefined {
    return this.#writingSince;
  }

  /** Bytes of inputs and outputs that were written since the start. */
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

  async #write(
    ended: readonly EndedExecution[],
    reject: (execution: EndedExecution, error: Error) => void,
  ): Promise<void> {
    const backOff = new BackOff(retryBackOff, this.#options);
    const lost = new Set<number>();
    // Plain inserts are cheaper, but fail for executions that are archived already: by a statement whose answer was lost, or by a
    // former owner.
    let ignoreExisting = false;
    for (let remaining = ended; ; ) {
      remaining = remaining.filter((execution) => {
        if (!lost.has(execution.partition) && this.#isCurrent(execution.partition, execution.token)) return true;
        reject(execution, partitionLost({ partition: execution.partition }));
        return false;
      });
      if (remaining.length === 0) return;
      try {
        const lostNow = await this.#send(remaining, ignoreExisting, lost);
        if (lostNow.length === 0) return;
        for (const partition of lostNow) lost.add(partition);
      } catch (error) {
        if (isUniqueViolation(error) && !ignoreExisting) ignoreExisting = true;
        else if (isRefusedByServer(error)) throw error;
        else {
          ignoreExisting = true;
          await backOff.wait(this.#stopping.signal);
        }
      }
    }
  }

  /** Returns the partitions that this replica has lost; if there are any, nothing was written. */
  async #send(
    ended: readonly EndedExecution[],
    ignoreExisting: boolean,
    lost: ReadonlySet<number>,
  ): Promise<readonly number[]> {
    const { journaled: executions, clock } = this.#options;
    const taken = executions.takeObsoleteRows(maxDeletedRows);
    const obsolete = [...taken, ...rowsThatBecomeObsolete(ended)].filter(
      ({ term }) => !lost.has(term.partition) && this.#isCurrent(term.partition, term.token),
    );
    const now = clock.now();
    this.#writingSince = now;
    try {
      const { answer, bytes } = this.#query(ended, obsolete, ignoreExisting, now);
      const [row] = await answer;
      if (row && row.lost.length > 0) {
        executions.returnObsoleteRows(taken);
        return row.lost;
      }
      this.#bytesWritten += bytes;
    } catch (error) {
      executions.returnObsoleteRows(taken);
      throw error;
    } finally {
      this.#writingSince = undefined;
    }
    for (const row of obsolete) executions.removeRow(row);
    for (const { journaled, outcome } of ended) if (journaled) executions.finish(journaled, outcome.finishedAt);
    return [];
  }

  /** Sends the statement; its answer is awaited by the caller, which saves a step per statement. */
  #query(
    ended: readonly EndedExecution[],
    obsolete: readonly JournalRow[],
    ignoreExisting: boolean,
    now: number,
  ): { readonly answer: Promise<LostPartitionsRow[]>; readonly bytes: number } {
    const { database } = this.#options;
    const arrays = this.#arrays;
    arrays.clear();
    writeClaims(arrays, ended, obsolete);
    writeRowKeys(arrays, obsolete);
    const bytes = writeArchivedRows(arrays, ended, (outcome) => this.#expiryOf(outcome, now));
    const withCallback = ended.filter(({ accepted }) => accepted.callbackUrl !== undefined);
    if (withCallback.length === 0) {
      const values = arrays.values<ArchiveArrays<ArchivedColumns>>(20);
      return { answer: archiveExecutions(database, toParameters(values, bytes, ignoreExisting)), bytes };
    }
    writePendingCallbacks(arrays, withCallback, now);
    const values = arrays.values<ArchiveArrays<readonly [...ArchivedColumns, ...CallbackColumns]>>(24);
    return { answer: archiveExecutionsWithCallbacks(database, toParameters(values, bytes, ignoreExisting)), bytes };
  }

  /** An execution that is written late, because the database was unavailable, is readable for at least half of its time to live. */
  #expiryOf({ finishedAt, deadLetter }: EndedExecution['outcome'], now: number): number {
    const { ttlMs, deadLetterTtlMs } = this.#options;
    const timeToLiveMs = deadLetter ? deadLetterTtlMs : ttlMs;
    return Math.max(finishedAt + timeToLiveMs, now + timeToLiveMs / 2);
  }

  #isCurrent(partition: number, token: number): boolean {
    return this.#options.fencingTokens.heldTokenOf(partition) === token;
  }
}

function bytesInStatement({ accepted, outcome }: EndedExecution): number {
  return 512 + accepted.payload.json.length + (outcome.output?.json.length ?? 0);
}

/** Writes `PartitionClaims`, in ascending order: all replicas take locks in this order. */
function writeClaims(arrays: BinaryArrays, ended: readonly EndedExecution[], obsolete: readonly JournalRow[]): void {
  const tokens = new Map<number, number>();
  for (const { partition, token } of ended) tokens.set(partition, token);
  for (const { term } of obsolete) tokens.set(term.partition, term.token);
  const partitions = [...tokens.keys()].toSorted((a, b) => a - b);
  arrays.begin('integer', partitions.length);
  for (const partition of partitions) arrays.integer(partition);
  arrays.begin('bigint', partitions.length);
  for (const partition of partitions) arrays.bigint(tokens.get(partition) ?? 0);
}

/** Puts the two parameters that are no arrays into their places. */
function toParameters<Columns extends readonly Buffer[]>(
  [partitions, tokens, rowPartitions, rowTokens, rowNumbers, ...columns]: ArchiveArrays<Columns>,
  payloadBytes: number,
  ignoreExisting: boolean,
): readonly [...PartitionClaims, ...JournalRowKeys, payloadBytes: number, ignoreExisting: boolean, ...Columns] {
  return [partitions, tokens, rowPartitions, rowTokens, rowNumbers, payloadBytes, ignoreExisting, ...columns];
}

/** Journal rows whose last needed entries are those of these executions. */
function rowsThatBecomeObsolete(ended: readonly EndedExecution[]): JournalRow[] {
  const released = new Map<JournalRow, number>();
  // The same end may be in the batch twice; its entry counts once.
  for (const journaled of new Set(ended.map((execution) => execution.journaled))) {
    if (!journaled || journaled.finishedAt !== undefined) continue;
    const { row, retryRow } = journaled;
    if (row) released.set(row, (released.get(row) ?? 0) + 1);
    if (retryRow) released.set(retryRow, (released.get(retryRow) ?? 0) + 1);
  }
  const obsolete: JournalRow[] = [];
  for (const [row, entries] of released) if (entries === row.needed) obsolete.push(row);
  return obsolete;
}
