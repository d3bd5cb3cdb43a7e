/** A request from `send` to its one settlement, through all tries. */
export class PendingRequest {
  readonly type: string;
  readonly payload: unknown;
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
  readonly #callbacks: RequestCallbacks;
  #settled = false;
  #cleanUp: ((failure?: { readonly error: unknown }) => void)[] = [];

  constructor(facts: RequestFacts, callbacks: RequestCallbacks) {
    this.type = facts.type;
    this.payload = facts.payload;
    this.tx = facts.tx;
    this.maxAttempts = facts.maxAttempts;
    this.traceparent = facts.traceparent;
    this.transfer = facts.transfer;
    this.credit = facts.credit;
    this.#callbacks = callbacks;
  }

  get settled(): boolean {
    return this.#settled;
  }

  /** Runs when the request is settled, however that comes: timers and listeners are let go here. */
  onSettled(action: (failure?: { readonly error: unknown }) => void): void {
    this.#cleanUp.push(action);
  }

  /** No worker has it any more. */
  takeBack(): void {
    this.wireId = 0;
    this.delivered = false;
  }

  progress(value: unknown): void {
    if (!this.#settled) this.#callbacks.onProgress?.(value);
  }

  item(value: unknown): void {
    if (!this.#settled) this.#callbacks.onItem?.(value);
  }

  resolve(value: unknown): void {
    if (this.#settle()) this.#callbacks.resolve(value);
  }

  reject(error: unknown): void {
    if (this.#settle({ error })) this.#callbacks.reject(error);
  }

  /** The first settlement counts; all later ones are nothing. */
  #settle(failure?: { readonly error: unknown }): boolean {
    if (this.#settled) return false;
    this.#settled = true;
    for (const action of this.#cleanUp) action(failure);
    this.#cleanUp = [];
    return true;
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
}
