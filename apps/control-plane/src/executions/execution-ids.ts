import type { Randomness } from '@drover/service-kit';
import { partitionCount } from '@drover/ownership';

const hex = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));
/** Ids per request for random bytes. */
const perRefill = 512;
const randomPerId = 8;
const sequenceLimit = 0x1000;

/**
 * Creates ids of executions: UUIDs of version 7 that grow from one to the next, so that their order is the order of acceptance. The last
 * byte holds the partition, so that every replica can route by the id alone.
 */
export class ExecutionIds {
  readonly #randomness: Pick<Randomness, 'bytes'>;
  #random: Uint8Array = new Uint8Array(0);
  #next = 0;
  #lastMs = 0;
  #sequence = 0;

  constructor(randomness: Pick<Randomness, 'bytes'>) {
    this.#randomness = randomness;
  }

  /** `now` in epoch milliseconds; it may stand still or go back. */
  next(partition: number, now: number): string {
    if (now > this.#lastMs) {
      this.#lastMs = now;
      this.#sequence = 0;
    } else {
      // The clock stood still or went back: continue the sequence, and borrow from the next millisecond when it is full.
      this.#sequence += 1;
      if (this.#sequence === sequenceLimit) {
        this.#lastMs += 1;
        this.#sequence = 0;
      }
    }
    if (this.#next >= this.#random.length) this.#refill();
    const random = this.#random;
    const at = this.#next;
    this.#next += randomPerId;
    const high = Math.floor(this.#lastMs / 0x10000);
    const low = this.#lastMs % 0x10000;
    const byte = (offset: number): number => random[at + offset] ?? 0;
    const last = (byte(7) & ~(partitionCount - 1)) | partition;
    return (
      `${hex[(high >>> 24) & 255]}${hex[(high >>> 16) & 255]}${hex[(high >>> 8) & 255]}${hex[high & 255]}-` +
      `${hex[low >>> 8]}${hex[low & 255]}-` +
      `${hex[0x70 | (this.#sequence >>> 8)]}${hex[this.#sequence & 255]}-` +
      `${hex[0x80 | (byte(0) & 0x3f)]}${hex[byte(1)]}-` +
      `${hex[byte(2)]}${hex[byte(3)]}${hex[byte(4)]}${hex[byte(5)]}${hex[byte(6)]}${hex[last & 255]}`
    );
  }

  #refill(): void {
    this.#random = this.#randomness.bytes(perRefill * randomPerId);
    this.#next = 0;
  }
}
