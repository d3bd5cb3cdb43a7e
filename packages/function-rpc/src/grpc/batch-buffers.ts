/** Room for a few dozen usual messages; a batch that outgrows it is sent at once. */
export const batchBytes = 65_536;

const mostSpare = 32;
const spare: Buffer[] = [];

/**
 * Buffers that batches of messages are written into. They are lent out only between the first message of a batch and the
 * moment the socket has taken it, so that a thousand idle streams need none.
 */
export const batchBuffers = {
  take(): Buffer {
    return spare.pop() ?? Buffer.allocUnsafeSlow(batchBytes);
  },

  /** Takes a buffer back. Whoever gives it back does not touch it again. */
  giveBack(buffer: Buffer): void {
    if (buffer.length === batchBytes && spare.length < mostSpare) spare.push(buffer);
  },
};
