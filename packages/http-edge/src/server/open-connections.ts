import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/** One connection of a client, while it has a request in hand. */
export interface OpenConnection {
  /** Aborts when the connection closes. One for all of its requests: a new one costs a tenth of a small request. */
  readonly signal: AbortSignal;
  /** The request is answered, or its client left. */
  release(): void;
}

interface Entry extends OpenConnection {
  requests: number;
}

/**
 * The connections of Node's server, with the number of requests that each has in hand. Node takes a connection that has not
 * sent a whole request for a busy one: without this count a silent client would hold up a drain until its deadline.
 */
export class OpenConnections {
  /** Bounded by the server's `maxConnections`. */
  readonly #entries = new Map<Socket, Entry>();
  #isClosing = false;

  constructor(server: Server) {
    server.on('connection', (socket) => this.#add(socket));
  }

  /** A request has begun on this connection. The caller must call `release`. */
  acquire(socket: Socket): OpenConnection {
    const entry = this.#entries.get(socket) ?? this.#add(socket);
    entry.requests += 1;
    return entry;
  }

  /** Closes connections without a request now, and each of the others after its last one. */
  close(): void {
    this.#isClosing = true;
    for (const [socket, { requests }] of this.#entries) if (requests === 0) socket.destroy();
  }

  #add(socket: Socket): Entry {
    const abort = new AbortController();
    const entry: Entry = {
      requests: 0,
      signal: abort.signal,
      release: () => {
        entry.requests -= 1;
        if (this.#isClosing && entry.requests === 0) socket.destroySoon();
      },
    };
    this.#entries.set(socket, entry);
    socket.once('close', () => {
      this.#entries.delete(socket);
      abort.abort(new Error('The client closed the connection.'));
    });
    return entry;
  }
}
