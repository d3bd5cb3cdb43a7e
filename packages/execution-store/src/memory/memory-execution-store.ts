import type { AcceptedCall, TenantId } from '@drover/contracts';
import type { Clock } from '@drover/service-kit';
import { partitionOfExecution } from '@drover/ownership';
import type {
  ExecutionFilter,
  ExecutionStore,
  FailedAttempt,
  FinishedExecution,
  KeyBinding,
  ExecutionOutcome,
  UnfinishedExecution,
} from '../execution-store.js';
import { mayHaveBegun } from '../may-have-begun.js';
import { matches } from './matches.js';

export interface MemoryExecutionStoreOptions {
  readonly ttlMs: number;
  readonly deadLetterTtlMs: number;
  /** Characters of inputs and outputs of finished executions. */
  readonly maxBytes: number;
  readonly clock: Clock;
}

interface Kept {
  execution: FinishedExecution;
  readonly expiresAt: number;
}

/** Often enough that what is kept too long stays a small part, seldom enough to cost nothing. */
const sweepMs = 5_000;

/**
 * The seed's mode: executions live as long as the process. Those that ended are removed when their time is over; when
 * their inputs and outputs take too much room the oldest are dropped, while the record and the binding of its key stay.
 */
export class MemoryExecutionStore implements ExecutionStore {
  readonly name = 'execution store in memory';
  readonly isDurable = false;
  readonly #options: MemoryExecutionStoreOptions;
  readonly #unfinished = new Map<string, UnfinishedExecution>();
  readonly #finished = new Map<string, Kept>();
  // Each in the order of their end, which is the order in which they expire: only the front has to be looked at.
  readonly #expiring = { soon: new Set<Kept>(), late: new Set<Kept>() };
  readonly #withPayload = new Set<Kept>();
  #bytes = 0;
  #cancelSweep: () => void = () => undefined;

  constructor(options: MemoryExecutionStoreOptions) {
    this.#options = options;
  }

  /** Executions that have ended and are kept. */
  get size(): number {
    return this.#finished.size;
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
    // What has ended stays as it ended.
    if (this.#finished.has(executionId)) return Promise.resolve();
    const { ttlMs, deadLetterTtlMs, maxBytes } = this.#options;
    const expiresAt = outcome.finishedAt + (outcome.deadLetter ? deadLetterTtlMs : ttlMs);
    const kept: Kept = { execution: { accepted, outcome, evicted: false }, expiresAt };
    this.#finished.set(executionId, kept);
    this.#expiring[outcome.deadLetter ? 'late' : 'soon'].add(kept);
    this.#withPayload.add(kept);
    this.#bytes += payloadBytes(kept.execution);
    for (const oldest of this.#withPayload) {
      if (this.#bytes <= maxBytes) break;
      this.#dropPayload(oldest);
    }
    return Promise.resolve();
  }

  find(tenantId: TenantId, executionId: string): Promise<FinishedExecution | undefined> {
    const kept = this.#readable(executionId);
    return Promise.resolve(kept?.execution.accepted.tenantId === tenantId ? kept.execution : undefined);
  }

  list(filter: ExecutionFilter): Promise<readonly FinishedExecution[]> {
    const now = this.#options.clock.now();
    const found: FinishedExecution[] = [];
    for (const { execution, expiresAt } of this.#finished.values()) {
      if (expiresAt > now && matches(execution, filter)) found.push(execution);
    }
    const direction = filter.oldestFirst ? 1 : -1;
    found.sort((a, b) => (a.accepted.executionId < b.accepted.executionId ? -direction : direction));
    return Promise.resolve(found.slice(0, filter.limit));
  }

  markRedriven(tenantId: TenantId, executionId: string, redrivenAs: string): Promise<boolean> {
    const kept = this.#readable(executionId);
    if (!kept || kept.execution.accepted.tenantId !== tenantId) return Promise.resolve(false);
    const { execution } = kept;
    if (!execution.outcome.deadLetter || execution.redrivenAs !== undefined) return Promise.resolve(false);
    kept.execution = { ...execution, redrivenAs };
    return Promise.resolve(true);
  }

  recover(partitions: readonly number[]): Promise<{
    readonly unfinished: readonly UnfinishedExecution[];
    readonly keys: readonly KeyBinding[];
  }> {
    const now = this.#options.clock.now();
    const wanted = new Set(partitions);
    const unfinished: UnfinishedExecution[] = [];
    for (const [executionId, known] of this.#unfinished) {
      if (!wanted.has(partitionOfExecution(executionId))) continue;
      const attempts = known.attempts + (mayHaveBegun(known.accepted, now) ? 1 : 0);
      const recovered = { ...known, attempts };
      this.#unfinished.set(executionId, recovered);
      unfinished.push(recovered);
    }
    unfinished.sort((a, b) => (a.accepted.executionId < b.accepted.executionId ? -1 : 1));
    const keys: KeyBinding[] = [];
    for (const [executionId, { execution, expiresAt }] of this.#finished) {
      const { tenantId, functionName, generation, idempotencyKey } = execution.accepted;
      if (idempotencyKey === undefined || expiresAt <= now || !wanted.has(partitionOfExecution(executionId))) continue;
      keys.push({ tenantId, functionName, generation, idempotencyKey, executionId, expiresAt });
    }
    return Promise.resolve({ unfinished, keys });
  }

  #readable(executionId: string): Kept | undefined {
    const kept = this.#finished.get(executionId);
    return kept && kept.expiresAt > this.#options.clock.now() ? kept : undefined;
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
      for (const kept of queue) {
        if (kept.expiresAt > now) break;
        queue.delete(kept);
        this.#dropPayload(kept);
        this.#finished.delete(kept.execution.accepted.executionId);
      }
    }
  }

  #dropPayload(kept: Kept): void {
    if (!this.#withPayload.delete(kept)) return;
    this.#bytes -= payloadBytes(kept.execution);
    const { accepted, outcome, ...rest } = kept.execution;
    const { output: _, ...outcomeWithoutOutput } = outcome;
    kept.execution = {
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
