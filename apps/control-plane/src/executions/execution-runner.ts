import { hasCode, type ExecutionError, type ExecutionMode } from '@drover/contracts';
import type { AttemptResult, Dispatcher } from '@drover/dispatchers';
import type { ExecutionOutcome, ExecutionStore } from '@drover/execution-store';
import type { Clock, Observe, Randomness } from '@drover/service-kit';
import type { SyncCallMetrics } from './function-metrics.js';
import type { FunctionQueue } from './function-queue.js';
import type { LiveExecution } from './live-execution.js';
import type { LiveExecutions } from './live-executions.js';
import type { InvocationObservation } from './observations.js';
import { isCounted, retryDelayMs, type AttemptFailure } from './attempts/retry-policy.js';
import { RunningAttempt, type AbandonReason } from './running-attempt.js';
import { Scheduler } from './scheduler.js';
import { Timetable } from './queues/timetable.js';

export interface ExecutionRunnerOptions {
  readonly dispatchers: Readonly<Record<ExecutionMode, Dispatcher>>;
  readonly store: ExecutionStore;
  readonly live: LiveExecutions;
  /** Whether this replica owns a partition at this very moment. */
  readonly isOwner?: ((partition: number) => boolean) | undefined;
  readonly sync: SyncCallMetrics;
  readonly maxInFlight: number;
  readonly tickMs: number;
  /** Time limit of an execution, from its acceptance or its `runAt` to its end. */
  readonly lifetimeMs: number;
  readonly callbackBaseUrl: (attempt: RunningAttempt) => string;
  /** The execution has ended, and its end is durable if the execution is. */
  readonly onEnded: (execution: LiveExecution, outcome: ExecutionOutcome) => void;
  /** The execution needs another attempt, which belongs to another replica, or waits for its function to return. */
  readonly onMoved: (execution: LiveExecution) => void;
  /** The store refused the end because this replica no longer owns the execution. */
  readonly onLost: (execution: LiveExecution, error: unknown) => void;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: Observe<InvocationObservation>;
}

/** A timer that fires this much too late shows that the process did not run. */
const pausedMs = 1_000;
/** Delay before the end of an execution is written again after the store was full. */
const writeAgainMs = 1_000;

/**
 * Takes an execution from its queue to its end: attempts, time limits, retries, outcome. An execution has one attempt at a time. An
 * attempt ends once, by the first of answer, `:complete`, time limit and cancellation. An outcome is decided once.
 */
export class ExecutionRunner {
  readonly timetable: Timetable;
  readonly #options: ExecutionRunnerOptions;
  readonly #scheduler: Scheduler;

