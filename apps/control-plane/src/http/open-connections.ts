import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/**
 * Every connection of a server, with the number of requests it has in hand. Node takes one that has not yet sent a whole
 * request for a busy one: without this count a silent stranger would hold up a drain until its deadline.
 */
export class OpenConnections {
  /** Bounded by the server's `maxConnections`. */
  readonly #requests = new Map<Socket, number>();
  #closing = false;

  constructor(server: Server) {
    server.on('connection', (socket) => {
      this.#requests.set(socket, 0);
      socket.once('close', () => this.#requests.delete(socket));
    });
    server.on('request', ({ socket }, response) => {
      this.#add(socket, 1);
      response.once('close', () => this.#add(socket, -1));
    });
  }

  /** Closes those without a request now, and each of the others after its last one. */
  close(): void {
    this.#closing = true;
    for (const [socket, requests] of this.#requests) if (requests === 0) socket.destroy();
  }

  #add(socket: Socket, change: number): void {
    const requests = (this.#requests.get(socket) ?? 0) + change;
    if (this.#requests.has(socket)) this.#requests.set(socket, requests);
    if (this.#closing && requests === 0) socket.destroySoon();
  }
}
