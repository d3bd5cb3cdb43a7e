import type { CodedError } from '@drover/contracts';
import type { InvocationResponse } from '@drover/function-rpc';
import type { Clock, Randomness } from '@drover/service-kit';
import { invocationTimedOut, workerLost } from '../errors.js';
import { InvocationSlots } from './invocation-slots.js';

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
  readonly randomness: Pick<Randomness, 'uuid'>;
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
  readonly #invocations = new InvocationSlots<TrackedInvocation>();
  /** How many each worker has; one that has none stays until it is gone. */
  readonly #counts = new Map<string, number>();
  /** Who waits for which worker to have nothing left. */
  readonly #idle = new Map<() => void, string>();
  #cancelTimer: (() => void) | undefined;
  #timerDueMs = Number.POSITIVE_INFINITY;

  constructor(options: TrackerOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#invocations.size;
  }

  get isFull(): boolean {
    return this.#invocations.size >= this.#options.maxInvocations;
  }

  countOf(workerId: string): number {
    return this.#counts.get(workerId) ?? 0;
  }

  /** The function that an invocation runs, while it does. */
  functionOf(id: string): string | undefined {
    return this.#invocations.get(id)?.functionName;
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

  /** An id for the next invocation; it must be tracked before another one is asked for. */
  newId(): string {
    return this.#invocations.idFrom(this.#options.randomness.uuid());
  }

  track(invocation: TrackedInvocation): void {
    this.#invocations.put(invocation);
    this.#counts.set(invocation.workerId, this.countOf(invocation.workerId) + 1);
    if (invocation.dueMs < this.#timerDueMs) this.#ring(invocation.dueMs);
  }

  /** False when nobody waits for this response (any more), or when it came from another worker. */
  respond(workerId: string, response: InvocationResponse): boolean {
    const invocation = this.#invocations.get(response.invocationId);
    if (!invocation || invocation.workerId !== workerId) return false;
    this.#end(invocation, { response });
    return true;
  }

  /** Ends one from this side; false when it had ended already. */
  fail(id: string, error: CodedError): boolean {
    const invocation = this.#invocations.get(id);
    if (!invocation) return false;
    this.#end(invocation, { error });
    return true;
  }

  /** Its worker is gone: all that it had fail. Returns how many. */
  failAllOf(workerId: string, reason: string, makeError = workerLost({ workerId, reason })): number {
    const own = this.#invocations.all().filter((invocation) => invocation.workerId === workerId);
    for (const invocation of own) this.#end(invocation, { error: makeError });
    return own.length;
  }

  /** A worker is gone for good. */
  forget(workerId: string): void {
    if (this.countOf(workerId) === 0) this.#counts.delete(workerId);
  }

  /** Ends what no timer ended; there should never be any. */
  sweep(nowMs: number): number {
    const orphans = this.#invocations.all().filter(({ dueMs }) => nowMs - dueMs > this.#options.orphanAfterMs);
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
    if (!this.#invocations.delete(invocation.id)) return;
    const left = this.countOf(invocation.workerId) - 1;
    this.#counts.set(invocation.workerId, left);
    invocation.end(ending);
    if (left === 0 && this.#idle.size > 0)
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
    for (const invocation of this.#invocations.all()) {
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
