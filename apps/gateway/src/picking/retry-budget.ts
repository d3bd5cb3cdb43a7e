/**
 * Lets a part of the requests be sent a second time, so that retries cannot multiply the load of an outage. A burst covers all
 * requests that were in flight at one worker when it ended.
 */
export class RetryBudget {
  readonly #share: number;
  readonly #most: number;
  #tokens: number;

  constructor({ share = 0.1, most = 1_000 }: { readonly share?: number; readonly most?: number } = {}) {
    this.#share = share;
    this.#most = most;
    this.#tokens = most;
  }

  /** Counts a request that came from a client. */
  earn(): void {
    this.#tokens = Math.min(this.#most, this.#tokens + this.#share);
  }

  /** Whether one more request may be sent again; takes its token. */
  spend(): boolean {
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }
}
