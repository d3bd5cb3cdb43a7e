import type { ExecutionMode, AcceptedCall, Payload } from '@drover/contracts';
import type { Lifecycle } from '@drover/service-kit';
import type { FunctionDefinition } from './function-definition.js';

/** What an attempt came to. */
export type AttemptResult =
  | {
      readonly kind: 'success';
      readonly output: Payload;
      /** The HTTP status that the handler chose, if it did. */
      readonly statusCode?: number;
      readonly headers?: Readonly<Record<string, string>>;
      readonly coldStart?: boolean;
      readonly initDurationMs?: number;
    }
  | {
      readonly kind: 'failed';
      /** As in `error.code` of the answer: EXECUTION_FAILED, POOL_ERROR … */
      readonly code: string;
      /** For the caller: says what happened, nothing of our inside. */
      readonly message: string;
      /** The same attempt may succeed a little later: nothing reached the handler, or it was not the handler that failed. */
      readonly transient: boolean;
      /** The other side asked for this pause. */
      readonly retryAfterMs?: number;
      /** Nothing was tried, because what runs it is away or full: it does not count as one of the function's attempts. */
      readonly wasNotTried?: boolean;
    }
  | { readonly kind: 'timeout'; readonly code: string; readonly message: string }
  /** The other side has taken it and will say what became of it through `:complete`. */
  | { readonly kind: 'handed-over' };

/** One try of one execution. */
export interface Attempt {
  readonly accepted: AcceptedCall;
  readonly definition: FunctionDefinition;
  /** Counts from 1 and never goes back, whoever runs the execution: fences late answers of older attempts. */
  readonly number: number;
  /** What is left of the attempt's time when it is dispatched. */
  readonly timeoutMs: number;
  /** Where a process or endpoint may hand back the result without an API key: `<this>/{executionId}:complete`. */
  callbackBaseUrl(): string;
  /**
   * One listener, called once when nobody wants the result any more: out of time, cancelled, answered through `:complete`,
   * or because we stop. The dispatcher then lets go of what it holds; what it returns afterwards is ignored.
   */
  onAbandoned(listener: (reason: 'timeout' | 'cancelled' | 'completed' | 'stopping') => void): void;
}

/** A way to run attempts. The one who calls sees to time limits; a dispatcher never waits longer than it is told. */
export interface Dispatcher extends Lifecycle {
  readonly mode: ExecutionMode;
  /** Settles exactly once and never rejects for a fault of the function, endpoint or caller. */
  dispatch(attempt: Attempt): Promise<AttemptResult>;
  /** The function was changed or removed: whatever is kept warm for this incarnation may go. */
  forget?(definition: FunctionDefinition): void;
}
