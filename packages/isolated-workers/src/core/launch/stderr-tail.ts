const tailBytes = 4_096;

/** Keeps the last 4 KiB of a stream. */
export class StderrTail {
  #chunks: Buffer[] = [];
  #bytes = 0;

  add(chunk: Buffer): void {
    const part = chunk.length > tailBytes ? chunk.subarray(chunk.length - tailBytes) : chunk;
    this.#chunks.push(part);
    this.#bytes += part.length;
    if (this.#bytes <= tailBytes * 4) return;
    const whole = Buffer.concat(this.#chunks);
    this.#chunks = [whole.subarray(whole.length - tailBytes)];
    this.#bytes = tailBytes;
  }

  toString(): string {
    const whole = Buffer.concat(this.#chunks);
    return whole.subarray(Math.max(0, whole.length - tailBytes)).toString('utf8');
  }
}
