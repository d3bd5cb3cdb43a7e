import type {
  AcceptedCall,
  ColdStartBreakdown,
  ExecutionError,
  FinalExecutionState,
  TenantId,
} from '@drover/contracts';
import type { ExecutionOutcome } from '@drover/execution-store';
import { Deque } from './queues/deque.js';

/** What is remembered of a call that is not durable: how it ended, not what it returned. */
export interface RecentCall {
  readonly executionId: string;
  readonly tenantId: TenantId;
  readonly functionName: string;
  readonly status: FinalExecutionState;
  readonly acceptedAt: number;
  readonly finishedAt: number;
  readonly attempts: number;
  readonly error: ExecutionError | undefined;
  readonly traceId: string | undefined;
  readonly coldStartMs: ColdStartBreakdown | undefined;
}

export interface RecentLimits {
  /** Limit of successes whose caller got the answer: they are many and seldom read again. */
  readonly answered: number;
  /** Limit of all others. */
  readonly others: number;
  readonly ttlMs: number;
}

/** The latest calls that were not durable, limited by age and number. */
export class RecentCalls {
  readonly #calls = new Map<string, RecentCall>();
  // Oldest first. A map has that order, too, but to find its first entry it steps over all deleted ones.
  readonly #answered = new Deque<RecentCall>();
  readonly #others = new Deque<RecentCall>();
  readonly #limits: RecentLimits;

  constructor(limits: RecentLimits) {
    this.#limits = limits;
  }

  add(call: RecentCall, wasAnswered: boolean): void {
    const isAnswered = wasAnswered && call.status === 'success';
    const calls = isAnswered ? this.#answered : this.#others;
    this.#calls.set(call.executionId, call);
    calls.push(call);
    if (calls.size > (isAnswered ? this.#limits.answered : this.#limits.others)) this.#removeOldest(calls);
  }

  find(executionId: string, now: number): RecentCall | undefined {
    const call = this.#calls.get(executionId);
    return call && call.finishedAt + this.#limits.ttlMs > now ? call : undefined;
  }

  /** In no particular order. */
  all(): IterableIterator<RecentCall> {
    return this.#calls.values();
  }

  sweep(now: number): void {
    for (const calls of [this.#answered, this.#others])
      for (let oldest = calls.peek(); oldest && oldest.finishedAt + this.#limits.ttlMs <= now; oldest = calls.peek())
        this.#removeOldest(calls);
  }

  #removeOldest(calls: Deque<RecentCall>): void {
    const oldest = calls.shift();
    if (oldest) this.#calls.delete(oldest.executionId);
  }
}

export function toRecentCall(accepted: AcceptedCall, outcome: ExecutionOutcome): RecentCall {
  const { executionId, tenantId, functionName, acceptedAt, traceId } = accepted;
  const { status, finishedAt, attempts, error, coldStartMs } = outcome;
  return { executionId, tenantId, functionName, acceptedAt, traceId, status, finishedAt, attempts, error, coldStartMs };
}
