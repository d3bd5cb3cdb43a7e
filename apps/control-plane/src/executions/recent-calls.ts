import type { ExecutionError, FinalExecutionState, AcceptedCall, TenantId } from '@drover/contracts';
import type { ExecutionOutcome } from '@drover/execution-store';
import { Deque } from './queues/deque.js';

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

export interface RecentLimits {
  /** Of successes that somebody was told of: nobody is likely to ask again, and there are many. */
  readonly told: number;
  /** Of all others. */
  readonly others: number;
  readonly keepMs: number;
}

/** The latest synchronous calls, for a while and up to a number. */
export class RecentCalls {
  readonly #calls = new Map<string, RecentCall>();
  // Oldest first. A map knows that order, too, but has to step over everything that was deleted to find its first.
  readonly #told = new Deque<RecentCall>();
  readonly #others = new Deque<RecentCall>();
  readonly #limits: RecentLimits;

  constructor(limits: RecentLimits) {
    this.#limits = limits;
  }

  add(call: RecentCall, wasTold: boolean): void {
    const isTold = wasTold && call.status === 'success';
    const line = isTold ? this.#told : this.#others;
    this.#calls.set(call.executionId, call);
    line.push(call);
    if (line.size > (isTold ? this.#limits.told : this.#limits.others)) this.#forgetOldest(line);
  }

  find(executionId: string, now: number): RecentCall | undefined {
    const call = this.#calls.get(executionId);
    return call && call.finishedAt + this.#limits.keepMs > now ? call : undefined;
  }

  /** In no order. */
  all(): IterableIterator<RecentCall> {
    return this.#calls.values();
  }

  sweep(now: number): void {
    for (const line of [this.#told, this.#others])
      for (let oldest = line.peek(); oldest && oldest.finishedAt + this.#limits.keepMs <= now; oldest = line.peek())
        this.#forgetOldest(line);
  }

  #forgetOldest(line: Deque<RecentCall>): void {
    const oldest = line.shift();
    if (oldest) this.#calls.delete(oldest.executionId);
  }
}

export function toRecentCall(accepted: AcceptedCall, outcome: ExecutionOutcome): RecentCall {
  const { executionId, tenantId, functionName, acceptedAt, traceId } = accepted;
  const { status, finishedAt, attempts, error } = outcome;
  return { executionId, tenantId, functionName, acceptedAt, traceId, status, finishedAt, attempts, error };
}
