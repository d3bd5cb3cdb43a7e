/** Anything with a life: the same three words everywhere. */
export interface Lifecycle {
  readonly name: string;
  /** Resolves once ready to take work. Aborting gives up the start. */
  start(signal: AbortSignal): Promise<void>;
  /** Takes no new work; resolves when none is in flight, or when the deadline aborts. */
  drain(deadline: AbortSignal): Promise<void>;
  /** Lets go of everything. Safe to call twice, and after a failed start. */
  stop(): Promise<void>;
}
