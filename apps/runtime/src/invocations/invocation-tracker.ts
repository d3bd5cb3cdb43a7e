import type { CodedError } from '@drover/contracts';
import type { InvocationResponse } from '@drover/function-rpc';
import type { Clock, Lifecycle, Randomness } from '@drover/service-kit';
import { invocationTimedOut } from '../errors.js';
import { InvocationSlots } from './invocation-slots.js';

/** How one attempt on one worker ended. */
export type Ending =
  | { readonly response: InvocationResponse }
  | {
      readonly error: CodedError;
      /** Its worker crashed or hung, and the invocation may be the cause. */
      readonly isCrash?: boolean;
    };

export interface TrackedInvocation {
  readonly id: string;
  readonly workerId: string;
  readonly functionName: string;
  readonly startedMs: number;
  /** Deadline on the monotonic clock; Infinity for none. */
  readonly dueMs: number;
  /** Called exactly once. */
  readonly end: (ending: Ending) => void;
}

interface TrackerOptions {
  readonly clock: Clock;
  readonly randomness: Pick<Randomness, 'uuid'>;
  readonly maxInvocations: number;
  /** Interval of the sweep for orphans. */
  readonly sweepEveryMs: number;
  /** An invocation that is past its deadline by more than this is an orphan: its timer was missed. */
  readonly orphanAfterMs: number;
  readonly onOrphan: (invocation: TrackedInvocation) => void;
}

/**
 * Tracks every invocation that is in flight on a worker. Each ends exactly once: by its response, by its deadline, or by the
 * loss of its worker, whichever comes first. All invocations share one timer, set to the earliest deadline.
 */
export class InvocationTracker implements Lifecycle {
  readonly name = 'invocation tracker';
  readonly #options: TrackerOptions;
  readonly #invocations = new InvocationSlots<TrackedInvocation>();
  /** In-flight invocations per worker. An entry with 0 stays until `forget`. */
  readonly #counts = new Map<string, number>();
  /** Callbacks of `whenIdle` and the worker each waits for. */
  readonly #idle = new Map<() => void, string>();
  #onTimeout: (invocation: TrackedInvocation) => void = () => undefined;
  #cancelTimer: (() => void) | undefined;
  #timerDueMs = Number.POSITIVE_INFINITY;
  #cancelSweep: (() => void) | undefined;

  constructor(options: TrackerOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#invocations.size;
  }

  get isFull(): boolean {
    return this.#invocations.size >= this.#options.maxInvocations;
  }

  async start(): Promise<void> {
    this.#scheduleSweep();
  }

  async drain(): Promise<void> {}

  async stop(): Promise<void> {
    this.#cancelSweep?.();
    this.#cancelSweep = undefined;
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    this.#timerDueMs = Number.POSITIVE_INFINITY;
  }

  /** Calls back after an invocation was ended by its deadline. */
  onTimeout(callback: (invocation: TrackedInvocation) => void): void {
    this.#onTimeout = callback;
  }

  countOf(workerId: string): number {
    return this.#counts.get(workerId) ?? 0;
  }

  /** Returns the function name of an in-flight invocation. */
  functionOf(id: string): string | undefined {
    return this.#invocations.get(id)?.functionName;
  }

  /** Resolves with true when the worker has no invocation in flight, with false if the signal aborts first. */
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

  /** Returns an id for the next invocation. The caller must track it before it asks for another id. */
  newId(): string {
    return this.#invocations.idFrom(this.#options.randomness.uuid());
  }

  track(invocation: TrackedInvocation): void {
    this.#invocations.put(invocation);
    this.#counts.set(invocation.workerId, this.countOf(invocation.workerId) + 1);
    if (invocation.dueMs < this.#timerDueMs) this.#setTimer(invocation.dueMs);
  }

  /** Returns false if the invocation is not in flight on this worker. */
  respond(workerId: string, response: InvocationResponse): boolean {
    const invocation = this.#invocations.get(response.invocationId);
    if (!invocation || invocation.workerId !== workerId) return false;
    this.#end(invocation, { response });
    return true;
  }

  /** Ends an invocation with an error. Returns false if it had already ended. */
  fail(id: string, error: CodedError): boolean {
    const invocation = this.#invocations.get(id);
    if (!invocation) return false;
    this.#end(invocation, { error });
    return true;
  }

  /** Fails all invocations in flight on a worker. Returns their number. */
  failAllOf(workerId: string, error: CodedError, { isCrash = false } = {}): number {
    const own = this.#invocations.all().filter((invocation) => invocation.workerId === workerId);
    for (const invocation of own) this.#end(invocation, { error, isCrash });
    return own.length;
  }

  /** Removes a worker that has disconnected for good. */
  forget(workerId: string): void {
    if (this.countOf(workerId) === 0) this.#counts.delete(workerId);
  }

  /** Ends orphans, of which there should never be any. Returns their number. */
  sweep(nowMs: number): number {
    const orphans = this.#invocations.all().filter(({ dueMs }) => nowMs - dueMs > this.#options.orphanAfterMs);
    for (const orphan of orphans) {
      this.#options.onOrphan(orphan);
      this.#end(orphan, { error: timedOut(orphan) });
    }
    return orphans.length;
  }

  #scheduleSweep(): void {
    const { clock, sweepEveryMs } = this.#options;
    this.#cancelSweep = clock.after(sweepEveryMs, () => {
      this.sweep(clock.monotonicMs());
      this.#scheduleSweep();
    });
  }

  #end(invocation: TrackedInvocation, ending: Ending): void {
    if (!this.#invocations.delete(invocation.id)) return;
    const left = this.countOf(invocation.workerId) - 1;
    this.#counts.set(invocation.workerId, left);
    invocation.end(ending);
    if (left === 0 && this.#idle.size > 0)
      for (const [settle, workerId] of this.#idle) if (workerId === invocation.workerId) settle();
  }

  #setTimer(dueMs: number): void {
    const { clock } = this.#options;
    this.#cancelTimer?.();
    this.#timerDueMs = dueMs;
    this.#cancelTimer = clock.after(Math.max(0, dueMs - clock.monotonicMs()), () => this.#expire());
  }

  /** The invocation that the timer was set for may have ended: then only the next deadline is determined. */
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
      this.#onTimeout(invocation);
    }
    if (nextMs < this.#timerDueMs) this.#setTimer(nextMs);
  }
}

function timedOut({ functionName, startedMs, dueMs }: TrackedInvocation): CodedError {
  return invocationTimedOut({ functionName, timeoutMs: Math.round(dueMs - startedMs) });
}
