import { connect as connectTcp, isIP, type OnReadOpts, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { Clock } from '@drover/service-kit';
import { ClientConnection } from './client-connection.js';
import { ClientFault } from './client-fault.js';

export interface ConnectionPoolOptions {
  /** Where to connect: protocol, host and port. */
  readonly url: URL;
  /** Returns the Unix socket of the server if it is on this machine and has one; asked for each connection. */
  readonly localSocket?: () => string | undefined;
  /** Further calls wait in line until a connection is free. */
  readonly maxConnections: number;
  readonly connectTimeoutMs: number;
  readonly inactivityMs?: number;
  readonly maxHeadBytes?: number;
  readonly maxBodyBytes?: number;
  readonly clock: Clock;
}

/** A call that needs a connection. */
export interface ConnectionUser {
  /** Called once, at once or later. The user must give the connection back with `release` or `discard`. */
  use(connection: ClientConnection): void;
  /** Called instead of `use` if the pool is closed before a connection is free. */
  failed(error: unknown): void;
}

const defaultMaxHeadBytes = 65_536;

/**
 * Keep-alive connections to one server, at most one call on each. The connection used last is used first, so that
 * superfluous ones become idle and are closed, before the server closes them.
 */
export class ConnectionPool {
  readonly #options: ConnectionPoolOptions;
  readonly #openSocket: (onread: OnReadOpts) => Socket;
  readonly #all = new Set<ClientConnection>();
  readonly #idle: ClientConnection[] = [];
  readonly #idleUntilMs = new WeakMap<ClientConnection, number>();
  readonly #waiting = new Set<ConnectionUser>();
  #cancelSweep: (() => void) | undefined;
  #isRetired = false;

  constructor(options: ConnectionPoolOptions) {
    this.#options = options;
    this.#openSocket = socketOpener(options.url);
  }

  /** No connection is open, and no call waits for one. */
  get isUnused(): boolean {
    return this.#all.size === 0 && this.#waiting.size === 0;
  }

  /** Connections that the next call can take. */
  get idle(): number {
    return this.#idle.length;
  }

  /** How many connections carry a call or are being opened for one. */
  get busy(): number {
    return this.#all.size - this.#idle.length;
  }

  /** Gives the user an idle connection or a new one; waits if `maxConnections` are in use. */
  acquire(user: ConnectionUser): void {
    const idle = this.#takeIdle();
    if (idle) user.use(idle);
    else this.acquireNew(user);
  }

  /** The same, but never an idle connection, which the server may have closed. */
  acquireNew(user: ConnectionUser): void {
    if (this.#all.size >= this.#options.maxConnections) {
      const idle = this.#idle.shift();
      if (!idle) return void this.#waiting.add(user);
      this.#remove(idle);
    }
    user.use(this.#open());
  }

  /** A user that waits no longer. */
  cancel(user: ConnectionUser): void {
    this.#waiting.delete(user);
  }

  /** The call on this connection was answered. The connection serves the next, unless the answer forbade it. */
  release(connection: ClientConnection): void {
    const { keepMs } = connection;
    if (keepMs === 0) return this.discard(connection);
    if (!this.#all.has(connection)) return;
    const [next] = this.#waiting;
    if (next) {
      this.#waiting.delete(next);
      return next.use(connection);
    }
    if (this.#isRetired) return this.#remove(connection);
    this.#idleUntilMs.set(connection, this.#options.clock.monotonicMs() + keepMs);
    this.#idle.push(connection);
    this.#cancelSweep ??= this.#options.clock.after(keepMs, this.#sweep);
  }

  /** The call on this connection has failed or was given up: the connection is closed. */
  discard(connection: ClientConnection): void {
    // A call that is given up fails once more when its socket closes: only the first time makes room for another.
    if (!this.#all.delete(connection)) return;
    void connection.destroy();
    const [next] = this.#waiting;
    if (!next) return;
    this.#waiting.delete(next);
    next.use(this.#open());
  }

  /** Closes all connections; calls in flight fail. */
  async close(): Promise<void> {
    this.retire();
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const user of waiting) user.failed(new ClientFault('CONNECT_GIVEN_UP'));
    await Promise.all([...this.#all].map((connection) => connection.destroy()));
  }

  /** Closes idle connections now, and the others after their answers. */
  retire(): void {
    this.#isRetired = true;
    this.#cancelSweep?.();
    for (const connection of this.#idle.splice(0)) this.#remove(connection);
  }

  #takeIdle(): ClientConnection | undefined {
    for (let idle = this.#idle.pop(); idle; idle = this.#idle.pop()) {
      // The sweep may be late, and the server about to close the connection.
      if ((this.#idleUntilMs.get(idle) ?? 0) > this.#options.clock.monotonicMs()) return idle;
      this.#remove(idle);
    }
    return undefined;
  }

  #open(): ClientConnection {
    const { connectTimeoutMs, inactivityMs, clock } = this.#options;
    const { maxHeadBytes = defaultMaxHeadBytes, maxBodyBytes = Number.POSITIVE_INFINITY } = this.#options;
    const path = this.#options.localSocket?.();
    const open = path === undefined ? this.#openSocket : (onread: OnReadOpts) => connectTcp({ path, onread });
    const connection: ClientConnection = new ClientConnection(open, {
      isLocal: path !== undefined,
      clock,
      connectTimeoutMs,
      ...(inactivityMs !== undefined && { inactivityMs }),
      maxHeadBytes,
      maxBodyBytes,
      onIdleEnd: () => this.#idleEnded(connection),
    });
    this.#all.add(connection);
    return connection;
  }

  #idleEnded(connection: ClientConnection): void {
    const place = this.#idle.indexOf(connection);
    if (place !== -1) this.#idle.splice(place, 1);
    this.#all.delete(connection);
  }

  #remove(connection: ClientConnection): void {
    if (this.#all.delete(connection)) void connection.destroy();
  }

  readonly #sweep = (): void => {
    const now = this.#options.clock.monotonicMs();
    let next = Number.POSITIVE_INFINITY;
    for (const connection of this.#idle.splice(0)) {
      const untilMs = this.#idleUntilMs.get(connection) ?? 0;
      if (untilMs <= now) this.#remove(connection);
      else {
        this.#idle.push(connection);
        next = Math.min(next, untilMs);
      }
    }
    this.#cancelSweep = this.#idle.length === 0 ? undefined : this.#options.clock.after(next - now, this.#sweep);
  };
}

/** Returns a function that begins to connect a socket, plain or TLS, to the server of a URL. */
export function socketOpener({ protocol, hostname, port }: URL): (onread: OnReadOpts) => Socket {
  const isTls = protocol === 'https:';
  const host = hostname.replaceAll(/^\[|\]$/g, '');
  const options = { host, port: Number(port || (isTls ? 443 : 80)) };
  if (!isTls) return (onread) => connectTcp({ ...options, onread });
  return (onread) => {
    const tcp = { ...options, onread };
    return connectTls({ ...tcp, ALPNProtocols: ['http/1.1'], ...(isIP(host) === 0 ? { servername: host } : {}) });
  };
}
