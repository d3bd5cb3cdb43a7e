import type { AcceptedCall, ColdStartBreakdown, ExecutionMode, Payload } from '@drover/contracts';
import type { Lifecycle } from '@drover/service-kit';
import type { FunctionDefinition } from './function-definition.js';

/** The result of an attempt. */
export type AttemptResult =
  | {
      readonly kind: 'success';
      readonly output: Payload;
      /** The HTTP status that the handler chose, if any. */
      readonly statusCode?: number;
      readonly headers?: Readonly<Record<string, string>>;
      readonly coldStart?: boolean;
      readonly initDurationMs?: number;
      /** Where the time of the attempt went, if it waited for a function worker. */
      readonly coldStartMs?: ColdStartBreakdown;
    }
  | {
      readonly kind: 'failed';
      /** `error.code` of the response: EXECUTION_FAILED, POOL_ERROR … */
      readonly code: string;
      /** For the caller. Must not disclose addresses, paths or other facts of the platform. */
      readonly message: string;
      /** A later attempt may succeed: the handler was not reached, or the failure was not the handler's. */
      readonly transient: boolean;
      /** The pause that the other side asked for. */
      readonly retryAfterMs?: number;
      /** Nothing was tried, because what runs the function is down or full. Does not count as an attempt of the function. */
      readonly wasNotTried?: boolean;
      /**
       * The function did not take the call: its endpoint cannot be reached or accepts none, or no worker can be started. Does not
       * count for asynchronous work, which is retried until the function's retry window is over. Counts for a synchronous call,
       * whose caller waits.
       */
      readonly wasTurnedAway?: boolean;
      /** The function cannot have seen the call, so its attempt number is used again. Set together with `wasTurnedAway`. */
      readonly wasNotSent?: boolean;
      /** No attempt was made, and every other attempt of the function would be refused for this time: its queue waits. */
      readonly queuePauseMs?: number;
    }
  | { readonly kind: 'timeout'; readonly code: string; readonly message: string }
  /** The other side has accepted the attempt and reports its result through `:complete`. */
  | { readonly kind: 'handed-over' };

/** One attempt to run one execution. */
export interface Attempt {
  readonly accepted: AcceptedCall;
  readonly definition: FunctionDefinition;
  /** Counts from 1 and never decreases, also on another replica: fences late results of older attempts. */
  readonly number: number;
  /** Time left for the attempt when it is dispatched. */
  readonly timeoutMs: number;
  /** A process or endpoint may post its result without an API key to `<this>/{executionId}:complete`. */
  callbackBaseUrl(): string;
  /**
   * Sets the one listener that is called, once, when the result is no longer needed: time-out, cancellation, a result through
   * `:complete`, or shutdown. The dispatcher then releases what the attempt holds and settles; its result is ignored.
   */
  onAbandoned(listener: (reason: 'timeout' | 'cancelled' | 'completed' | 'stopping') => void): void;
}

/**
 * The port: one way to run attempts. The caller applies time limits and retries. `testing/dispatcher-contract.ts` has these
 * promises as tests.
 */
export interface Dispatcher extends Lifecycle {
  readonly mode: ExecutionMode;
  /** Resolves exactly once. Never rejects for a fault of the function, endpoint or caller. */
  dispatch(attempt: Attempt): Promise<AttemptResult>;
  /** Releases what is kept warm for this definition: the function was changed or removed. Running attempts may finish. */
  forget?(definition: FunctionDefinition): void;
}
