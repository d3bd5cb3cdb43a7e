import { hasCode, type ExecutionError, type ExecutionMode } from '@drover/contracts';
import type { Clock, Observe, Randomness } from '@drover/service-kit';
import type { AttemptResult, Dispatcher } from '@drover/dispatchers';
import type { ExecutionStore, ExecutionOutcome } from '@drover/execution-store';
import type { SyncCallMetrics } from './function-metrics.js';
import type { InvocationObservation } from './observations.js';
import { retryDelayMs, type AttemptFailure } from './retry-policy.js';
import type { FunctionQueue } from './function-queue.js';
import type { LiveExecution } from './live-execution.js';
import { RunningAttempt, type AbandonReason } from './running-attempt.js';
import { Scheduler } from './scheduler.js';
import { Timetable } from './timetable.js';

export interface ExecutionRunnerOptions {
  readonly dispatchers: Readonly<Record<ExecutionMode, Dispatcher>>;
  readonly store: ExecutionStore;
  /** Whether this is the home of a partition at this very moment; it always is unless told otherwise. */
  readonly isOwner?: ((partition: number) => boolean) | undefined;
  readonly sync: SyncCallMetrics;
  readonly maxInFlight: number;
  readonly tickMs: number;
  /** How long an execution may take from acceptance, or from its time, to its end. */
  readonly lifetimeMs: number;
  readonly callbackBaseUrl: (attempt: RunningAttempt) => string;
  /** The end is kept, if it is one to keep: now it may be told. */
  readonly onEnded: (execution: LiveExecution, outcome: ExecutionOutcome) => void;
  /** It is to be tried again, and not here: its home has moved. */
  readonly onMoved: (execution: LiveExecution) => void;
  /** The end could not be kept, because this is no longer the execution's home. */
  readonly onLost: (execution: LiveExecution, error: unknown) => void;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: Observe<InvocationObservation>;
}

const keepAgainMs = 1_000;

