import { Heap } from './heap.js';
import type { BrokerMessage } from './message.js';

/**
 * Messages of one queue or one session that wait for a receiver, in the order of their sequence numbers.
 * New messages have the highest number and are appended; returned ones (abandoned, lock expired) go to a small heap and come first.
 * Messages that were removed while they waited are skipped.
 */
export class Lane {
  #fresh: (BrokerMessage | undefined)[] = [];
  #head = 0;
  readonly #returned = new Heap<BrokerMessage>((left, right) => left.sequenceNumber < right.sequenceNumber);

  append(message: BrokerMessage): void {
    this.#fresh.push(message);
  }

  putBack(message: BrokerMessage): void {
    this.#returned.push(message);
  }

  peek(): BrokerMessage | undefined {
    this.#skipRemoved();
    const fresh = this.#fresh[this.#head];
    const returned = this.#returned.peek();
    if (fresh === undefined || returned === undefined) return fresh ?? returned;
    return returned.sequenceNumber < fresh.sequenceNumber ? returned : fresh;
  }

  shift(): BrokerMessage | undefined {
    const first = this.peek();
    if (first === undefined) return undefined;
    if (first === this.#returned.peek()) this.#returned.pop();
    else this.#dropFresh();
    return first;
  }

  clear(): void {
    this.#fresh = [];
    this.#head = 0;
    this.#returned.retain(() => false);
  }

  #skipRemoved(): void {
    while (this.#returned.peek()?.state === 'removed') this.#returned.pop();
    while (this.#head < this.#fresh.length && this.#fresh[this.#head]?.state === 'removed') this.#dropFresh();
  }

  #dropFresh(): void {
    this.#fresh[this.#head] = undefined;
    this.#head += 1;
    if (this.#head > 1024 && this.#head * 2 > this.#fresh.length) {
      this.#fresh = this.#fresh.slice(this.#head);
      this.#head = 0;
    }
  }
}
