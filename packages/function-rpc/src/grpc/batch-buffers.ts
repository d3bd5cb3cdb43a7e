/** Room for a few dozen messages of the usual size. A larger batch is sent at once. */
export const batchBytes = 65_536;

const maxSpare = 32;
const spare: Buffer[] = [];

/**
 * A pool of buffers for batches of messages. A stream holds one only from the first message of a batch until the socket has
 * accepted it, so that idle streams need none.
 */
export const batchBuffers = {
  acquire(): Buffer {
    return spare.pop() ?? Buffer.allocUnsafeSlow(batchBytes);
  },

  /** Returns a buffer to the pool. The caller must not use it afterwards. */
  release(buffer: Buffer): void {
    if (buffer.length === batchBytes && spare.length < maxSpare) spare.push(buffer);
  },
};
