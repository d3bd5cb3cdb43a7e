/** Numbers that come one after the other, as many as there are, at no cost that the next one would notice. */
export class Samples {
  #values = new Float64Array(4_096);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  push(value: number): void {
    if (this.#length === this.#values.length) {
      const larger = new Float64Array(this.#values.length * 2);
      larger.set(this.#values);
      this.#values = larger;
    }
    this.#values[this.#length] = value;
    this.#length += 1;
  }

  /** Thousandths are more than a clock between processes can tell, and short to send. */
  toArray(): number[] {
    return Array.from(this.#values.subarray(0, this.#length), (value) => Math.round(value * 1_000) / 1_000);
  }
}
