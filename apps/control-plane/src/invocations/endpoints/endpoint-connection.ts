import { connect as connectPlain, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { Clock } from '@drover/service-kit';
import { Client, type buildConnector, type Dispatcher } from 'undici';
import { plainName } from './endpoint-hosts.js';
import { hostOf, portOf, type EndpointGuard } from './endpoint-guard.js';

export interface ConnectionLimits {
  readonly connectTimeoutMs: number;
  readonly maxResponseBytes: number;
}

/** What the connections to one origin have in common. */
export interface Origin {
  readonly url: URL;
  readonly limits: ConnectionLimits;
  readonly guard: EndpointGuard;
  readonly clock: Clock;
  /** Certificates to trust instead of the usual ones. */
  readonly ca?: string;
  /** The latest: a further connection need not prove everything anew. */
  tlsSession?: Buffer;
}

/** An answer's headers; a request line and some. */
const maxHeaderBytes = 32_768;
/** Without a word from the other side about it. Many close after five seconds, and we must be first. */
const idleMs = 4_000;
const idleMostMs = 60_000;

/**
 * One connection, used by one call at a time. Made by a call that found none idle. A request that waits while the other side closes the
 * idle connection is sent on a new one by itself, and this is the only case in which it surely was not processed.
 */
export class EndpointConnection {
  readonly #origin: Origin;
  readonly #client: Client;
  #socket: Socket | undefined;

  constructor(origin: Origin, onClosed: (connection: EndpointConnection) => void) {
    this.#origin = origin;
    this.#client = new Client(origin.url.origin, {
      connect: (_options, callback) => this.#connect(callback),
      pipelining: 1,
      allowH2: false,
      maxHeaderSize: maxHeaderBytes,
      maxResponseSize: origin.limits.maxResponseBytes,
      // Whoever calls sees to the time: a timer for each call would be one too many.
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: idleMs,
      keepAliveMaxTimeout: idleMostMs,
    });
    this.#client.on('disconnect', () => onClosed(this));
  }

  send(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void {
    this.#client.dispatch(options, handler);
  }

  /** Ends whatever goes on, at once: also a connection that is only being made, which the client would wait for. */
  async destroy(): Promise<void> {
    const gone = this.#client.destroy(null);
    const socket = this.#socket;
    if (socket && !socket.closed) {
      const closed = new Promise((resolve) => socket.once('close', resolve));
      socket.destroy();
      await closed;
    }
    await gone;
  }

  #connect(callback: buildConnector.Callback): void {
    const { url, guard, limits, clock } = this.#origin;
    const host = hostOf(url);
    const port = portOf(url);
    try {
      if (isIP(host) !== 0) guard.requireAddress(host, port);
    } catch (error) {
      return callback(error instanceof Error ? error : new Error(String(error)), null);
    }
    const socket = this.#open(host, port);
    this.#socket = socket;
    let settled = false;
    const cancel = clock.after(limits.connectTimeoutMs, () => socket.destroy(new ConnectTimeout()));
    const fail = (error: Error): void => {
      cancel();
      if (settled) return;
      settled = true;
      callback(error, null);
    };
    socket
      .setNoDelay(true)
      .setKeepAlive(true, 60_000)
      .once(url.protocol === 'https:' ? 'secureConnect' : 'connect', () => {
        cancel();
        if (settled) return;
        settled = true;
        callback(null, socket);
      })
      .on('error', fail)
      // Destroyed by us without an error, while it was being made.
      .once('close', () => fail(new ConnectionGivenUp()));
  }

  #open(host: string, port: number): Socket {
    const origin = this.#origin;
    const options = { host, port, lookup: origin.guard.lookupFor(port), autoSelectFamily: true };
    if (origin.url.protocol === 'http:') return connectPlain(options);
    const socket = connectTls({
      ...options,
      ALPNProtocols: ['http/1.1'],
      ...(isIP(host) === 0 ? { servername: plainName(host) } : {}),
      ...(origin.ca === undefined ? {} : { ca: origin.ca }),
      ...(origin.tlsSession === undefined ? {} : { session: origin.tlsSession }),
    });
    socket.on('session', (session) => (origin.tlsSession = session));
    return socket;
  }
}

class ConnectTimeout extends Error {
  readonly code = 'UND_ERR_CONNECT_TIMEOUT';
}

class ConnectionGivenUp extends Error {
  readonly code = 'ECONNABORTED';
}
