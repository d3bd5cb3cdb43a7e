import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Clock } from '@drover/service-kit';

/** A quarter of a gigabyte at 4 Mbit/s. */
const uploadMs = 600_000;

/**
 * Connections whose request is an uploaded file, which may take longer than other bodies. Node has one time limit for all requests of a
 * server and reports a connection once when it passes: that report is ignored here, and a limit of its own holds.
 */
export class UploadingConnections {
  readonly #clock: Pick<Clock, 'after'>;
  readonly #sockets = new WeakSet<Duplex>();

  constructor(clock: Pick<Clock, 'after'>) {
    this.#clock = clock;
  }

  /** Lets a file take its time until it is complete, and closes its connection when that takes too long. */
  begin(file: IncomingMessage): void {
    const { socket } = file;
    this.#sockets.add(socket);
    const cancel = this.#clock.after(uploadMs, () => socket.destroy());
    const end = (): void => {
      cancel();
      this.#sockets.delete(socket);
    };
    file.once('end', end);
    file.once('close', end);
  }

  /** Whether this is the report of a time limit that does not hold for the connection. */
  isExempt(socket: Duplex, code: string | undefined): boolean {
    return code === 'ERR_HTTP_REQUEST_TIMEOUT' && this.#sockets.has(socket);
  }
}
