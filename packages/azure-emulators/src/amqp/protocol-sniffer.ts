import type { Socket } from 'node:net';

export type SniffedProtocol = 'amqp' | 'tls' | 'http';

/** A client that connects and says nothing is cut after this long. */
const silenceMs = 30_000;

/** Reads the first chunk of a connection, puts it back and tells which protocol it opens. */
export function sniffProtocol(socket: Socket, route: (protocol: SniffedProtocol) => void): void {
  const timer = setTimeout(() => socket.destroy(), silenceMs);
  timer.unref();
  socket.once('close', () => clearTimeout(timer));
  socket.once('data', (chunk: Buffer) => {
    clearTimeout(timer);
    socket.pause();
    socket.unshift(chunk);
    route(protocolOf(chunk[0]));
    // Listeners of the protocol are in place only now.
    process.nextTick(() => socket.resume());
  });
}

function protocolOf(firstByte: number | undefined): SniffedProtocol {
  if (firstByte === 0x41) return 'amqp'; // A of AMQP; of the HTTP methods only ACL begins with it
  return firstByte === 0x16 ? 'tls' : 'http';
}
