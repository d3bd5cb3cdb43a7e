/**
 * Separates settlements of one receiver link by outcome: in one turn of the event loop only one outcome is sent. The AMQP
 * library merges two adjacent deliveries that are settled in the same turn into one frame with the outcome of the first, so
 * that `complete(a)` and `abandon(b)` would complete both.
 */
export class OutcomeTurns {
  #current: string | undefined;
  #waiting: { readonly outcome: string; readonly go: () => void }[] = [];

  /** Returns undefined if the outcome may be sent now, or a promise that resolves in the turn in which it may. */
  take(outcome: string): Promise<void> | undefined {
    if (this.#waiting.length === 0 && (this.#current === undefined || this.#current === outcome)) {
      this.#begin(outcome);
      return undefined;
    }
    return new Promise((resolve) => {
      this.#waiting.push({ outcome, go: resolve });
    });
  }

  #begin(outcome: string): void {
    if (this.#current !== undefined) return;
    this.#current = outcome;
    setImmediate(() => this.#nextTurn());
  }

  #nextTurn(): void {
    this.#current = undefined;
    const [first] = this.#waiting;
    if (!first) return;
    this.#begin(first.outcome);
    const together = this.#waiting.filter(({ outcome }) => outcome === first.outcome);
    this.#waiting = this.#waiting.filter(({ outcome }) => outcome !== first.outcome);
    for (const { go } of together) go();
  }
}
