import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/** One connection of a caller. */
export interface Connection {
  /** Aborts when it is gone. One for all of its requests: to make one costs a tenth of a small request. */
  readonly signal: AbortSignal;
  /** A request on it is over. */
  release(): void;
}

interface Entry extends Connection {
  requests: number;
  readonly abort: AbortController;
}

/**
 * Every connection of a server, with the number of requests it has in hand. Node takes one that has not yet sent a whole
 * request for a busy one: without this count a silent stranger would hold up a drain until its deadline.
 */
export class OpenConnections {
  /** Bounded by the server's `maxConnections`. */
  readonly #entries = new Map<Socket, Entry>();
  #isClosing = false;

  constructor(server: Server) {
    server.on('connection', (socket) => this.#add(socket));
  }

  /** A request has begun on that connection. */
  take(socket: Socket): Connection {
    const entry = this.#entries.get(socket) ?? this.#add(socket);
    entry.requests += 1;
    return entry;
  }

  /** Closes those without a request now, and each of the others after its last one. */
  close(): void {
    this.#isClosing = true;
    for (const [socket, { requests }] of this.#entries) if (requests === 0) socket.destroy();
  }

  #add(socket: Socket): Entry {
    const abort = new AbortController();
    const entry: Entry = {
      requests: 0,
      abort,
      signal: abort.signal,
      release: () => {
        entry.requests -= 1;
        if (this.#isClosing && entry.requests === 0) socket.destroySoon();
      },
    };
    this.#entries.set(socket, entry);
    socket.once('close', () => {
      this.#entries.delete(socket);
      abort.abort(new Error('the caller is gone'));
    });
    return entry;
  }
}
