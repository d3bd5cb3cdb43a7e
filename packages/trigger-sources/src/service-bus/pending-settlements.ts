/**
 * Settlements that wait for the confirmation of the service. The SDK lets them wait for their full timeout when the
 * connection breaks; here they are rejected at once, so that they can be sent over another connection.
 */
export class PendingSettlements {
  readonly #rejections = new Set<(error: unknown) => void>();
  #broken: { readonly error: unknown } | undefined;

  /** Resolves or rejects with the settlement, or rejects when `break` is called. */
  track(settlement: Promise<void>): Promise<void> {
    if (this.#broken) {
      settlement.catch(() => undefined);
      return Promise.reject(this.#broken.error);
    }
    return new Promise((resolve, reject) => {
      this.#rejections.add(reject);
      settlement.then(
        () => {
          this.#rejections.delete(reject);
          resolve();
        },
        (error: unknown) => {
          this.#rejections.delete(reject);
          reject(error);
        },
      );
    });
  }

  /** The connection is lost. Later settlements are not tracked: they go over another one. */
  break(error: unknown): void {
    this.#broken = { error };
    for (const reject of this.#rejections) reject(error);
    this.#rejections.clear();
  }

  get isBroken(): boolean {
    return this.#broken !== undefined;
  }
}
