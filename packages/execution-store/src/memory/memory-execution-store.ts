import type { AcceptedCall, TenantId } from '@drover/contracts';
import { partitionOfExecution } from '@drover/ownership';
import type { Clock } from '@drover/service-kit';
import type { ExecutionFilter, ExecutionStore, RecoveredExecutions } from '../execution-store.js';
import {
  mayHaveStarted,
  type ExecutionOutcome,
  type FailedAttempt,
  type FinishedExecution,
  type KeyBinding,
  type UnfinishedExecution,
} from '../execution.js';

export interface MemoryExecutionStoreOptions {
  readonly ttlMs: number;
  readonly deadLetterTtlMs: number;
  /** Limit of the inputs and outputs of all finished executions, in characters. */
  readonly maxBytes: number;
  readonly clock: Clock;
}

interface StoredExecution {
  execution: FinishedExecution;
  readonly expiresAt: number;
}

/** Expired executions are not readable; this is how long they may still take memory. */
const sweepMs = 5_000;

/**
 * Executions in the memory of one process. Expired executions are removed. When inputs and outputs take too much memory, those of the
 * executions that ended first are dropped, while the executions and their idempotency keys stay.
 */
export class MemoryExecutionStore implements ExecutionStore {
  readonly name = 'execution store in memory';
  readonly isDurable = false;
  readonly #options: MemoryExecutionStoreOptions;
  readonly #unfinished = new Map<string, UnfinishedExecution>();
  readonly #finished = new Map<string, StoredExecution>();
  /** Each in the order of insertion, which is the order of expiry: a sweep stops at the first that has not expired. */
  readonly #expiring = { regular: new Set<StoredExecution>(), deadLetters: new Set<StoredExecution>() };
  readonly #withPayload = new Set<StoredExecution>();
  #bytes = 0;
  #cancelSweep: () => void = () => undefined;

  constructor(options: MemoryExecutionStoreOptions) {
    this.#options = options;
  }

  start(): Promise<void> {
    this.#armSweep();
    return Promise.resolve();
  }

  drain(): Promise<void> {
    return Promise.resolve();
  }

  stop(): Promise<void> {
    this.#cancelSweep();
    return Promise.resolve();
  }

  accept(calls: readonly AcceptedCall[]): Promise<void> {
    for (const accepted of calls) {
      this.#unfinished.set(accepted.executionId, { accepted, attempts: 0, failures: [] });
    }
    return Promise.resolve();
  }

  recordRetry(accepted: AcceptedCall, failures: readonly FailedAttempt[], attempts: number): Promise<void> {
    if (this.#unfinished.has(accepted.executionId)) {
      this.#unfinished.set(accepted.executionId, { accepted, attempts, failures });
    }
    return Promise.resolve();
  }

