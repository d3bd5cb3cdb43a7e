import type { AcceptedCall } from '@drover/contracts';
import type { Attempt, FunctionDefinition } from '@drover/dispatchers';
import type { LiveExecution } from './live-execution.js';

export type AbandonReason = 'timeout' | 'cancelled' | 'completed' | 'stopping';

const noTimer = (): void => undefined;

/** One attempt and the slot that it holds. The slot is released once, by the end of the attempt that took it. */
export class RunningAttempt implements Attempt {
  readonly execution: LiveExecution;
  readonly number: number;
  readonly definition: FunctionDefinition;
  readonly timeoutMs: number;
  /** Epoch milliseconds. */
  readonly startedAt: number;
  readonly startedMs: number;
  cancelTimer: () => void = noTimer;
  /** Its time limit passed while this process was paused. */
  wasPaused = false;
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

  /** Whether the attempt has ended: by its answer, its time limit, a cancellation or a drop. */
  get isOver(): boolean {
    return this.execution.attempt !== this;
  }

  callbackBaseUrl(): string {
    return this.#callbackBaseUrl(this);
  }

  onAbandoned(listener: (reason: AbandonReason) => void): void {
    this.#onAbandoned = listener;
  }

  /** Notifies the dispatcher that the result is no longer wanted. */
  abandon(reason: AbandonReason): void {
    const listener = this.#onAbandoned;
    this.#onAbandoned = undefined;
    listener?.(reason);
  }
}
