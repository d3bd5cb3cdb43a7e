import type { Clock } from '@drover/service-kit';
import type { CallAnswer, CallRefusal } from './call-results.js';
import { callerLeft, noCallerWaits } from './end-reasons.js';
import { notKeptYet } from './errors.js';
import type { ExecutionRunner } from './execution-runner.js';
import type { SyncCallMetrics } from './function-metrics.js';
import type { ExecutionWaiter, LiveExecution } from './live-execution.js';

export interface CallerWaitsOptions {
  readonly runner: Pick<ExecutionRunner, 'end' | 'limit'>;
  readonly sync: SyncCallMetrics;
  readonly clock: Clock;
}

/** Callers that wait for the end of an execution: for a time, or until they leave. */
export class CallerWaits {
  readonly #options: CallerWaitsOptions;

  constructor(options: CallerWaitsOptions) {
    this.#options = options;
  }

  /** Answers once, within `budgetMs`. Call the returned function when the caller has left; it returns false if it had its answer. */
  begin(execution: LiveExecution, budgetMs: number, answer: (answer: CallAnswer) => void): () => boolean {
    const { clock, runner, sync } = this.#options;
    const waiter: ExecutionWaiter = { answer, cancelTimer: () => undefined };
    (execution.waiters ??= []).push(waiter);
    if (execution.pendingWrite) execution.unrefusedCallers += 1;
    if (!execution.isDurable) execution.awaitedUntilMs = clock.monotonicMs() + budgetMs;
    waiter.cancelTimer = clock.after(budgetMs, () => {
      const { status } = execution;
      if (!this.#end(execution, waiter)) return;
      sync.timedOut += 1;
      const { executionId } = execution.accepted;
      if (execution.pendingWrite) answer({ kind: 'refused', refusal: refuseUnconfirmed(execution) });
      else answer({ kind: 'overdue', executionId, state: status === 'running' ? 'running' : 'queued' });
    });
    return () => {
      if (!this.#end(execution, waiter)) return false;
      // Its answer has no receiver. Closing the connection frees the slot, and lets the endpoint stop, too.
      if (!execution.isWanted && execution.attempt?.definition.mode === 'POOL')
        runner.end(execution, 'cancelled', callerLeft, 'cancelled');
      return true;
    };
  }

  /** Ends one wait. Returns false when it has ended before. An execution that waits and that no caller wants any more ends, too. */
  #end(execution: LiveExecution, waiter: ExecutionWaiter): boolean {
    const { runner } = this.#options;
    const at = execution.waiters?.indexOf(waiter) ?? -1;
    if (at < 0) return false;
    waiter.cancelTimer();
    execution.waiters?.splice(at, 1);
    if (!execution.isWanted && execution.attempt) runner.limit(execution.attempt);
    if (!execution.isWanted && execution.isWaiting) runner.end(execution, 'timeout', noCallerWaits, 'timeout');
    return true;
  }
}

/** Refuses a call because the store has not confirmed its execution in time, and counts that its caller knows. */
export function refuseUnconfirmed(execution: LiveExecution): CallRefusal {
  execution.unrefusedCallers -= 1;
  return { error: notKeptYet({}), retryAfterSeconds: 1 };
}
