import type { Database } from '@drover/database';
import type { FencingTokens } from '@drover/ownership';
import type { Clock, Observe } from '@drover/service-kit';
import type { ExecutionStoreObservation } from '../observations.js';
import type { Archive } from './archive.js';
import type { JournalCompaction } from './journal-compaction.js';
import type { Journal } from './journal.js';
import type { JournaledExecutions, OwnershipTerm } from './journaled-executions.js';
import { evictPayloads, recountPayloadBytes, removeExpiredExecutions } from './statements/maintenance.js';

export interface MaintenanceOptions {
  readonly database: Database;
  readonly fencingTokens: FencingTokens;
  readonly journaled: JournaledExecutions;
  readonly journal: Journal;
  readonly archive: Archive;
  readonly compaction: JournalCompaction;
  readonly ttlMs: number;
  readonly maxBytes: number;
  readonly clock: Clock;
  readonly observe: Observe<ExecutionStoreObservation>;
}

/** Rows per statement: few enough that it takes some ten milliseconds. */
const rowsPerStatement = 1_000;
const maxPauseMs = 5_000;
/** How often to check whether a run is due. */
const checkMs = 500;
const distantFuture = new Date(8_000_000_000_000);
const epoch = new Date(0);

/**
 * Makes unconfirmed journal rows void, compacts the journal, removes expired executions and evicts payloads, one after the other. At
 * most one run at a time.
 */
export class Maintenance {
  readonly #options: MaintenanceOptions;
  #running: Promise<void> | undefined;
  #isStopped = false;
  #cancel: () => void = () => undefined;
  #evictedTo = epoch;
  #dueAt = 0;
  #dueBytes = 0;

  constructor(options: MaintenanceOptions) {
    this.#options = options;
  }

  start(): void {
    const { clock, archive } = this.#options;
    this.#cancel = clock.after(checkMs, () => {
      const isDue = clock.now() >= this.#dueAt || archive.bytesWritten >= this.#dueBytes;
      void (isDue ? this.#run() : Promise.resolve()).finally(() => {
        if (!this.#isStopped) this.start();
      });
    });
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancel();
    await this.#running;
  }

  /** Starts a run after the one under way, and waits for it. */
  async run(): Promise<void> {
    await this.#running;
    await this.#run();
  }

  #run(): Promise<void> {
    return (this.#running ??= this.#runOnce().finally(() => {
      this.#running = undefined;
    }));
  }

  async #runOnce(): Promise<void> {
    const { journaled, journal, compaction, archive, observe, clock, ttlMs, maxBytes } = this.#options;
    this.#dueAt = clock.now() + Math.min(maxPauseMs, ttlMs / 4);
    // Under load runs are more frequent, so that the limit is exceeded by a few percent only.
    this.#dueBytes = archive.bytesWritten + maxBytes / 50;
    journaled.dropEndedTerms((term) => this.#isCurrent(term));
    let task = 'make unconfirmed journal rows void';
    try {
      await journal.voidUnconfirmedRows();
      task = 'compact the journal';
      await compaction.run();
      task = 'remove expired executions';
      const expired = await this.#expire();
      task = 'evict payloads';
      const evicted = await this.#evict();
      if (expired + evicted > 0) observe({ kind: 'executions.swept', expired, evicted });
    } catch (error) {
      if (!this.#isStopped) observe({ kind: 'executions.upkeep-failed', task, error });
    }
  }

  /** Removes expired executions of own partitions: only their owner knows which ones still have journal entries. */
  async #expire(): Promise<number> {
    let expired = 0;
    for (let removed = rowsPerStatement; removed === rowsPerStatement && !this.#isStopped; ) {
      removed = await this.#expireSome();
      expired += removed;
    }
    return expired;
  }

  async #expireSome(): Promise<number> {
    const { database, journaled, clock, archive, ttlMs } = this.#options;
    const now = clock.now();
    // Executions that are being written live for at least half of their time to live, unless writing takes longer than that.
    if (archive.writingSince !== undefined && now - archive.writingSince > ttlMs / 4) return 0;
    const terms = [...journaled.terms].filter((term) => this.#isCurrent(term));
    if (terms.length === 0) return 0;
    terms.sort((a, b) => a.partition - b.partition);
    const [row] = await removeExpiredExecutions(database, [
      terms.map(({ partition }) => partition),
      terms.map(({ token }) => token),
      terms.map((term) => journalClearBefore(term)),
      new Date(now),
      rowsPerStatement,
    ]);
    return row?.removed ?? 0;
  }

  /** Evicts payloads of all partitions, those that expire first first. One replica at a time does it. */
  async #evict(): Promise<number> {
    const { database, journaled, maxBytes } = this.#options;
    let evicted = 0;
    while (!this.#isStopped) {
      const own = [...journaled.terms].find((term) => this.#isCurrent(term))?.partition;
      if (own === undefined) break;
      const [row] = await evictPayloads(database, [own, maxBytes, this.#evictedTo, rowsPerStatement]);
      if (!row || row.total === null) break; // another replica does it now
      evicted += row.evicted_rows;
      if (row.evicted_rows > 0) this.#evictedTo = row.evicted_to ?? epoch;
      if (row.total <= maxBytes) break;
      if (row.evicted_rows > 0) continue;
      // Nothing was left to evict from there on: start again from the oldest, or else the stored sum is wrong.
      if (this.#evictedTo > epoch) this.#evictedTo = epoch;
      else {
        await recountPayloadBytes(database, [own]);
        break;
      }
    }
    return evicted;
  }

  #isCurrent({ partition, token }: OwnershipTerm): boolean {
    return this.#options.fencingTokens.heldTokenOf(partition) === token;
  }
}

/** The journal of the partition has no entry of an execution that ended before this time. */
function journalClearBefore({ rows }: OwnershipTerm): Date {
  let first = Number.POSITIVE_INFINITY;
  for (const { firstFinishedAt } of rows) first = Math.min(first, firstFinishedAt);
  return Number.isFinite(first) ? new Date(first) : distantFuture;
}
