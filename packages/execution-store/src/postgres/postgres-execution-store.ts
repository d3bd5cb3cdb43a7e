import type { AcceptedCall, TenantId } from '@drover/contracts';
import type { Database, DatabaseIo, DatabaseObservation } from '@drover/database';
import type { Observe } from '@drover/service-kit';
import { type FencingTokens, partitionOfExecution } from '@drover/ownership';
import { executionHomeLost } from '../errors.js';
import type {
  ExecutionFilter,
  ExecutionStore,
  FailedAttempt,
  FinishedExecution,
  KeyBinding,
  ExecutionOutcome,
  UnfinishedExecution,
} from '../execution-store.js';
import type { ExecutionStoreObservation } from '../observations.js';
import { findExecution, listExecutions, liveKeyBindings, markExecutionRedriven } from './archive-queries.js';
import { Archive } from './archive.js';
import { acceptedEntry, triedEntry } from './journal-entry.js';
import { JournalRewrite } from './journal-rewrite.js';
import { Journal, type NewEntry } from './journal.js';
import { LiveExecutions, type Tenure } from './live-executions.js';
import { PostgresCallbackMarks } from './postgres-callback-marks.js';
import { Recovery } from './recovery.js';
import { Upkeep } from './upkeep.js';

export interface PostgresExecutionStoreOptions extends Omit<DatabaseIo, 'observe'> {
  readonly database: Database;
  readonly fencingTokens: FencingTokens;
  readonly ttlMs: number;
  readonly deadLetterTtlMs: number;
  /** Of inputs and outputs of finished executions, all replicas together. */
  readonly maxBytes: number;
  readonly observe: Observe<DatabaseObservation | ExecutionStoreObservation>;
}

/**
 * Executions in PostgreSQL. Accepting appends to a journal, many executions in a row; ending writes a row of its own into
 * the archive and trims the journal. What is in the journal and not in the archive is still to run.
 *
 * A partition is written to only after `recover` has been called for it, and only under the token of that time: a write
 * of somebody who is not the home any more is refused by the database.
 */
export class PostgresExecutionStore implements ExecutionStore {
  readonly name = 'execution store in PostgreSQL';
  readonly isDurable = true;
  readonly callbackMarks: PostgresCallbackMarks;
  readonly #options: PostgresExecutionStoreOptions;
  readonly #live = new LiveExecutions();
  readonly #journal: Journal;
  readonly #archive: Archive;
  readonly #recovery: Recovery;
  readonly #upkeep: Upkeep;

  constructor(options: PostgresExecutionStoreOptions) {
    this.#options = options;
    const parts = { ...options, live: this.#live };
    // Unique among all processes that were ever the home under the same token, should a token outlive its process.
    let number = options.clock.now() * 1_000;
    const nextNumber = (): number => (number += 1);
    this.#journal = new Journal({ ...parts, nextNumber });
    this.#archive = new Archive(parts);
    this.callbackMarks = new PostgresCallbackMarks(options);
    this.#recovery = new Recovery({ ...parts, journal: this.#journal });
    const rewrite = new JournalRewrite({ ...parts, nextNumber });
    this.#upkeep = new Upkeep({ ...parts, journal: this.#journal, archive: this.#archive, rewrite });
  }

  start(): Promise<void> {
    this.#upkeep.start();
    return Promise.resolve();
  }

  async drain(deadline: AbortSignal): Promise<void> {
    const parts = [this.#journal, this.#archive, this.callbackMarks];
    await Promise.all(parts.map((part) => part.drain(deadline)));
  }

  async stop(): Promise<void> {
    const parts = [this.#upkeep, this.#journal, this.#archive, this.callbackMarks];
    await Promise.all(parts.map((part) => part.stop()));
  }

  async accept(calls: readonly AcceptedCall[]): Promise<void> {
    if (calls.length === 0) return;
    const entries: NewEntry[] = [];
    let tenure: Tenure | undefined;
    try {
      for (const accepted of calls) {
        const partition = partitionOfExecution(accepted.executionId);
        if (tenure?.partition !== partition) tenure = this.#tenureOf(partition);
        entries.push({ live: this.#live.begin(tenure, accepted), text: acceptedEntry(accepted, 0, []) });
      }
      await this.#journal.append(entries);
    } catch (error) {
      for (const { live } of entries) this.#live.abandon(live);
      throw error;
    }
  }

  async recordRetry(accepted: AcceptedCall, failures: readonly FailedAttempt[], attempts: number): Promise<void> {
    const partition = partitionOfExecution(accepted.executionId);
    const live = this.#live.find(partition, accepted.executionId);
    if (!live) {
      if (this.#options.fencingTokens.tokenOf(partition) === undefined) throw executionHomeLost({ partition });
      return; // it is not kept, so neither is this
    }
    const text = triedEntry(accepted.executionId, attempts, failures);
    await this.#journal.append([{ live, text, note: { attempts, failures } }]);
  }

  finish(accepted: AcceptedCall, outcome: ExecutionOutcome, isAwaited = true): Promise<void> {
    const partition = partitionOfExecution(accepted.executionId);
    const live = this.#live.find(partition, accepted.executionId);
    const token = live?.tenure.token ?? this.#options.fencingTokens.tokenOf(partition);
    if (token === undefined) return Promise.reject(executionHomeLost({ partition }));
    return this.#archive.add({ partition, token, live, accepted, outcome }, isAwaited);
  }

  find(tenantId: TenantId, executionId: string): Promise<FinishedExecution | undefined> {
    const { database, clock } = this.#options;
    return findExecution(database, tenantId, executionId, clock.now());
  }

  list(filter: ExecutionFilter): Promise<readonly FinishedExecution[]> {
    const { database, clock } = this.#options;
    return listExecutions(database, filter, clock.now());
  }

  markRedriven(tenantId: TenantId, executionId: string, redrivenAs: string): Promise<boolean> {
    const { database, clock } = this.#options;
    return markExecutionRedriven(database, tenantId, executionId, redrivenAs, clock.now());
  }

  async recover(partitions: readonly number[]): Promise<{
    readonly unfinished: readonly UnfinishedExecution[];
    readonly keys: readonly KeyBinding[];
  }> {
    const { database, clock } = this.#options;
    const unfinished = await this.#recovery.recover(partitions);
    const keys = await liveKeyBindings(database, partitions, clock.now());
    return { unfinished, keys };
  }

  /** Removes what is to be removed now; it happens by itself every few seconds. */
  keepUp(): Promise<void> {
    return this.#upkeep.run();
  }

  #tenureOf(partition: number): Tenure {
    const tenure = this.#live.tenure(partition, this.#options.fencingTokens.tokenOf(partition));
    if (!tenure) throw executionHomeLost({ partition });
    return tenure;
  }
}
