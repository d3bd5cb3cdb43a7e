import { type AcceptedCall, defineStates, type ExecutionState, illegalTransition, isDurable } from '@drover/contracts';
import type { ExecutionOutcome, FailedAttempt } from '@drover/execution-store';
import type { CallAnswer } from './call-results.js';
import type { FunctionQueue } from './function-queue.js';
import type { RunningAttempt } from './running-attempt.js';

/**
 * An execution in the memory of the replica that owns its partition. An execution that is not durable passes through `accepting` at
 * once, since there is nothing to write.
 *
 * - accepting: admitted, being written to the store; holds a place in its function's queue or, when it is delayed, in the schedule
 * - scheduled: waits for its `runAt`; holds a place in the schedule and a timer
 * - queued: in its function's queue, where it holds a place
 * - running: has one attempt, which holds a slot. An attempt that was not made returns it to the head of its queue
 * - retrying: waits for the delay before its next attempt; holds a timer and no place
 * - ending: its last attempt is over and `outcome` is set; the outcome is being written
 * - withdrawn: ended without another attempt (cancelled, expired, function removed, no caller left, stored too late): `outcome` is set and being
 *   written. Its entry in the queue is skipped
 * - dropped: refused before it was accepted, or left to another replica; never runs here again. Its entry in the queue is skipped
 * - ended: the outcome is durable, if the execution is, and was reported. A write that was under way during a drop may still succeed
 */
export const liveExecutionStates = defineStates('live execution', {
  accepting: ['scheduled', 'queued', 'withdrawn', 'dropped'],
  scheduled: ['queued', 'withdrawn', 'dropped'],
  queued: ['running', 'withdrawn', 'dropped'],
  running: ['retrying', 'queued', 'ending', 'dropped'],
  retrying: ['queued', 'withdrawn', 'dropped'],
  ending: ['ended', 'dropped'],
  withdrawn: ['ended', 'dropped'],
  dropped: ['ended'],
  ended: [],
});

export type LiveExecutionState = (typeof liveExecutionStates.all)[number];

/** A caller, or the engine itself, that waits for the end. */
export interface ExecutionWaiter {
  answer(answer: CallAnswer): void;
  cancelTimer(): void;
}

/** Number of failed attempts that are remembered. */
const rememberedFailures = 10;

export class LiveExecution {
  readonly accepted: AcceptedCall;
  readonly queue: FunctionQueue;
  /** An execution that is not durable ends with this process. */
  readonly isDurable: boolean;
  /** Its `runAt` was in the future when it was admitted. */
  readonly isDelayed: boolean;
  /** Monotonic time of acceptance on this replica. */
  readonly acceptedMs: number;
  /** Settles when the store has answered the acceptance; undefined before it was handed to the store and afterwards. */
  pendingWrite: Promise<void> | undefined;
  /** Callers of it, without those that were told that it is not accepted because the store had not answered in time. */
  unrefusedCallers = 1;
  /** Monotonic time at which it last began to wait for a slot. */
  waitingSinceMs: number;
  /** Highest number of an attempt. */
  attempts = 0;
  /** Attempts that failed and count towards `maxRetries`, without those that ended with another process. */
  failed = 0;
  /** Attempts that failed and do not count, since this replica has the execution. */
  uncounted = 0;
  /** The latest of them. */
  failures: readonly FailedAttempt[] = [];
  /** No other execution with its concurrency key runs before it has ended. */
  holdsKey = false;
  /** Set while it is `running`. */
  attempt: RunningAttempt | undefined;
  /** Set from `ending` and `withdrawn` on. */
  outcome: ExecutionOutcome | undefined;
  /** Set while it is `scheduled` or `retrying`. */
  cancelTimer: (() => void) | undefined;
  waiters: ExecutionWaiter[] | undefined;
  /** Monotonic time until which a caller waits. Only for executions that are not durable. */
  awaitedUntilMs = 0;
  #state: LiveExecutionState = 'accepting';

  /** `now` in epoch milliseconds, `nowMs` of the monotonic clock. */
  constructor(accepted: AcceptedCall, queue: FunctionQueue, now: number, nowMs: number) {
    this.accepted = accepted;
    this.queue = queue;
    this.isDurable = isDurable(accepted);
    this.isDelayed = isAhead(accepted.runAt, now);
    this.acceptedMs = nowMs;
    this.waitingSinceMs = nowMs;
  }

  get state(): LiveExecutionState {
    return this.#state;
  }

  /** A plain check instead of a `StateMachine`: every call moves four times (`bench:functions-api`, calls). */
  move(to: LiveExecutionState): void {
    if (!liveExecutionStates.canMove(this.#state, to))
      throw illegalTransition({ machine: liveExecutionStates.name, from: this.#state, to });
    this.#state = to;
  }

  /** The status that the API shows. An end is shown once it is durable. */
  get status(): ExecutionState {
    switch (this.#state) {
      case 'running':
      case 'ending':
        return 'running';
      case 'ended':
        return this.outcome?.status ?? 'queued';
      default:
        return 'queued';
    }
  }

  /** Whether a caller may know it. Before it is durable it may still come to nothing. */
  get isAccepted(): boolean {
    return this.#state !== 'accepting';
  }

  /** Accepted, and no attempt runs. */
  get isWaiting(): boolean {
    return this.#state === 'queued' || this.#state === 'scheduled' || this.#state === 'retrying';
  }

  /** Whether its end is decided, or is another replica's to decide. */
  get isOver(): boolean {
    return this.outcome !== undefined || this.#state === 'dropped';
  }

  /** Whether its end would be reported: to a caller that waits, or by the store. */
  get isWanted(): boolean {
    return this.isDurable || (this.waiters !== undefined && this.waiters.length > 0);
  }

  recordFailure(failure: FailedAttempt): void {
    if (failure.isUncounted) this.uncounted += 1;
    else this.failed += 1;
    this.failures = [...this.failures.slice(1 - rememberedFailures), failure];
  }

  /** Answers every waiter, once. */
  answer(answer: CallAnswer): void {
    const { waiters } = this;
    if (!waiters) return;
    this.waiters = undefined;
    for (const waiter of waiters) {
      waiter.cancelTimer();
      waiter.answer(answer);
    }
  }
}

export function isAhead(runAt: number | undefined, now: number): boolean {
  return runAt !== undefined && runAt > now;
}
