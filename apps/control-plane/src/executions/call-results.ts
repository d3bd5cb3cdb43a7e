import {
  isCodedError,
  type AcceptedCall,
  type CodedError,
  type ExecutionState,
  type FinalExecutionState,
} from '@drover/contracts';
import type { ExecutionOutcome } from '@drover/execution-store';
import { notKept, resultEvicted } from './errors.js';

/** The answer to a caller that waits for the end of an execution. Each wait gets one. */
export type CallAnswer =
  | { readonly kind: 'ended'; readonly accepted: AcceptedCall; readonly outcome: ExecutionOutcome }
  /** The caller's time is over; the execution goes on if it is durable or another caller waits for it. */
  | { readonly kind: 'overdue'; readonly executionId: string; readonly state: 'queued' | 'running' }
  /** The idempotency key stands for an execution that has ended and whose result is no longer stored. */
  | { readonly kind: 'evicted'; readonly executionId: string; readonly status: FinalExecutionState }
  | { readonly kind: 'refused'; readonly refusal: CallRefusal };

export interface CallRefusal {
  readonly error: CodedError;
  readonly retryAfterSeconds?: number;
  /** Why the queue refused the call. */
  readonly reason?: 'depth' | 'est_wait' | 'timeout' | 'bytes';
}

/** The answer to a caller that does not wait for the end. An execution id is a promise: the execution is durable. */
export type EnqueueResult =
  | { readonly executionId: string; readonly status: ExecutionState }
  | { readonly refusal: CallRefusal };

/** Converts the answer to a call whose idempotency key stands for an execution that has ended. */
export function toEnqueueResult(answer: CallAnswer): EnqueueResult {
  switch (answer.kind) {
    case 'ended':
      return { executionId: answer.accepted.executionId, status: answer.outcome.status };
    case 'evicted':
      return { refusal: { error: resultEvicted(answer) } };
    case 'overdue':
      return { executionId: answer.executionId, status: answer.state };
    case 'refused':
      return answer;
  }
}

/** The answer for an execution that has just become durable. */
export function toAccepted({ accepted }: { readonly accepted: AcceptedCall }): EnqueueResult {
  return { executionId: accepted.executionId, status: 'queued' };
}

/** The refusal of a call that the store could not write. */
export function refusalFor(error: unknown): { readonly refusal: CallRefusal } {
  return { refusal: { error: isCodedError(error) ? error : notKept({}, error), retryAfterSeconds: 1 } };
}