  constructor(options: ExecutionRunnerOptions) {
    this.#options = options;
    this.timetable = new Timetable(options.clock, options.tickMs);
    const { maxInFlight, isOwner } = options;
    this.#scheduler = new Scheduler({
      maxInFlight,
      mayStart: ({ partition }) => isOwner?.(partition) ?? true,
      start: (execution) => this.#start(execution),
    });
  }

  get inFlight(): number {
    return this.#scheduler.inFlight;
  }

  /** Puts the execution into its function's queue. It must hold a place there. */
  enqueue(execution: LiveExecution): void {
    const { queue } = execution;
    execution.move('queued');
    queue.entries.push(execution);
    this.#scheduler.offer(queue);
  }

  /** Enqueues the execution at its `runAt`. */
  schedule(execution: LiveExecution): void {
    const { runAt = 0 } = execution.accepted;
    execution.move('scheduled');
    this.#enqueueAfter(execution, runAt - this.#options.clock.now());
  }

  /** Call it when the limit of the queue, or what runs its function, may have changed. */
  offer(queue: FunctionQueue): void {
    if (queue.endHold) this.#endHold(queue);
    else this.#scheduler.offer(queue);
  }

  /** Arms the time limit of the attempt. */
  limit(attempt: RunningAttempt): void {
    const { clock } = this.#options;
    if (attempt.isOver) return;
    attempt.cancelTimer();
    const leftMs = Math.max(0, attempt.startedMs + attempt.timeoutMs - clock.monotonicMs());
    attempt.cancelTimer = clock.after(leftMs, () => this.#timeOut(attempt));
  }

  /** Ends the attempt with a result that came through `:complete` instead of its dispatcher. */
  complete(attempt: RunningAttempt, result: AttemptResult): void {
    if (attempt.isOver) return;
    attempt.abandon('completed');
    this.#settle(attempt, result);
  }

  /** Ends the execution now, in whatever state it is. Does nothing when its end is decided. */
  end(
    execution: LiveExecution,
    status: ExecutionOutcome['status'],
    error: ExecutionError,
    reason: AbandonReason,
  ): void {
    if (execution.isOver) return;
    const end = execution.state === 'running' ? 'ending' : 'withdrawn';
    this.#release(execution, reason);
    this.#finish(execution, end, this.#outcome(execution, status, error, status !== 'cancelled'));
  }

  /** Drops the execution: it is refused, or another replica runs it. */
  drop(execution: LiveExecution): void {
    this.#release(execution, 'stopping');
    execution.move('dropped');
    if (execution.holdsKey) this.#releaseKey(execution);
  }

  #releaseKey(execution: LiveExecution): void {
    execution.queue.releaseKey(execution);
    this.#scheduler.offer(execution.queue);
  }

  /** Releases what the execution holds in its state: a place, a timer, or the slot of its attempt. */
  #release(execution: LiveExecution, reason: AbandonReason): void {
    const { live } = this.#options;
    switch (execution.state) {
      case 'accepting':
        if (execution.isDelayed) live.releaseScheduled();
        else execution.queue.waiting -= 1;
        return;
      case 'scheduled':
        live.releaseScheduled();
        return cancelTimer(execution);
      case 'retrying':
        return cancelTimer(execution);
      case 'queued':
        execution.queue.waiting -= 1; // its entry stays in the queue and is skipped there
        return;
      case 'running': {
        const { attempt } = execution;
        if (!attempt) return;
        this.#close(attempt);
        return attempt.abandon(reason);
      }
      default:
        return;
    }
  }

  /** The execution takes a place then, whether or not one is free: it was admitted before. */
  #enqueueAfter(execution: LiveExecution, delayMs: number): void {
    execution.cancelTimer = this.timetable.after(delayMs, () => {
      execution.cancelTimer = undefined;
      if (execution.state === 'scheduled') this.#options.live.releaseScheduled();
      execution.waitingSinceMs = this.#options.clock.monotonicMs();
      execution.queue.waiting += 1;
      this.enqueue(execution);
    });
  }

  #start(execution: LiveExecution): void {
    const { clock, dispatchers, callbackBaseUrl } = this.#options;
    const { queue } = execution;
    const nowMs = clock.monotonicMs();
    execution.attempts += 1;
    execution.move('running');
    const attempt = new RunningAttempt(execution, { now: clock.now(), monotonicMs: nowMs }, callbackBaseUrl);
    execution.attempt = attempt;
    queue.metrics.dispatched += 1;
    const waitedMs = nowMs - execution.waitingSinceMs;
    queue.metrics.queueWait.record(waitedMs);
    queue.recordStart(nowMs);
    if (execution.accepted.kind === 'sync') this.#options.sync.wait.record(waitedMs);
    // One timer is enough where the caller stops waiting first: the engine calls `limit` if the attempt outlives the wait.
    if (execution.isDurable || execution.awaitedUntilMs > nowMs + attempt.timeoutMs) this.limit(attempt);
    const dispatcher = dispatchers[queue.definition.mode];
    dispatcher.dispatch(attempt).then(
      (result) => this.#settle(attempt, result),
      (error: unknown) => {
        this.#options.observe({
          kind: 'invocation.dispatcher-failed',
          function: queue.name,
          mode: dispatcher.mode,
          error,
        });
        const message = 'The platform could not run this attempt. The log of the control plane has the reason.';
        this.#settle(attempt, { kind: 'failed', code: 'DISPATCH_FAILED', message, transient: true });
      },
    );
  }

  #timeOut(attempt: RunningAttempt): void {
    const { clock } = this.#options;
    if (attempt.isOver) return;
    const lateMs = clock.monotonicMs() - attempt.startedMs - attempt.timeoutMs;
    if (lateMs > pausedMs && !attempt.wasPaused) {
      // This process was paused. The answer may have arrived meanwhile, and is read before the next timer fires.
      attempt.wasPaused = true;
      attempt.cancelTimer = clock.after(pausedMs, () => this.#timeOut(attempt));
      return;
    }
    const code = attempt.definition.mode === 'POOL' ? 'POOL_TIMEOUT' : 'EXECUTION_TIMEOUT';
    const message = `no answer within ${attempt.timeoutMs} ms`;
    attempt.abandon('timeout');
    this.#settle(attempt, { kind: 'timeout', code, message });
  }

  #settle(attempt: RunningAttempt, result: AttemptResult): void {
    // Too late; or the result comes through `:complete`, which ends the attempt, as its time limit does.
    if (attempt.isOver || result.kind === 'handed-over') return;
    const { execution } = attempt;
    if (result.kind === 'failed' && result.queuePauseMs !== undefined && execution.accepted.kind === 'async')
      return this.#hold(attempt, result, result.queuePauseMs);
    const { metrics } = execution.queue;
    if (execution.queue.endHold && wasTaken(result)) this.#endHold(execution.queue);
    const durationMs = this.#options.clock.monotonicMs() - attempt.startedMs;
    metrics.latency.record(durationMs);
    execution.queue.recordDuration(durationMs);
    this.#close(attempt);
    if (result.kind === 'success') {
      metrics.countStart(result, durationMs);
      return this.#finish(execution, 'ending', this.#success(execution, result));
    }
    this.#settleFailure(attempt, result);
  }

  /** Returns an execution whose attempt was not made to the head of its queue, which waits as long as every attempt is refused. */
  #hold(attempt: RunningAttempt, failure: AttemptFailure, pauseMs: number): void {
    const { clock, onMoved } = this.#options;
    const { execution } = attempt;
    const { queue } = execution;
    if (!queue.endHold) {
      queue.endHold = this.timetable.after(pauseMs, () => this.#endHold(queue));
      queue.heldUntilMs = clock.monotonicMs() + pauseMs;
    }
    this.#close(attempt);
    if (queue.isRemovedFor(execution.accepted) || clock.now() >= this.#retryUntil(execution)) {
      const error = { code: failure.code, message: failure.message };
      return this.#finish(execution, 'ending', this.#outcome(execution, 'error', error, true));
    }
    execution.attempts -= 1; // its number was not used
    execution.move('queued');
    queue.waiting += 1;
    queue.entries.unshift(execution);
    if (queue.closed) onMoved(execution);
  }

  #endHold(queue: FunctionQueue): void {
    queue.endHold?.();
    queue.endHold = undefined;
    this.#scheduler.offer(queue);
  }

  /** When the last retry may start, in epoch milliseconds. */
  #retryUntil({ accepted, queue }: LiveExecution): number {
    const { lifetimeMs } = this.#options;
    const { acceptedAt, runAt = acceptedAt, kind } = accepted;
    // Time in a paused queue does not count.
    const since = Math.max(runAt, queue.definition.queueControl?.changedAt ?? 0);
    return since + (kind === 'async' ? Math.min(lifetimeMs, queue.definition.retry.windowMs) : lifetimeMs);
  }

  #settleFailure({ execution, number, startedAt }: RunningAttempt, failure: AttemptFailure): void {
    const { clock, randomness, onMoved } = this.#options;
    const { queue, accepted } = execution;
    const now = clock.now();
    const error = { code: failure.code, message: failure.message };
    const uncounted = isCounted(failure, accepted.kind) ? {} : ({ isUncounted: true } as const);
    execution.recordFailure({ attempt: number, startedAt, finishedAt: now, error, ...uncounted });
    // No late result can come of it, so its number is free for the attempt that reaches the function.
    if (uncounted.isUncounted && failure.kind === 'failed' && failure.wasNotSent) execution.attempts -= 1;
    // No other attempt for a caller that has left.
    const tries = { failed: execution.failed, uncounted: execution.uncounted, kind: accepted.kind };
    const delayMs = execution.isWanted ? retryDelayMs(queue.definition, tries, failure, randomness) : undefined;
    if (delayMs === undefined || queue.isRemovedFor(accepted) || now + delayMs > this.#retryUntil(execution)) {
      const status = failure.kind === 'timeout' ? 'timeout' : 'error';
      const isTransient = failure.kind === 'timeout' || failure.transient;
      return this.#finish(execution, 'ending', this.#outcome(execution, status, error, isTransient));
    }
    queue.metrics.retried += 1;
    execution.move('retrying');
    if (execution.isDurable) this.#recordRetry(execution);
    if (execution.isDurable && queue.closed) onMoved(execution);
    else this.#enqueueAfter(execution, delayMs);
  }

  #recordRetry({ accepted, failures, attempts }: LiveExecution): void {
    const { store, observe } = this.#options;
    store.recordRetry(accepted, failures, attempts).catch((reason: unknown) => {
      // The numbers of attempts still grow after a crash: the recovery adds one to the number that was stored.
      observe({ kind: 'invocation.retry-not-recorded', executionId: accepted.executionId, reason });
    });
  }

  /** Ends the attempt and releases its slot. */
  #close(attempt: RunningAttempt): void {
    if (attempt.isOver) return;
    attempt.cancelTimer();
    attempt.execution.attempt = undefined;
    this.#scheduler.releaseSlot(attempt.execution.queue);
  }

  #finish(execution: LiveExecution, state: 'ending' | 'withdrawn', outcome: ExecutionOutcome): void {
    execution.outcome = outcome;
    execution.move(state);
    if (execution.holdsKey) this.#releaseKey(execution);
    if (execution.isDurable) this.#storeEnd(execution, outcome);
    else this.#options.onEnded(execution, outcome);
  }

  #storeEnd(execution: LiveExecution, outcome: ExecutionOutcome): void {
    const { store, onEnded, onLost } = this.#options;
    const isAwaited = execution.waiters !== undefined && execution.waiters.length > 0;
    store.finish(execution.accepted, outcome, isAwaited).then(
      () => onEnded(execution, outcome),
      (error: unknown) => {
        // The store has no room while its database is away. The execution has ended; only the write has to wait.
        if (hasCode(error, 'EXECUTION_STORE_FULL'))
          this.timetable.after(writeAgainMs, () => this.#storeEnd(execution, outcome));
        else onLost(execution, error);
      },
    );
  }

  #success(execution: LiveExecution, result: Extract<AttemptResult, { kind: 'success' }>): ExecutionOutcome {
    return {
      status: 'success',
      finishedAt: this.#options.clock.now(),
      attempts: execution.attempts,
      failures: execution.failures,
      output: result.output,
      error: undefined,
      statusCode: result.statusCode,
      headers: result.headers,
      coldStart: result.coldStart,
      initDurationMs: result.initDurationMs,
      coldStartMs: result.coldStartMs,
      deadLetter: false,
    };
  }

  #outcome(
    execution: LiveExecution,
    status: ExecutionOutcome['status'],
    error: ExecutionError,
    isTransient: boolean,
  ): ExecutionOutcome {
    return {
      ...(isTransient && { isTransient }),
      status,
      finishedAt: this.#options.clock.now(),
      attempts: execution.attempts,
      failures: execution.failures,
      error,
      deadLetter: execution.accepted.kind === 'async' && (status === 'error' || status === 'timeout'),
    };
  }
}

/** Whether the function took the call, so that others may follow. */
function wasTaken(result: AttemptResult): boolean {
  return result.kind !== 'failed' || !(result.wasTurnedAway || result.wasNotTried);
}

function cancelTimer(execution: LiveExecution): void {
  execution.cancelTimer?.();
  execution.cancelTimer = undefined;
}
