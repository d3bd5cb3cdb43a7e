import { EndpointConnection, type Origin } from './endpoint-connection.js';

/**
 * Keep-alive connections to one origin. As many as calls are in flight, never more: a call takes an idle one or makes one, so whoever
 * bounds the calls bounds the connections. The one used last is taken first, so that what is not needed falls idle and closes.
 */
export class EndpointConnections {
  readonly #origin: Origin;
  readonly #all = new Set<EndpointConnection>();
  readonly #idle: EndpointConnection[] = [];
  /** Dropped, but not gone yet. */
  readonly #ending = new Set<Promise<void>>();
  #closed = false;

  constructor(origin: Origin) {
    this.#origin = origin;
  }

  get open(): number {
    return this.#all.size;
  }

  get inUse(): number {
    return this.#all.size - this.#idle.length;
  }

  take(): EndpointConnection {
    const idle = this.#idle.pop();
    if (idle) return idle;
    const connection = new EndpointConnection(this.#origin, (closed) => this.#forgetIdle(closed));
    this.#all.add(connection);
    return connection;
  }

  /** The call has ended and the connection may serve another one. */
  give(connection: EndpointConnection): void {
    if (this.#closed) this.drop(connection);
    else if (this.#all.has(connection)) this.#idle.push(connection);
  }

  /** The call has ended in a way that leaves the connection in doubt. */
  drop(connection: EndpointConnection): void {
    if (!this.#all.delete(connection)) return;
    const ending = connection.destroy().finally(() => this.#ending.delete(ending));
    this.#ending.add(ending);
  }

  /** Ends everything, calls in flight too. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#idle.length = 0;
    for (const connection of this.#all) this.drop(connection);
    await Promise.all(this.#ending);
  }

  /** One that is in use stays: its call learns of it, or goes out on a new socket. */
  #forgetIdle(connection: EndpointConnection): void {
    const place = this.#idle.indexOf(connection);
    if (place === -1) return;
    this.#idle.splice(place, 1);
    this.drop(connection);
  }
}
