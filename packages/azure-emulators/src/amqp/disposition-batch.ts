import { acceptedState, writeDisposition } from './frames.js';
import type { OutputBuffer } from './output-buffer.js';

/**
 * Collects the settlements of one tick and writes a run of accepted neighbours as one frame. rhea's own merging gives the
 * first delivery's outcome to its neighbour when two are settled in the same tick, so it is never used for dispositions.
 */
export class DispositionBatch {
  #first = 0;
  #count = 0;
  #scheduled = false;
  readonly #out: OutputBuffer;
  readonly #channel: number;
  readonly #asReceiver: boolean;

  constructor(out: OutputBuffer, channel: number, asReceiver: boolean) {
    this.#out = out;
    this.#channel = channel;
    this.#asReceiver = asReceiver;
  }

  accepted(deliveryId: number): void {
    if (this.#count > 0 && (this.#first + this.#count) >>> 0 === deliveryId) {
      this.#count += 1;
      return;
    }
    this.#flush();
    this.#first = deliveryId;
    this.#count = 1;
    this.#schedule();
  }

  state(deliveryId: number, state: Buffer): void {
    this.#flush();
    this.#write(deliveryId, deliveryId, state);
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    process.nextTick(() => {
      this.#scheduled = false;
      this.#flush();
    });
  }

  #flush(): void {
    if (this.#count === 0) return;
    this.#write(this.#first, (this.#first + this.#count - 1) >>> 0, acceptedState);
    this.#count = 0;
  }

  #write(first: number, last: number, state: Buffer): void {
    writeDisposition(this.#out, { channel: this.#channel, asReceiver: this.#asReceiver, first, last, state });
  }
}
