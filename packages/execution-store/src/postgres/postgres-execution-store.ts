import type { AcceptedCall, TenantId } from '@drover/contracts';
import type { Database, DatabaseIo, DatabaseObservation } from '@drover/database';
import { partitionOfExecution, type FencingTokens } from '@drover/ownership';
import type { Observe } from '@drover/service-kit';
import { partitionLost } from '../errors.js';
import type { ExecutionFilter, ExecutionStore, RecoveredExecutions } from '../execution-store.js';
import type { ExecutionOutcome, FailedAttempt, FinishedExecution } from '../execution.js';
import type { ExecutionStoreObservation } from '../observations.js';
import {
  countDeadLetters,
  deleteDeadLetters,
  findExecution,
  listExecutions,
  liveKeyBindings,
  markExecutionRedriven,
} from './archive-queries.js';
import { Archive } from './archive.js';
import { JournalCompaction } from './journal-compaction.js';
import { acceptedEntry, retryEntry } from './journal-entry.js';
import { Journal, type NewEntry } from './journal.js';
import { JournaledExecutions, type OwnershipTerm } from './journaled-executions.js';
import { Maintenance } from './maintenance.js';
import { PostgresPendingCallbacks } from './postgres-pending-callbacks.js';
import { Recovery } from './recovery.js';

export interface PostgresExecutionStoreOptions extends Omit<DatabaseIo, 'observe'> {
  readonly database: Database;
  readonly fencingTokens: FencingTokens;
  readonly ttlMs: number;
  readonly deadLetterTtlMs: number;
  /** Limit of the inputs and outputs of all finished executions, of all replicas together. */
  readonly maxBytes: number;
  readonly observe: Observe<DatabaseObservation | ExecutionStoreObservation>;
}

/**
 * Executions in PostgreSQL. `accept` appends to a journal, many executions in a row. `finish` writes one row per execution to an archive,
 * and deletes journal rows that are obsolete then. An execution that is in the journal and not in the archive is still to run.
 *
 * The store writes to a partition only after `recover`, and under the fencing token of that time. The database refuses writes under an
 * older token.
 */
export class PostgresExecutionStore implements ExecutionStore {
  readonly name = 'execution store in PostgreSQL';
  readonly isDurable = true;
  readonly pendingCallbacks: PostgresPendingCallbacks;
  readonly #options: PostgresExecutionStoreOptions;
  readonly #journaled = new JournaledExecutions();
  readonly #journal: Journal;
  readonly #archive: Archive;
  readonly #recovery: Recovery;
  readonly #maintenance: Maintenance;

  constructor(options: PostgresExecutionStoreOptions) {
    this.#options = options;
    const parts = { ...options, journaled: this.#journaled };
    // Unique among all processes that ever wrote under the same token, should a token outlive its process.
    let number = options.clock.now() * 1_000;
    const nextRowNumber = (): number => (number += 1);
    this.#journal = new Journal({ ...parts, nextRowNumber });
    this.#archive = new Archive(parts);
    this.pendingCallbacks = new PostgresPendingCallbacks(options);
    this.#recovery = new Recovery({ ...parts, journal: this.#journal });
    const compaction = new JournalCompaction({ ...parts, nextRowNumber });
    this.#maintenance = new Maintenance({ ...parts, journal: this.#journal, archive: this.#archive, compaction });
  }

  start(): Promise<void> {
    this.#maintenance.start();
    return Promise.resolve();
  }

  async drain(deadline: AbortSignal): Promise<void> {
    const parts = [this.#journal, this.#archive, this.pendingCallbacks];
    await Promise.all(parts.map((part) => part.drain(deadline)));
  }

  async stop(): Promise<void> {
    const parts = [this.#maintenance, this.#journal, this.#archive, this.pendingCallbacks];
    await Promise.all(parts.map((part) => part.stop()));
  }

  async accept(calls: readonly AcceptedCall[]): Promise<void> {
    if (calls.length === 0) return;
    const entries: NewEntry[] = [];
    let term: OwnershipTerm | undefined;
    try {
      for (const accepted of calls) {
        const partition = partitionOfExecution(accepted.executionId);
        if (term?.partition !== partition) term = this.#termOf(partition);
        entries.push({ execution: this.#journaled.add(term, accepted), text: acceptedEntry(accepted, 0, []) });
      }
      await this.#journal.append(entries);
    } catch (error) {
      for (const { execution } of entries) this.#journaled.remove(execution);
      throw error;
    }
  }

  async recordRetry(accepted: AcceptedCall, failures: readonly FailedAttempt[], attempts: number): Promise<void> {
    const partition = partitionOfExecution(accepted.executionId);
    const execution = this.#journaled.find(partition, accepted.executionId);
    if (!execution) {
      if (this.#options.fencingTokens.heldTokenOf(partition) === undefined) throw partitionLost({ partition });
      return; // not journaled: there is nothing to recover
    }
    const text = retryEntry(accepted.executionId, attempts, failures);
    await this.#journal.append([{ execution, text, retry: { attempts, failures } }]);
  }

  finish(accepted: AcceptedCall, outcome: ExecutionOutcome, isAwaited = true): Promise<void> {
    const partition = partitionOfExecution(accepted.executionId);
    const journaled = this.#journaled.find(partition, accepted.executionId);
    const token = journaled?.term.token ?? this.#options.fencingTokens.heldTokenOf(partition);
    if (token === undefined) return Promise.reject(partitionLost({ partition }));
    return this.#archive.add({ partition, token, journaled, accepted, outcome }, isAwaited);
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

  countDeadLetters(filter: ExecutionFilter): Promise<number> {
    const { database, clock } = this.#options;
    return countDeadLetters(database, filter, clock.now());
  }

  deleteDeadLetters(filter: ExecutionFilter): Promise<number> {
    const { database, clock } = this.#options;
    return deleteDeadLetters(database, filter, clock.now());
  }

  async recover(partitions: readonly number[]): Promise<RecoveredExecutions> {
    const { database, clock, ttlMs } = this.#options;
    const unfinished = await this.#recovery.recover(partitions);
    const keys = await liveKeyBindings(database, partitions, clock.now(), ttlMs);
    return { unfinished, keys };
  }

  /** Runs maintenance now. It runs by itself every few seconds. */
  runMaintenance(): Promise<void> {
    return this.#maintenance.run();
  }

  #termOf(partition: number): OwnershipTerm {
    const term = this.#journaled.term(partition, this.#options.fencingTokens.tokenOf(partition));
    if (!term) throw partitionLost({ partition });
    return term;
  }
}
