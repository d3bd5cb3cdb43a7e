import { EndpointConnection, type EndpointOrigin } from './endpoint-connection.js';

/**
 * Keep-alive connections to one origin. As many as calls are in flight, never more: a call takes an idle one or makes one, so whoever
 * bounds the calls bounds the connections. The one used last is taken first, so that what is not needed falls idle and closes. Idle
 * ones are looked through when the first of them may be due, not timed one by one.
 */
export class EndpointConnections {
  readonly #origin: EndpointOrigin;
  readonly #all = new Set<EndpointConnection>();
  readonly #idle: EndpointConnection[] = [];
  /** Dropped, but not gone yet. */
  readonly #ending = new Set<Promise<void>>();
  readonly #onIdleEnd = (connection: EndpointConnection): void => this.#forgetIdle(connection);
  /** While somebody will look through the idle ones. */
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

  take(): EndpointConnection {
    for (let idle = this.#idle.pop(); idle; idle = this.#idle.pop()) {
      // Timers come late when there is much to do, and the other side may be about to close it.
      if (idle.idleUntilMs > this.#origin.clock.monotonicMs()) return idle;
      this.drop(idle);
    }
    const connection = new EndpointConnection(this.#origin, this.#onIdleEnd);
    this.#all.add(connection);
    return connection;
  }

  /** The call has its answer. The connection may serve another one, unless that answer said otherwise. */
  give(connection: EndpointConnection): void {
    const { keepMs } = connection;
    if (this.#closed || keepMs === 0) return this.drop(connection);
    if (!this.#all.has(connection)) return;
    connection.idleUntilMs = this.#origin.clock.monotonicMs() + keepMs;
    this.#idle.push(connection);
    this.#cancelSweep ??= this.#origin.clock.after(keepMs, () => this.#sweep());
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
    this.#cancelSweep?.();
    this.#idle.length = 0;
    for (const connection of this.#all) this.drop(connection);
    await Promise.all(this.#ending);
  }

  /** One that is in use stays: its call learns of it. */
  #forgetIdle(connection: EndpointConnection): void {
    const place = this.#idle.indexOf(connection);
    if (place === -1) return;
    this.#idle.splice(place, 1);
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
