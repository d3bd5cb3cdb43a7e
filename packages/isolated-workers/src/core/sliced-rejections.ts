/** Requests that are sent or rejected in one turn of the event loop: some milliseconds of work. */
export const sliceSize = 1_000;

/**
 * Rejects any number of requests without blocking the event loop: the first slice at once, so that few requests are rejected
 * without delay, and one slice in each later turn. A request may be settled by its caller meanwhile.
 */
export class SlicedRejections<Request extends { readonly settled: boolean }> {
  readonly #reject: (request: Request, error: Error) => void;
  readonly #remaining = new Map<Request, () => Error>();
  /** Kept between slices: a new iterator would visit the slots of all removed requests again. */
  #next: Iterator<[Request, () => Error]> | undefined;

  constructor(reject: (request: Request, error: Error) => void) {
    this.#reject = reject;
  }

  get size(): number {
    return this.#remaining.size;
  }

  add(requests: Iterable<Request>, makeError: (request: Request) => Error): void {
    for (const request of requests) if (!request.settled) this.#remaining.set(request, () => makeError(request));
    if (!this.#next) this.#rejectSlice();
  }

  /** Removes a request that is settled. Returns false when it is not here. */
  remove(request: Request): boolean {
    return this.#remaining.delete(request);
  }

  readonly #rejectSlice = (): void => {
    this.#next ??= this.#remaining.entries();
    for (let count = 0; count < sliceSize; count += 1) {
      const { done, value } = this.#next.next();
      if (done) return void (this.#next = undefined);
      const [request, makeError] = value;
      this.#remaining.delete(request);
      this.#reject(request, makeError());
    }
    setImmediate(this.#rejectSlice);
  };
}
