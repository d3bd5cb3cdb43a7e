import { EndpointConnection, type EndpointOrigin } from './endpoint-connection.js';

/**
 * Keep-alive connections to one origin. A call acquires an idle connection or opens one, so the number of calls in flight bounds
 * the number of connections. The one used last is acquired first, so that surplus connections become idle and close. One timer
 * serves all idle connections.
 */
export class EndpointConnections {
  readonly #origin: EndpointOrigin;
  readonly #all = new Set<EndpointConnection>();
  readonly #idle: EndpointConnection[] = [];
  /** Being closed. */
  readonly #ending = new Set<Promise<void>>();
  readonly #onIdleEnd = (connection: EndpointConnection): void => this.#dropIdle(connection);
  /** Set while a sweep is scheduled. */
  #cancelSweep: (() => void) | undefined;
  #closed = false;

  constructor(origin: EndpointOrigin) {
    this.#origin = origin;
  }

  get open(): number {
    return this.#all.size;
  }

  get inUse(): number {
    return this.#all.size - this.#idle.length;
  }

  /** Returns a connection for one call. The caller must call `release` or `drop`. */
  acquire(): EndpointConnection {
    for (let idle = this.#idle.pop(); idle; idle = this.#idle.pop()) {
      // The sweep may be late under load, and the endpoint may be about to close the connection.
      if (idle.idleUntilMs > this.#origin.clock.monotonicMs()) return idle;
      this.drop(idle);
    }
    const connection = new EndpointConnection(this.#origin, this.#onIdleEnd);
    this.#all.add(connection);
    return connection;
  }

  /** Returns a connection whose call has its answer. It becomes idle unless the answer asked to close it. */
  release(connection: EndpointConnection): void {
    const { keepMs } = connection;
    if (this.#closed || keepMs === 0) return this.drop(connection);
    if (!this.#all.has(connection)) return;
    connection.idleUntilMs = this.#origin.clock.monotonicMs() + keepMs;
    this.#idle.push(connection);
    this.#cancelSweep ??= this.#origin.clock.after(keepMs, () => this.#sweep());
  }

  /** Closes a connection whose call was abandoned or failed. */
  drop(connection: EndpointConnection): void {
    if (!this.#all.delete(connection)) return;
    const ending = connection.destroy().finally(() => this.#ending.delete(ending));
    this.#ending.add(ending);
  }

  /** Closes all connections, also those with calls in flight. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#cancelSweep?.();
    this.#idle.length = 0;
    for (const connection of this.#all) this.drop(connection);
    await Promise.all(this.#ending);
  }

  /** Only idle connections: the call on a connection in use is notified itself. */
  #dropIdle(connection: EndpointConnection): void {
    const index = this.#idle.indexOf(connection);
    if (index === -1) return;
    this.#idle.splice(index, 1);
    this.drop(connection);
  }

  #sweep(): void {
    const now = this.#origin.clock.monotonicMs();
    let next = Number.POSITIVE_INFINITY;
    for (const connection of this.#idle.splice(0)) {
      if (connection.idleUntilMs <= now) {
        this.drop(connection);
      } else {
        this.#idle.push(connection);
        next = Math.min(next, connection.idleUntilMs);
      }
    }
    this.#cancelSweep = this.#idle.length === 0 ? undefined : this.#origin.clock.after(next - now, () => this.#sweep());
  }
}
