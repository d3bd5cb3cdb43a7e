import { hasCode, type ExecutionError, type ExecutionMode } from '@drover/contracts';
import type { Clock, Observe, Randomness } from '@drover/service-kit';
import type { AttemptResult, Dispatcher } from '@drover/dispatchers';
import type { ExecutionStore, ExecutionOutcome } from '@drover/execution-store';
import type { SyncFigures } from './function-figures.js';
import type { InvocationObservation } from './observations.js';
import { retryDelayMs, type Failure } from './retry-policy.js';
import type { FunctionLane } from './function-lane.js';
import type { LiveExecution } from './live-execution.js';
import { RunningAttempt, type Abandoned } from './running-attempt.js';
import { Scheduler } from './scheduler.js';
import { Timetable } from './timetable.js';

export interface ExecutionRunnerOptions {
  readonly dispatchers: Readonly<Record<ExecutionMode, Dispatcher>>;
  readonly store: ExecutionStore;
  /** Whether this is the home of a partition at this very moment; it always is unless told otherwise. */
  readonly isOwner?: ((partition: number) => boolean) | undefined;
  readonly sync: SyncFigures;
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
  queue(execution: LiveExecution): void {
    const { lane } = execution;
    lane.queue.push(execution);
    this.#scheduler.offer(lane);
  }

  /** Into the queue when the time has come. It takes a place then, whether or not there is one: it was admitted before. */
  queueLater(execution: LiveExecution, delayMs: number, onDue?: () => void): void {
    execution.cancelTimer = this.timetable.after(delayMs, () => {
      execution.cancelTimer = undefined;
      onDue?.();
      execution.waitingSinceMs = this.#options.clock.monotonicMs();
      execution.lane.waiting += 1;
      this.queue(execution);
    });
  }

  /** The lane's limit may have changed. */
  offer(lane: FunctionLane): void {
    this.#scheduler.offer(lane);
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
  end(execution: LiveExecution, status: ExecutionOutcome['status'], error: ExecutionError, why: Abandoned): void {
    if (execution.outcome) return;
    this.letGo(execution, why);
    this.#finish(execution, this.#outcome(execution, status, error));
  }

  /** Gives back whatever it holds: its place, its timer, its slot. */
  letGo(execution: LiveExecution, why: Abandoned): void {
    execution.cancelTimer?.();
    if (execution.attempt) {
      const { attempt } = execution;
      this.#close(attempt);
      attempt.abandon(why);
    } else if (execution.state === 'queued' && !execution.cancelTimer && !execution.isScheduled && !execution.outcome) {
      execution.lane.waiting -= 1; // it stays in the queue and is passed over there
    }
    execution.cancelTimer = undefined;
  }

  #start(execution: LiveExecution): void {
    const { clock, dispatchers, callbackBaseUrl } = this.#options;
    const { lane } = execution;
    const nowMs = clock.monotonicMs();
    execution.attempts += 1;
    execution.move('running');
    const attempt = new RunningAttempt(execution, { now: clock.now(), monotonicMs: nowMs }, callbackBaseUrl);
    execution.attempt = attempt;
    lane.figures.dispatched += 1;
    const waitedMs = nowMs - execution.waitingSinceMs;
    lane.figures.queueWait.observe(waitedMs);
    if (execution.accepted.kind === 'sync') this.#options.sync.wait.observe(waitedMs);
    // One clock is enough where the caller's patience ends first: `limit` sets the other if the call outlives it.
    if (execution.isDurable || execution.waitedForUntilMs > nowMs + attempt.timeoutMs) this.limit(attempt);
    const dispatcher = dispatchers[lane.definition.mode];
    dispatcher.dispatch(attempt).then(
      (result) => this.#settle(attempt, result),
      (error: unknown) => {
        this.#options.observe({ kind: 'invocation.dispatch-broke', function: lane.name, mode: dispatcher.mode, error });
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
    const { figures } = execution.lane;
    const durationMs = clock.monotonicMs() - attempt.startedMs;
    figures.latency.observe(durationMs);
    execution.lane.noteService(durationMs);
    this.#close(attempt);
    if (result.kind === 'success') {
      noteStart(figures, result, durationMs);
      return this.#finish(execution, this.#success(execution, result));
    }
    const now = clock.now();
    const error = { code: result.code, message: result.message };
    const wasTried = result.kind === 'timeout' || !result.wasNotTried;
    execution.noteFailure({ attempt: attempt.number, startedAt: attempt.startedAt, finishedAt: now, error }, wasTried);
    // Somebody who asked and left does not want another try.
    const delayMs = execution.isWanted
      ? retryDelayMs(execution.lane.definition, execution.failed, result, randomness)
      : undefined;
    const { acceptedAt, runAt = acceptedAt } = execution.accepted;
    const { closed } = execution.lane;
    if (delayMs === undefined || closed === 'removed' || now + delayMs > runAt + lifetimeMs)
      return this.#finish(execution, this.#failure(execution, result));
    figures.retried += 1;
    execution.move('queued');
    if (execution.isDurable) this.#noteRetry(execution);
    if (execution.isDurable && closed === 'moved') this.#options.onMoved(execution);
    else this.queueLater(execution, delayMs);
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
    this.#scheduler.giveBack(attempt.execution.lane);
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

  #failure(execution: LiveExecution, { kind, code, message }: Failure): ExecutionOutcome {
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

function noteStart(
  figures: FunctionLane['figures'],
  { coldStart, initDurationMs }: Extract<AttemptResult, { kind: 'success' }>,
  durationMs: number,
): void {
  if (!coldStart) return void (figures.warmStarts += 1);
  figures.coldStarts += 1;
  figures.coldStart.observe(durationMs);
  if (initDurationMs !== undefined) figures.initDuration.observe(initDurationMs);
}
