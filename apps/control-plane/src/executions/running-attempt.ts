import type { Attempt, FunctionDefinition } from '@drover/dispatchers';
import type { AcceptedCall } from '@drover/contracts';
import type { LiveExecution } from './live-execution.js';

export type AbandonReason = 'timeout' | 'cancelled' | 'completed' | 'stopping';

const nobody = (): void => undefined;

/**
 * One try and the slot it holds. The slot is the attempt's own: it is given back once, by the attempt that took it, and by
 * nobody who only knows the function's name.
 */
export class RunningAttempt implements Attempt {
  readonly execution: LiveExecution;
  readonly number: number;
  readonly definition: FunctionDefinition;
  readonly timeoutMs: number;
  /** Epoch milliseconds. */
  readonly startedAt: number;
  readonly startedMs: number;
  isOver = false;
  cancelTimer: () => void = nobody;
  readonly #callbackBaseUrl: (attempt: RunningAttempt) => string;
  #onAbandoned: ((reason: AbandonReason) => void) | undefined;

  constructor(
    execution: LiveExecution,
    time: { readonly now: number; readonly monotonicMs: number },
    callbackBaseUrl: (attempt: RunningAttempt) => string,
  ) {
    this.execution = execution;
    this.definition = execution.queue.definition;
    this.number = execution.attempts;
    this.timeoutMs = this.definition.timeoutMs;
    this.startedAt = time.now;
    this.startedMs = time.monotonicMs;
    this.#callbackBaseUrl = callbackBaseUrl;
  }

  get accepted(): AcceptedCall {
    return this.execution.accepted;
  }

  callbackBaseUrl(): string {
    return this.#callbackBaseUrl(this);
  }

  onAbandoned(listener: (reason: AbandonReason) => void): void {
    this.#onAbandoned = listener;
  }

  /** Tells the dispatcher that nobody wants its result any more. */
  abandon(reason: AbandonReason): void {
    const listener = this.#onAbandoned;
    this.#onAbandoned = undefined;
    listener?.(reason);
  }
}
