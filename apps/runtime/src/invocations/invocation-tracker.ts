import type { CodedError } from '@drover/contracts';
import type { InvocationResponse } from '@drover/function-rpc';
import type { Clock } from '@drover/service-kit';
import { invocationTimedOut, workerLost } from '../errors.js';

/** How one try on one worker ended, as far as the protocol can tell. */
export type Ending = { readonly response: InvocationResponse } | { readonly error: CodedError };

export interface TrackedInvocation {
  readonly id: string;
  readonly workerId: string;
  readonly functionName: string;
  readonly startedMs: number;
  /** Infinity: it may take as long as it likes. */
  readonly dueMs: number;
  /** Called exactly once. */
  readonly end: (ending: Ending) => void;
}

export interface TrackerOptions {
  readonly clock: Clock;
  /** More are not taken. */
  readonly maxInvocations: number;
  /** An invocation ran out of time; it has been ended. */
  readonly onTimeout: (invocation: TrackedInvocation) => void;
  /** Older than its limit by more than this means that a timer was missed. */
  readonly orphanAfterMs: number;
  readonly onOrphan: (invocation: TrackedInvocation) => void;
}

/**
 * Every invocation that is on a worker. Each has exactly one end: its response, its time limit, or the loss of its worker,
 * whatever comes first. One timer serves all of them: it rings for the one that is due first.
 */
export class InvocationTracker {
  readonly #options: TrackerOptions;
  readonly #byId = new Map<string, TrackedInvocation>();
  readonly #byWorker = new Map<string, Set<TrackedInvocation>>();
  /** Who waits for which worker to have nothing left. */
  readonly #idle = new Map<() => void, string>();
  #cancelTimer: (() => void) | undefined;
  #timerDueMs = Number.POSITIVE_INFINITY;

  constructor(options: TrackerOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#byId.size;
  }

  get isFull(): boolean {
    return this.#byId.size >= this.#options.maxInvocations;
  }

  countOf(workerId: string): number {
    return this.#byWorker.get(workerId)?.size ?? 0;
  }

  /** The function that an invocation runs, while it does. */
  functionOf(id: string): string | undefined {
    return this.#byId.get(id)?.functionName;
  }

  /** True when the worker has nothing (left) to do, false when the signal aborted first. */
  whenIdle(workerId: string, signal: AbortSignal): Promise<boolean> {
    if (this.countOf(workerId) === 0) return Promise.resolve(true);
    if (signal.aborted) return Promise.resolve(false);
    return new Promise((resolve) => {
      const settle = (): void => {
        signal.removeEventListener('abort', settle);
        this.#idle.delete(settle);
        resolve(this.countOf(workerId) === 0);
      };
      this.#idle.set(settle, workerId);
      signal.addEventListener('abort', settle, { once: true });
    });
  }

  track(invocation: TrackedInvocation): void {
    this.#byId.set(invocation.id, invocation);
    const own = this.#byWorker.get(invocation.workerId);
    if (own) own.add(invocation);
    else this.#byWorker.set(invocation.workerId, new Set([invocation]));
    if (invocation.dueMs < this.#timerDueMs) this.#ring(invocation.dueMs);
  }

  /** False when nobody waits for this response (any more), or when it came from another worker. */
  respond(workerId: string, response: InvocationResponse): boolean {
    const invocation = this.#byId.get(response.invocationId);
    if (!invocation || invocation.workerId !== workerId) return false;
    this.#end(invocation, { response });
    return true;
  }

  /** Ends one from this side; false when it had ended already. */
  fail(id: string, error: CodedError): boolean {
    const invocation = this.#byId.get(id);
    if (!invocation) return false;
    this.#end(invocation, { error });
    return true;
  }

  /** Its worker is gone: all that it had fail. Returns how many. */
  failAllOf(workerId: string, reason: string, makeError = workerLost({ workerId, reason })): number {
    const own = [...(this.#byWorker.get(workerId) ?? [])];
    for (const invocation of own) this.#end(invocation, { error: makeError });
    return own.length;
  }

  /** Ends what no timer ended; there should never be any. */
  sweep(nowMs: number): number {
    const orphans = [...this.#byId.values()].filter(({ dueMs }) => nowMs - dueMs > this.#options.orphanAfterMs);
    for (const orphan of orphans) {
      this.#options.onOrphan(orphan);
      this.#end(orphan, { error: timedOut(orphan) });
    }
    return orphans.length;
  }

  stop(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    this.#timerDueMs = Number.POSITIVE_INFINITY;
  }

  #end(invocation: TrackedInvocation, ending: Ending): void {
    if (!this.#byId.delete(invocation.id)) return;
    const own = this.#byWorker.get(invocation.workerId);
    own?.delete(invocation);
    if (own?.size === 0) this.#byWorker.delete(invocation.workerId);
    invocation.end(ending);
    if (own?.size === 0 && this.#idle.size > 0)
      for (const [settle, workerId] of this.#idle) if (workerId === invocation.workerId) settle();
  }

  #ring(dueMs: number): void {
    const { clock } = this.#options;
    this.#cancelTimer?.();
    this.#timerDueMs = dueMs;
    this.#cancelTimer = clock.after(Math.max(0, dueMs - clock.monotonicMs()), () => this.#expire());
  }

  /** Runs when the earliest was due; it may have ended meanwhile, then only the next one is looked for. */
  #expire(): void {
    const nowMs = this.#options.clock.monotonicMs();
    this.#cancelTimer = undefined;
    this.#timerDueMs = Number.POSITIVE_INFINITY;
    let nextMs = Number.POSITIVE_INFINITY;
    for (const invocation of this.#byId.values()) {
      if (invocation.dueMs > nowMs) {
        nextMs = Math.min(nextMs, invocation.dueMs);
        continue;
      }
      this.#end(invocation, { error: timedOut(invocation) });
      this.#options.onTimeout(invocation);
    }
    if (nextMs < this.#timerDueMs) this.#ring(nextMs);
  }
}

function timedOut({ functionName, startedMs, dueMs }: TrackedInvocation): CodedError {
  return invocationTimedOut({ functionName, timeoutMs: Math.round(dueMs - startedMs) });
}
