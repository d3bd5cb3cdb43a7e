import type { Queueable, QueuePlace } from './request-queue.js';
import type { TimeLimit } from './time-limit.js';

/** A request from `send` to its settlement, across all attempts. */
export class PendingRequest implements Queueable<PendingRequest> {
  readonly type: string;
  /** Cleared at settlement, so that remaining references to the request do not keep it in memory. */
  payload: unknown;
  readonly tx: string | number;
  readonly maxAttempts: number;
  readonly traceparent: string | undefined;
  readonly transfer: readonly ArrayBuffer[] | undefined;
  /** The initial credit of a stream; 0 for other requests. */
  readonly credit: number;
  readonly priority: number;
  /** When it began to wait for a worker: at `send`, and after a crash. */
  waitsSinceMs: number;
  /** When it was sent in this attempt. */
  sentMs = 0;
  place: QueuePlace<PendingRequest> | undefined;
  /** The attempt number, from 1. */
  attempt = 1;
  /** Its id on the wire in this attempt; 0 while it waits. */
  wireId = 0;
  /** True when it was sent to a worker in this attempt. */
  delivered = false;
  /** The time limit of its attempts, if it has one. */
  limit: TimeLimit<PendingRequest> | undefined;
  /** The deadline of the present attempt; undefined between attempts. */
  deadline: object | undefined;
  /** Undefined once it is settled. */
  callbacks: RequestCallbacks | undefined;
  // Not with #: V8 11 gives objects with private names slow properties once their class has been used in several ways, and half
  // of all requests per second is lost (`bench:isolated-workers`, tiny, 64 in flight, after many starts).
  private readonly forget: (request: PendingRequest) => void;
  /** Undefined for most requests. */
  private cleanUp: ((failure?: { readonly error: unknown }) => void)[] | undefined;

  constructor(facts: RequestFacts, callbacks: RequestCallbacks, forget: (request: PendingRequest) => void) {
    this.type = facts.type;
    this.payload = facts.payload;
    this.tx = facts.tx;
    this.maxAttempts = facts.maxAttempts;
    this.traceparent = facts.traceparent;
    this.transfer = facts.transfer;
    this.credit = facts.credit;
    this.priority = facts.priority;
    this.waitsSinceMs = facts.sinceMs;
    this.callbacks = callbacks;
    this.forget = forget;
  }

  get settled(): boolean {
    return this.callbacks === undefined;
  }

  /** Runs `action` at settlement. Timers and listeners are released here. */
  onSettled(action: (failure?: { readonly error: unknown }) => void): void {
    (this.cleanUp ??= []).push(action);
  }

  /** Marks the request as not sent. */
  detach(): void {
    this.wireId = 0;
    this.delivered = false;
  }

  /** Stops the clock of an attempt that ended with its worker. */
  suspendLimit(): void {
    if (this.deadline) this.limit?.suspend(this);
  }

  /** Starts the clock of the next attempt. Has no effect in the first one, whose clock runs since `send`. */
  resumeLimit(): void {
    if (!this.deadline) this.limit?.add(this);
  }

  progress(value: unknown): void {
    this.callbacks?.onProgress?.(value);
  }

  item(value: unknown): void {
    this.callbacks?.onItem?.(value);
  }

  resolve(value: unknown): void {
    this.settle()?.resolve(value);
  }

  reject(error: unknown): void {
    this.settle({ error })?.reject(error);
  }

  /** Returns the callbacks for the first settlement, undefined for later ones. */
  private settle(failure?: { readonly error: unknown }): RequestCallbacks | undefined {
    const callbacks = this.callbacks;
    if (!callbacks) return undefined;
    this.callbacks = undefined;
    this.payload = undefined;
    this.limit?.recordSettled();
    if (this.cleanUp) for (const action of this.cleanUp) action(failure);
    this.cleanUp = undefined;
    this.forget(this);
    return callbacks;
  }
}

export interface RequestFacts {
  readonly type: string;
  readonly payload: unknown;
  readonly tx: string | number;
  readonly maxAttempts: number;
  readonly traceparent: string | undefined;
  readonly transfer: readonly ArrayBuffer[] | undefined;
  readonly credit: number;
  readonly priority: number;
  readonly sinceMs: number;
}

export interface RequestCallbacks {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
  readonly onProgress?: ((value: unknown) => void) | undefined;
  readonly onItem?: ((value: unknown) => void) | undefined;
  /** The caller gave up while the worker had the request: `reject` follows now, and `onHandlerEnded` later. */
  onAbandoned?(): void;
  /** The worker has received the cancellation: its event loop turns. */
  onCancelAcknowledged?(): void;
  /** The handler of the abandoned request has ended, or its worker died. */
  onHandlerEnded?(): void;
}
