import type { ExecutionError, FinalExecutionState, TenantId } from '@drover/contracts';
import type { Outcome } from '../executions/execution-store.js';
import type { Invocation } from '../invocation.js';
import { Deque } from '../queues/deque.js';

/** What is remembered of a call that nobody asked to keep: how it ended, not what it returned. */
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
}

/** The latest synchronous calls, for a while and up to a number. */
export class RecentCalls {
  readonly #calls = new Map<string, RecentCall>();
  /** Oldest first. A map knows that order, too, but has to step over everything that was deleted to find its first. */
  readonly #order = new Deque<RecentCall>();
  readonly #capacity: number;
  readonly #keepMs: number;

  constructor(limits: { readonly capacity: number; readonly keepMs: number }) {
    this.#capacity = limits.capacity;
    this.#keepMs = limits.keepMs;
  }

  add(call: RecentCall): void {
    this.#calls.set(call.executionId, call);
    this.#order.push(call);
    if (this.#order.size > this.#capacity) this.#forgetOldest();
  }

  find(executionId: string, now: number): RecentCall | undefined {
    const call = this.#calls.get(executionId);
    return call && call.finishedAt + this.#keepMs > now ? call : undefined;
  }

  /** Newest last. */
  all(): IterableIterator<RecentCall> {
    return this.#calls.values();
  }

  sweep(now: number): void {
    for (
      let oldest = this.#order.peek();
      oldest && oldest.finishedAt + this.#keepMs <= now;
      oldest = this.#order.peek()
    )
      this.#forgetOldest();
  }

  #forgetOldest(): void {
    const oldest = this.#order.shift();
    if (oldest) this.#calls.delete(oldest.executionId);
  }
}

export function toRecentCall(invocation: Invocation, outcome: Outcome): RecentCall {
  const { executionId, tenantId, functionName, acceptedAt, traceId } = invocation;
  const { status, finishedAt, attempts, error } = outcome;
  return { executionId, tenantId, functionName, acceptedAt, traceId, status, finishedAt, attempts, error };
}
