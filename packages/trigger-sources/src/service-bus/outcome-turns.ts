/**
 * Sends settlements of one receiver link together, by outcome: in one turn of the event loop only one outcome is sent. The
 * AMQP library merges two adjacent deliveries that are settled in the same turn into one frame with the outcome of the first,
 * so that `complete(a)` and `abandon(b)` would complete both. Messages that complete in one turn share a frame, which is
 * cheaper than one for each.
 */
export class OutcomeTurns {
  #waiting: { readonly outcome: string; readonly go: () => void }[] = [];
  #isScheduled = false;

  /** Resolves in a turn in which this outcome may be sent: the caller must send it before it waits for anything else. */
  take(outcome: string): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push({ outcome, go: resolve });
      this.#schedule();
    });
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => this.#turn());
  }

  #turn(): void {
    this.#isScheduled = false;
    const [first, ...others] = this.#waiting;
    if (!first) return;
    const isMixed = others.some(({ outcome }) => outcome !== first.outcome);
    const together = isMixed ? this.#waiting.filter(({ outcome }) => outcome === first.outcome) : this.#waiting;
    this.#waiting = isMixed ? this.#waiting.filter(({ outcome }) => outcome !== first.outcome) : [];
    if (isMixed) this.#schedule();
    for (const { go } of together) go();
  }
}
