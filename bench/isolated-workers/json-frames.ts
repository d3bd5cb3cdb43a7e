import type { Socket } from 'node:net';

/** Where a raw worker process finds its end of the socket pair. */
export const wireDescriptor = 3;

/** Four bytes of length and the message as JSON, in one write: what one would write by hand. */
export function writeFrame(socket: Socket, message: unknown): void {
  const text = JSON.stringify(message);
  const size = Buffer.byteLength(text);
  const frame = Buffer.allocUnsafe(4 + size);
  frame.writeUInt32LE(size, 0);
  frame.write(text, 4, 'utf8');
  socket.write(frame);
}

/** Calls back with each message; the parts of a large one are put together once, when all are there. */
export function readFrames(socket: Socket, onMessage: (message: unknown) => void): void {
  let parts: Buffer[] = [];
  let bytes = 0;
  let needed = 4;
  socket.on('data', (chunk: Buffer) => {
    parts.push(chunk);
    bytes += chunk.length;
    if (bytes < needed) return;
    const whole = parts.length === 1 ? chunk : Buffer.concat(parts);
    let at = 0;
    needed = 4;
    while (whole.length - at >= 4) {
      const end = at + 4 + whole.readUInt32LE(at);
      if (end > whole.length) {
        needed = end - at;
        break;
      }
      onMessage(JSON.parse(whole.toString('utf8', at + 4, end)));
      at = end;
    }
    parts = at < whole.length ? [whole.subarray(at)] : [];
    bytes = whole.length - at;
  });
}
