import {
  type CodedError,
  type ExecutionState,
  executionStates,
  type FinalExecutionState,
  illegalTransition,
  type AcceptedCall,
  isDurable,
} from '@drover/contracts';
import type { FailedAttempt, ExecutionOutcome } from '@drover/execution-store';
import type { FunctionQueue } from './function-queue.js';
import type { RunningAttempt } from './running-attempt.js';

/** What somebody who waits hears, once. */
export type CallAnswer =
  | { readonly kind: 'ended'; readonly accepted: AcceptedCall; readonly outcome: ExecutionOutcome }
  /** This wait is over; the execution, if anybody else wants it, is not. */
  | { readonly kind: 'overdue'; readonly executionId: string; readonly state: 'queued' | 'running' }
  /** It had ended before, and its result is no longer kept. */
  | { readonly kind: 'evicted'; readonly executionId: string; readonly status: FinalExecutionState }
  | { readonly kind: 'refused'; readonly refusal: CallRefusal };

export interface CallRefusal {
  readonly error: CodedError;
  readonly retryAfterSeconds?: number;
  /** Where the queue refused: why. */
  readonly reason?: 'depth' | 'est_wait' | 'timeout' | 'bytes';
}

/** Somebody who waits for the end. */
export interface Waiter {
  answer(answer: CallAnswer): void;
  cancelTimer(): void;
}

/** How many failed attempts are remembered. */
const remembered = 10;

/** An execution that has not ended, at its home. */
export class LiveExecution {
  readonly accepted: AcceptedCall;
  readonly queue: FunctionQueue;
  /** It is in the store; what is not lives and dies with this process. */
  readonly isDurable: boolean;
  /** When it was accepted here, by the clock that never jumps. */
  readonly acceptedMs: number;
  state: ExecutionState = 'queued';
  /** It is durable in the store. */
  isStored = false;
  /** Settles when the store has answered; set while it is being made durable. */
  pendingWrite: Promise<void> | undefined;
  /** It goes on elsewhere, or was never accepted: whatever still holds it here must not run it. */
  isDropped = false;
  /** It waits for its time, and takes no place in the queue until then. */
  isScheduled = false;
  /** When it last began to wait for a slot. */
  waitingSinceMs: number;
  /** Highest number used. */
  attempts = 0;
  /** Attempts that failed; those that ended with another process are not among them. */
  failed = 0;
  /** The latest of them. */
  failures: readonly FailedAttempt[] = [];
  attempt: RunningAttempt | undefined;
  /** Decided, perhaps not yet durable. */
  outcome: ExecutionOutcome | undefined;
  waiters: Waiter[] | undefined;
  /** Until then somebody waits for one that is not durable. */
  waitedForUntilMs = 0;
  /** Takes it out of the timetable. */
  cancelTimer: (() => void) | undefined;

  constructor(accepted: AcceptedCall, queue: FunctionQueue, nowMs: number) {
    this.accepted = accepted;
    this.queue = queue;
    this.isDurable = isDurable(accepted);
    this.acceptedMs = nowMs;
    this.waitingSinceMs = nowMs;
  }

  move(to: ExecutionState): void {
    if (!executionStates.canMove(this.state, to))
      throw illegalTransition({ machine: executionStates.name, from: this.state, to });
    this.state = to;
  }

  /** The state that the API shows. */
  get status(): ExecutionState {
    return this.state;
  }

  /** Whether anybody would hear of its end. */
  get isWanted(): boolean {
    return this.isDurable || (this.waiters !== undefined && this.waiters.length > 0);
  }

  recordFailure(failure: FailedAttempt, wasTried: boolean): void {
    if (wasTried) this.failed += 1;
    this.failures = [...this.failures.slice(1 - remembered), failure];
  }

  /** Tells everybody who waits, once. */
  tell(answer: CallAnswer): void {
    const { waiters } = this;
    if (!waiters) return;
    this.waiters = undefined;
    for (const waiter of waiters) {
      waiter.cancelTimer();
      waiter.answer(answer);
    }
  }
}
