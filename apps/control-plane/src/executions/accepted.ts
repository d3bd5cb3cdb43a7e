import type { ExecutionState } from '@drover/contracts';
import { resultEvicted } from './errors.js';
import type { Answer, LiveExecution, Refusal } from './live-execution.js';

/** What became of a call that nobody waits for. */
export type Accepted =
  | { readonly executionId: string; readonly status: ExecutionState }
  | { readonly refusal: Refusal };

export function acceptedAs({ accepted: { executionId }, state }: LiveExecution): Accepted {
  return { executionId, status: state };
}

/** The call came with a key that stands for an execution that has ended. */
export function acceptedAgain(answer: Answer): Accepted {
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
