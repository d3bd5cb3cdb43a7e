import { connect as connectPlain, isIP, type OnReadOpts, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { ClientConnection, type AnswerBegin, type AnswerReceiver, type ClientRequest } from '@drover/http-edge';
import type { Clock } from '@drover/service-kit';
import { plainName } from './endpoint-hosts.js';
import { hostOf, portOf, type EndpointGuard } from './endpoint-guard.js';

export interface ConnectionLimits {
  readonly connectTimeoutMs: number;
  readonly maxResponseBytes: number;
}

/** What the connections to one origin have in common. */
export interface EndpointOrigin {
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
const maxHeadBytes = 32_768;

/**
 * One connection, used by one call at a time. Made by a call that found none idle: nobody is connected to before there is something to
 * say. Once it has ended it stays so. A request that was sent on it may have been processed then, however early that was.
 */
export class EndpointConnection {
  readonly #origin: EndpointOrigin;
  readonly #onIdleEnd: () => void;
  #connection: ClientConnection | undefined;
  /** While it is idle: until when. Of whoever keeps it. */
  idleUntilMs = 0;

  constructor(origin: EndpointOrigin, onIdleEnd: (connection: EndpointConnection) => void) {
    this.#origin = origin;
    this.#onIdleEnd = () => onIdleEnd(this);
  }

  /** What was sent has gone out. */
  get isConnected(): boolean {
    return this.#connection?.isConnected === true;
  }

  /** How long it may be idle after the latest answer. 0: it must not be used again. */
  get keepMs(): number {
    return this.#connection?.keepMs ?? 0;
  }

  /** Status and headers of the answer in flight, if it has got that far, or had when it failed. */
  get begin(): AnswerBegin | undefined {
    return this.#connection?.begin;
  }

  send(request: ClientRequest, receiver: AnswerReceiver): void {
    try {
      this.#connection ??= this.#connect();
    } catch (error) {
      return receiver.failed(error);
    }
    this.#connection.send(request, receiver);
  }

  /** Ends whatever goes on, at once: also a connection that is only being made. */
  async destroy(): Promise<void> {
    await this.#connection?.destroy();
  }

  #connect(): ClientConnection {
    const { url, guard, limits, clock } = this.#origin;
    const host = hostOf(url);
    const port = portOf(url);
    if (isIP(host) !== 0) guard.requireAddress(host, port);
    return new ClientConnection((onread) => this.#open(host, port, onread), {
      clock,
      connectTimeoutMs: limits.connectTimeoutMs,
      maxHeadBytes,
      maxBodyBytes: limits.maxResponseBytes,
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
