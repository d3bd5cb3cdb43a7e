/** A part of a process that is started, drained and stopped. */
export interface Lifecycle {
  readonly name: string;
  /** Resolves once the part is ready for work. Rejects if it cannot start or `signal` aborts. */
  start(signal: AbortSignal): Promise<void>;
  /** Accepts no new work. Resolves when no work is in flight or `deadline` aborts. */
  drain(deadline: AbortSignal): Promise<void>;
  /** Releases all resources. Safe to call twice and after a failed start. */
  stop(): Promise<void>;
}
