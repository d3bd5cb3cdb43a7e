import type { TimeLimit } from './time-limit.js';

/** A request from `send` to its one settlement, through all tries. */
export class PendingRequest {
  readonly type: string;
  /** What was asked; gone when it is settled, so that whoever still knows the request does not keep it alive. */
  payload: unknown;
  readonly tx: string | number;
  readonly maxAttempts: number;
  readonly traceparent: string | undefined;
  readonly transfer: readonly ArrayBuffer[] | undefined;
  /** Items it takes at first; 0 when it is no stream. */
  readonly credit: number;
  /** Which try this is, from 1. */
  attempt = 1;
  /** Its number on the wire for this try; 0 while it waits. */
  wireId = 0;
  /** It has been handed to a worker in this try. */
  delivered = false;
  /** What it shares with the other requests of its type, if it has one. */
  limit: TimeLimit<PendingRequest> | undefined;
  #callbacks: RequestCallbacks | undefined;
  readonly #forget: (request: PendingRequest) => void;
  /** Few have any. */
  #cleanUp: ((failure?: { readonly error: unknown }) => void)[] | undefined;

  constructor(facts: RequestFacts, callbacks: RequestCallbacks, forget: (request: PendingRequest) => void) {
    this.type = facts.type;
    this.payload = facts.payload;
    this.tx = facts.tx;
    this.maxAttempts = facts.maxAttempts;
    this.traceparent = facts.traceparent;
    this.transfer = facts.transfer;
    this.credit = facts.credit;
    this.#callbacks = callbacks;
    this.#forget = forget;
  }

  /** Undefined once it is settled. */
  get callbacks(): RequestCallbacks | undefined {
    return this.#callbacks;
  }

  get settled(): boolean {
    return this.#callbacks === undefined;
  }

  /** Runs when the request is settled, however that comes: timers and listeners are let go here. */
  onSettled(action: (failure?: { readonly error: unknown }) => void): void {
    (this.#cleanUp ??= []).push(action);
  }

  /** No worker has it any more. */
  detach(): void {
    this.wireId = 0;
    this.delivered = false;
  }

  progress(value: unknown): void {
    this.#callbacks?.onProgress?.(value);
  }

  item(value: unknown): void {
    this.#callbacks?.onItem?.(value);
  }

  resolve(value: unknown): void {
    this.#settle()?.resolve(value);
  }

  reject(error: unknown): void {
    this.#settle({ error })?.reject(error);
  }

  /** The first settlement counts; for all later ones there is nobody to tell. */
  #settle(failure?: { readonly error: unknown }): RequestCallbacks | undefined {
    const callbacks = this.#callbacks;
    if (!callbacks) return undefined;
    this.#callbacks = undefined;
    this.payload = undefined;
    this.limit?.noteSettled();
    if (this.#cleanUp) for (const action of this.#cleanUp) action(failure);
    this.#cleanUp = undefined;
    this.#forget(this);
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
