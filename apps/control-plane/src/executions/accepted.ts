import type { ExecutionState } from '@drover/contracts';
import { resultEvicted } from './errors.js';
import type { CallAnswer, LiveExecution, CallRefusal } from './live-execution.js';

/** What became of a call that nobody waits for. */
export type EnqueueResult =
  | { readonly executionId: string; readonly status: ExecutionState }
  | { readonly refusal: CallRefusal };

export function toEnqueueResult({ accepted: { executionId }, state }: LiveExecution): EnqueueResult {
  return { executionId, status: state };
}

/** The call came with a key that stands for an execution that has ended. */
export function toRepeatedResult(answer: CallAnswer): EnqueueResult {
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
