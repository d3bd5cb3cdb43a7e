import type { BrokerMessage } from './message.js';

/**
 * All messages of a queue by sequence number. Numbers only grow, so insertion order is their order: an array with lazily removed
 * entries gives "from number n" by binary search, a map gives one message.
 */
export class MessageIndex {
  readonly #byNumber = new Map<number, BrokerMessage>();
  #ordered: BrokerMessage[] = [];

  get size(): number {
    return this.#byNumber.size;
  }

  get(sequenceNumber: number): BrokerMessage | undefined {
    return this.#byNumber.get(sequenceNumber);
  }

  add(message: BrokerMessage): void {
    this.#byNumber.set(message.sequenceNumber, message);
    this.#ordered.push(message);
  }

  remove(message: BrokerMessage): void {
    this.#byNumber.delete(message.sequenceNumber);
    if (this.#ordered.length > this.#byNumber.size * 2 + 1024) {
      this.#ordered = this.#ordered.filter((kept) => kept.state !== 'removed');
    }
  }

  /** Messages from a number on. The queue may change meanwhile: removed messages are skipped. */
  *from(sequenceNumber: number): Generator<BrokerMessage> {
    const ordered = this.#ordered;
    for (let at = lowerBound(ordered, sequenceNumber); at < ordered.length; at += 1) {
      const message = ordered[at];
      if (message !== undefined && message.state !== 'removed') yield message;
    }
  }
}

function lowerBound(ordered: readonly BrokerMessage[], sequenceNumber: number): number {
  let low = 0;
  let high = ordered.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((ordered[middle]?.sequenceNumber ?? Infinity) < sequenceNumber) low = middle + 1;
    else high = middle;
  }
  return low;
}
