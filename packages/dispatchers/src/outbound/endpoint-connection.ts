import { connect as connectPlain, isIP, type OnReadOpts, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { ClientConnection, type AnswerBegin, type AnswerReceiver, type ClientRequest } from '@drover/http-edge';
import type { Clock } from '@drover/service-kit';
import { plainName } from './endpoint-hosts.js';
import { endpointHostOf, portOf, type EndpointGuard } from './endpoint-guard.js';

export interface ConnectionLimits {
  readonly connectTimeoutMs: number;
  readonly maxResponseBytes: number;
}

/** What all connections to one origin share. */
export interface EndpointOrigin {
  readonly url: URL;
  readonly limits: ConnectionLimits;
  readonly guard: EndpointGuard;
  readonly clock: Clock;
  /** Certificate authorities to trust instead of the default ones. */
  readonly ca?: string;
  /** The latest session, for a short handshake of the next connection. */
  tlsSession?: Buffer;
}

/** Limit of the status line and headers of a response. */
const maxHeadBytes = 32_768;

/**
 * One connection, used by one call at a time and opened by its first request. It is not reopened: when it breaks after a request
 * was sent, the endpoint may have processed that request.
 */
export class EndpointConnection {
  readonly #origin: EndpointOrigin;
  readonly #onIdleEnd: () => void;
  #connection: ClientConnection | undefined;
  /** Maintained by `EndpointConnections`: end of the idle time. */
  idleUntilMs = 0;

  constructor(origin: EndpointOrigin, onIdleEnd: (connection: EndpointConnection) => void) {
    this.#origin = origin;
    this.#onIdleEnd = () => onIdleEnd(this);
  }

  /** True when the connection is established and the request was written. */
  get isConnected(): boolean {
    return this.#connection?.isConnected === true;
  }

  /** How long it may be idle after the latest response. 0: it must not be used again. */
  get keepMs(): number {
    return this.#connection?.keepMs ?? 0;
  }

  /** Status and headers of the current response; undefined before they arrived. Kept after a failure. */
  get begin(): AnswerBegin | undefined {
    return this.#connection?.begin;
  }

  /** `onConnected` is called when the request is the first one, once the endpoint has taken the connection. */
  send(request: ClientRequest, receiver: AnswerReceiver, onConnected?: () => void): void {
    try {
      this.#connection ??= this.#connect(onConnected);
    } catch (error) {
      return receiver.failed(error);
    }
    this.#connection.send(request, receiver);
  }

  /** Closes the connection at once, also while it is being established. */
  async destroy(): Promise<void> {
    await this.#connection?.destroy();
  }

  #connect(onConnected: (() => void) | undefined): ClientConnection {
    const { url, guard, limits, clock } = this.#origin;
    const host = endpointHostOf(url);
    const port = portOf(url);
    if (isIP(host) !== 0) guard.requireAddress(host, port);
    return new ClientConnection((onread) => this.#open(host, port, onread), {
      clock,
      connectTimeoutMs: limits.connectTimeoutMs,
      maxHeadBytes,
      maxBodyBytes: limits.maxResponseBytes,
      ...(onConnected && { onConnected }),
      onIdleEnd: this.#onIdleEnd,
    });
  }

  #open(host: string, port: number, onread: OnReadOpts): Socket {
    const origin = this.#origin;
    const options = { host, port, onread, lookup: origin.guard.lookupFor(port), autoSelectFamily: true };
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