  finish(accepted: AcceptedCall, outcome: ExecutionOutcome): Promise<void> {
    const { executionId } = accepted;
    this.#unfinished.delete(executionId);
    if (this.#finished.has(executionId)) return Promise.resolve(); // the first end stands
    const { ttlMs, deadLetterTtlMs, maxBytes } = this.#options;
    const expiresAt = outcome.finishedAt + (outcome.deadLetter ? deadLetterTtlMs : ttlMs);
    const stored: StoredExecution = { execution: { accepted, outcome, evicted: false }, expiresAt };
    this.#finished.set(executionId, stored);
    this.#expiring[outcome.deadLetter ? 'deadLetters' : 'regular'].add(stored);
    this.#withPayload.add(stored);
    this.#bytes += payloadBytes(stored.execution);
    for (const oldest of this.#withPayload) {
      if (this.#bytes <= maxBytes) break;
      this.#dropPayload(oldest);
    }
    return Promise.resolve();
  }

  find(tenantId: TenantId, executionId: string): Promise<FinishedExecution | undefined> {
    const stored = this.#readable(executionId);
    return Promise.resolve(stored?.execution.accepted.tenantId === tenantId ? stored.execution : undefined);
  }

  list(filter: ExecutionFilter): Promise<readonly FinishedExecution[]> {
    const now = this.#options.clock.now();
    const found: FinishedExecution[] = [];
    for (const { execution, expiresAt } of this.#finished.values()) {
      if (expiresAt > now && matchesFilter(execution, filter)) found.push(execution);
    }
    const direction = filter.oldestFirst ? 1 : -1;
    found.sort((a, b) => (a.accepted.executionId < b.accepted.executionId ? -direction : direction));
    return Promise.resolve(found.slice(0, filter.limit));
  }

  markRedriven(tenantId: TenantId, executionId: string, redrivenAs: string): Promise<boolean> {
    const stored = this.#readable(executionId);
    if (!stored || stored.execution.accepted.tenantId !== tenantId) return Promise.resolve(false);
    const { execution } = stored;
    if (!execution.outcome.deadLetter || execution.redrivenAs !== undefined) return Promise.resolve(false);
    stored.execution = { ...execution, redrivenAs };
    return Promise.resolve(true);
  }

  async countDeadLetters(filter: ExecutionFilter): Promise<number> {
    return (await this.list({ ...filter, deadLettersOnly: true, limit: Number.MAX_SAFE_INTEGER })).length;
  }

  async deleteDeadLetters(filter: ExecutionFilter): Promise<number> {
    const letters = await this.list({ ...filter, deadLettersOnly: true, oldestFirst: true });
    for (const { accepted } of letters) {
      const stored = this.#finished.get(accepted.executionId);
      if (!stored) continue;
      this.#dropPayload(stored);
      this.#expiring.deadLetters.delete(stored);
      this.#finished.delete(accepted.executionId);
    }
    return letters.length;
  }

  recover(partitions: readonly number[]): Promise<RecoveredExecutions> {
    const now = this.#options.clock.now();
    const wanted = new Set(partitions);
    const unfinished: UnfinishedExecution[] = [];
    for (const [executionId, known] of this.#unfinished) {
      if (!wanted.has(partitionOfExecution(executionId))) continue;
      const attempts = known.attempts + (mayHaveStarted(known.accepted, now) ? 1 : 0);
      const recovered = { ...known, attempts };
      this.#unfinished.set(executionId, recovered);
      unfinished.push(recovered);
    }
    unfinished.sort((a, b) => (a.accepted.executionId < b.accepted.executionId ? -1 : 1));
    const keys = [...this.#boundKeys(wanted, now).values()].flatMap((binding) => binding ?? []);
    return Promise.resolve({ unfinished, keys });
  }

  /** The latest end of each key decides: one that may pass binds it to nothing. */
  #boundKeys(partitions: ReadonlySet<number>, now: number): ReadonlyMap<string, KeyBinding | undefined> {
    const bound = new Map<string, KeyBinding | undefined>();
    for (const [executionId, { execution, expiresAt: storedUntil }] of this.#finished) {
      const { accepted, outcome } = execution;
      const { tenantId, functionName, generation, idempotencyKey } = accepted;
      if (idempotencyKey === undefined || !partitions.has(partitionOfExecution(executionId))) continue;
      // A dead letter is stored longer than its key is bound.
      const expiresAt = outcome.deadLetter ? outcome.finishedAt + this.#options.ttlMs : storedUntil;
      const isBound = expiresAt > now && !outcome.isTransient;
      const binding = { tenantId, functionName, generation, idempotencyKey, executionId, expiresAt };
      bound.set(`${tenantId} ${functionName} ${generation} ${idempotencyKey}`, isBound ? binding : undefined);
    }
    return bound;
  }

  #readable(executionId: string): StoredExecution | undefined {
    const stored = this.#finished.get(executionId);
    return stored && stored.expiresAt > this.#options.clock.now() ? stored : undefined;
  }

  #armSweep(): void {
    this.#cancelSweep = this.#options.clock.after(sweepMs, () => {
      this.#sweep();
      this.#armSweep();
    });
  }

  #sweep(): void {
    const now = this.#options.clock.now();
    for (const queue of Object.values(this.#expiring)) {
      for (const stored of queue) {
        if (stored.expiresAt > now) break;
        queue.delete(stored);
        this.#dropPayload(stored);
        this.#finished.delete(stored.execution.accepted.executionId);
      }
    }
  }

  #dropPayload(stored: StoredExecution): void {
    if (!this.#withPayload.delete(stored)) return;
    this.#bytes -= payloadBytes(stored.execution);
    const { accepted, outcome, ...rest } = stored.execution;
    const { output: _, ...outcomeWithoutOutput } = outcome;
    stored.execution = {
      ...rest,
      accepted: { ...accepted, payload: { json: 'null' } },
      outcome: outcomeWithoutOutput,
      evicted: true,
    };
  }
}

function payloadBytes({ accepted, outcome }: FinishedExecution): number {
  return accepted.payload.json.length + (outcome.output?.json.length ?? 0);
}

function matchesFilter({ accepted, outcome, redrivenAs }: FinishedExecution, filter: ExecutionFilter): boolean {
  const { executionId, acceptedAt } = accepted;
  if (accepted.tenantId !== filter.tenantId) return false;
  if (filter.functionName !== undefined && accepted.functionName !== filter.functionName) return false;
  if (filter.status !== undefined && outcome.status !== filter.status) return false;
  if (filter.from !== undefined && acceptedAt < filter.from) return false;
  if (filter.to !== undefined && acceptedAt >= filter.to) return false;
  if (filter.idempotencyKey !== undefined && accepted.idempotencyKey !== filter.idempotencyKey) return false;
  if (filter.traceId !== undefined && accepted.traceId !== filter.traceId) return false;
  if (filter.executionIds !== undefined && !filter.executionIds.includes(executionId)) return false;
  if (filter.errorCode !== undefined && outcome.error?.code !== filter.errorCode) return false;
  if (filter.deadLettersOnly && (!outcome.deadLetter || redrivenAs !== undefined)) return false;
  if (filter.after === undefined) return true;
  return filter.oldestFirst ? executionId > filter.after : executionId < filter.after;
}
