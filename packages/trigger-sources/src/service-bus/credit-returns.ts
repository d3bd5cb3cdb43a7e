/** Returns credits together, once per turn of the event loop: the SDK then sends one frame for all of them. */
export class CreditReturns {
  #waiting: (() => void)[] = [];

  add(giveBack: () => void): void {
    if (this.#waiting.length === 0) setImmediate(() => this.#flush());
    this.#waiting.push(giveBack);
  }

  #flush(): void {
    const all = this.#waiting;
    this.#waiting = [];
    for (const giveBack of all) giveBack();
  }
}