/**
 * Takes an execution from its queue to its end: attempt, deadline, retry, outcome. Rules: an execution has one attempt at a
 * time; an attempt is over once, by the first of answer, `:complete`, deadline, cancellation; an outcome is decided once.
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

  /** Into its function's queue. Its place must have been taken before. */
  enqueue(execution: LiveExecution): void {
    const { queue } = execution;
    queue.entries.push(execution);
    this.#scheduler.offer(queue);
  }

  /** Into the queue when the time has come. It takes a place then, whether or not there is one: it was admitted before. */
  enqueueAfter(execution: LiveExecution, delayMs: number, onDue?: () => void): void {
    execution.cancelTimer = this.timetable.after(delayMs, () => {
      execution.cancelTimer = undefined;
      onDue?.();
      execution.waitingSinceMs = this.#options.clock.monotonicMs();
      execution.queue.waiting += 1;
      this.enqueue(execution);
    });
  }

  /** The queue's limit may have changed. */
  offer(queue: FunctionQueue): void {
    this.#scheduler.offer(queue);
  }

  /** Sees to it that the attempt ends when its own time is over. */
  limit(attempt: RunningAttempt): void {
    const { clock } = this.#options;
    if (attempt.isOver) return;
    attempt.cancelTimer();
    const leftMs = Math.max(0, attempt.startedMs + attempt.timeoutMs - clock.monotonicMs());
    attempt.cancelTimer = clock.after(leftMs, () => this.#overdue(attempt));
  }

  /** An answer that came by another way than the dispatcher's own. */
  complete(attempt: RunningAttempt, result: AttemptResult): void {
    if (attempt.isOver) return;
    attempt.abandon('completed');
    this.#settle(attempt, result);
  }

  /** Ends it now, whatever it is doing. */
  end(execution: LiveExecution, status: ExecutionOutcome['status'], error: ExecutionError, why: AbandonReason): void {
    if (execution.outcome) return;
    this.release(execution, why);
    this.#finish(execution, this.#outcome(execution, status, error));
  }

  /** Gives back whatever it holds: its place, its timer, its slot. */
  release(execution: LiveExecution, why: AbandonReason): void {
    execution.cancelTimer?.();
    if (execution.attempt) {
      const { attempt } = execution;
      this.#close(attempt);
      attempt.abandon(why);
    } else if (execution.state === 'queued' && !execution.cancelTimer && !execution.isScheduled && !execution.outcome) {
      execution.queue.waiting -= 1; // it stays in the queue and is passed over there
    }
    execution.cancelTimer = undefined;
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
    queue.metrics.queueWait.observe(waitedMs);
    if (execution.accepted.kind === 'sync') this.#options.sync.wait.observe(waitedMs);
    // One clock is enough where the caller's patience ends first: `limit` sets the other if the call outlives it.
    if (execution.isDurable || execution.waitedForUntilMs > nowMs + attempt.timeoutMs) this.limit(attempt);
    const dispatcher = dispatchers[queue.definition.mode];
    dispatcher.dispatch(attempt).then(
      (result) => this.#settle(attempt, result),
      (error: unknown) => {
        this.#options.observe({
          kind: 'invocation.dispatch-broke',
          function: queue.name,
          mode: dispatcher.mode,
          error,
        });
        const message = 'the platform could not run this attempt; its log says why';
        this.#settle(attempt, { kind: 'failed', code: 'DISPATCH_FAILED', message, transient: true });
      },
    );
  }

  #overdue(attempt: RunningAttempt): void {
    if (attempt.isOver) return;
    const code = attempt.definition.mode === 'POOL' ? 'POOL_TIMEOUT' : 'EXECUTION_TIMEOUT';
    const message = `no answer within ${attempt.timeoutMs} ms`;
    attempt.abandon('timeout');
    this.#settle(attempt, { kind: 'timeout', code, message });
  }

  #settle(attempt: RunningAttempt, result: AttemptResult): void {
    // Too late; or the other side will tell through `:complete`, which ends the attempt, as its deadline does.
    if (attempt.isOver || result.kind === 'handed-over') return;
    const { clock, lifetimeMs, randomness } = this.#options;
    const { execution } = attempt;
    const { metrics } = execution.queue;
    const durationMs = clock.monotonicMs() - attempt.startedMs;
    metrics.latency.observe(durationMs);
    execution.queue.recordServiceTime(durationMs);
    this.#close(attempt);
    if (result.kind === 'success') {
      recordStart(metrics, result, durationMs);
      return this.#finish(execution, this.#success(execution, result));
    }
    const now = clock.now();
    const error = { code: result.code, message: result.message };
    const wasTried = result.kind === 'timeout' || !result.wasNotTried;
    execution.recordFailure(
      { attempt: attempt.number, startedAt: attempt.startedAt, finishedAt: now, error },
      wasTried,
    );
    // Somebody who asked and left does not want another try.
    const delayMs = execution.isWanted
      ? retryDelayMs(execution.queue.definition, execution.failed, result, randomness)
      : undefined;
    const { acceptedAt, runAt = acceptedAt } = execution.accepted;
    const { closed } = execution.queue;
    if (delayMs === undefined || closed === 'removed' || now + delayMs > runAt + lifetimeMs)
      return this.#finish(execution, this.#failure(execution, result));
    metrics.retried += 1;
    execution.move('queued');
    if (execution.isDurable) this.#noteRetry(execution);
    if (execution.isDurable && closed === 'moved') this.#options.onMoved(execution);
    else this.enqueueAfter(execution, delayMs);
  }

  #noteRetry({ accepted, failures, attempts }: LiveExecution): void {
    const { store, observe } = this.#options;
    store.recordRetry(accepted, failures, attempts).catch((reason: unknown) => {
      // The numbers of attempts still grow after a crash: whoever recovers adds one to what was kept.
      observe({ kind: 'invocation.note-failed', executionId: accepted.executionId, reason });
    });
  }

  /** The attempt is over: its slot is free for the next. */
  #close(attempt: RunningAttempt): void {
    if (attempt.isOver) return;
    attempt.isOver = true;
    attempt.cancelTimer();
    attempt.execution.attempt = undefined;
    this.#scheduler.releaseSlot(attempt.execution.queue);
  }

  #finish(execution: LiveExecution, outcome: ExecutionOutcome): void {
    const { onEnded } = this.#options;
    execution.outcome = outcome;
    if (execution.isDurable) this.#keepEnd(execution, outcome);
    else onEnded(execution, outcome);
  }

  #keepEnd(execution: LiveExecution, outcome: ExecutionOutcome): void {
    const { store, onEnded, onLost } = this.#options;
    const isAwaited = execution.waiters !== undefined && execution.waiters.length > 0;
    store.finish(execution.accepted, outcome, isAwaited).then(
      () => onEnded(execution, outcome),
      (error: unknown) => {
        // The store has no room while its database is away: it has ended, and only has to wait until that can be said.
        if (hasCode(error, 'EXECUTION_STORE_FULL'))
          this.timetable.after(keepAgainMs, () => this.#keepEnd(execution, outcome));
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
      deadLetter: false,
    };
  }

  #failure(execution: LiveExecution, { kind, code, message }: AttemptFailure): ExecutionOutcome {
    return this.#outcome(execution, kind === 'timeout' ? 'timeout' : 'error', { code, message });
  }

  #outcome(execution: LiveExecution, status: ExecutionOutcome['status'], error: ExecutionError): ExecutionOutcome {
    return {
      status,
      finishedAt: this.#options.clock.now(),
      attempts: execution.attempts,
      failures: execution.failures,
      error,
      deadLetter: execution.accepted.kind === 'async' && (status === 'error' || status === 'timeout'),
    };
  }
}

function recordStart(
  metrics: FunctionQueue['metrics'],
  { coldStart, initDurationMs }: Extract<AttemptResult, { kind: 'success' }>,
  durationMs: number,
): void {
  if (!coldStart) return void (metrics.warmStarts += 1);
  metrics.coldStarts += 1;
  metrics.coldStart.observe(durationMs);
  if (initDurationMs !== undefined) metrics.initDuration.observe(initDurationMs);
}
