import { randomUUID } from 'node:crypto';
import { lookup } from 'node:dns/promises';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { bearsApiKey } from '@drover/contracts';
import type { Clock } from '@drover/service-kit';
import { connectionsExhausted } from '../errors/edge-errors.js';
import { toErrorAnswer } from '../errors/write-error.js';
import { AcceptedConnections } from './accepted-connections.js';
import type { ConnectionChannel, PassedConnection } from '../handoff/connection-channel.js';
import { openHandle } from '../handoff/connection-handle.js';
import { forwardedByConnection } from '../proxy/forwarded-headers.js';
import { FramedServer } from '../framed/framed-server.js';
import { FastLane, type FastLaneOptions } from './fast-lane/fast-lane.js';
import type { FastLaneRequestHead } from './fast-lane/fast-lane-request.js';
import { OpenConnections } from './open-connections.js';
import type { PortLimits } from './port-limits.js';

export interface HttpPortOptions {
  readonly host: string;
  readonly port: number;
  readonly limits: PortLimits;
  /** Serves plain requests in front of Node's server. Without it there is no fast lane. */
  readonly serveFastLane?: FastLaneOptions['serve'] | undefined;
  /** The request targets that are also served by frames, many calls on one connection; none if undefined. Needs the fast lane. */
  readonly isFramed?: (target: string) => boolean;
  /** Makes the server listen; `server.listen` unless given. */
  readonly listen?: (address: ListenAddress) => Promise<unknown>;
  /** Called when the port has stopped accepting connections; resolves when none is open any more. */
  readonly closed?: () => Promise<void>;
  readonly clock: Clock;
}

interface ListenAddress {
  readonly host: string;
  readonly port: number;
  readonly backlog: number;
}

/**
 * Connections that the system completes before they are accepted; it takes less if its own limit is lower. Node's default of 511 is
 * less than one client opens at once: beyond it the system drops connections of all clients, which then wait for seconds.
 */
const backlog = 4_096;
/** What the fast lane accepts as one request; longer ones are streamed by Node's server. */
const fastLaneBytes = 65_536;

/**
 * One HTTP port: limits, fast lane, and an orderly end.
 *
 * - open: from `listen` on
 * - closing: accepts no connections; those without a request are closed, the others after their answers
 * - cut: `cut` has closed all connections, also in the middle of an answer
 *
 * Construct it last: listeners for connections of the server that exist by then get the connections that leave the fast lane.
 */
export class HttpPort {
  readonly connections: OpenConnections;
  readonly #server: Server;
  readonly #options: HttpPortOptions;
  readonly #accepted: AcceptedConnections;
  readonly #lane: FastLane | undefined;
  readonly #framed: FramedServer | undefined;
  readonly #toNode: readonly ((socket: Socket) => void)[];
  /** Bounded by the connections that the other process accepts. */
  readonly #injected = new Set<Socket>();
  /** Passes connections to another process, or takes those that it passes. */
  #channel: ConnectionChannel | undefined;
  #closed: Promise<void> | undefined;

  constructor(server: Server, options: HttpPortOptions) {
    const { limits, clock, serveFastLane: serve, isFramed } = options;
    this.#server = server;
    this.#options = options;
    // Node drops further headers silently: one more than allowed shows that there were too many.
    server.maxHeadersCount = limits.headers + 1;
    // Unknown expectations are ignored; Node's own refusal would have another shape than our errors.
    server.on('checkExpectation', (request, response) => server.emit('request', request, response));
    this.#accepted = new AcceptedConnections(limits, clock);
    this.connections = new OpenConnections(server, (request, response) => this.#refuseReserved(request, response));
    const toNode = (this.#toNode = connectionListeners(server));
    if (serve) {
      const upgrade = isFramed && new FramedServer({ limits, isServed: isFramed, serve });
      this.#framed = upgrade;
      this.#lane = new FastLane(server, { limits: { ...limits, requestBytes: fastLaneBytes }, clock, serve, upgrade });
    }
    const toLane = connectionListeners(server);
    server.removeAllListeners('connection');
    server.on('connection', (socket) => {
      this.#accepted.add(socket);
      // Reserved connections do not take part in the fast lane, where every request is served.
      const listeners = this.#accepted.isReserved(socket) ? toNode : toLane;
      for (const listener of listeners) listener.call(server, socket);
    });
  }

  /** The URL at which it listens; only after `listen`. */
  get url(): string {
    const { port } = this.#server.address() as AddressInfo; // a TCP server that listens
    const { host } = this.#options;
    const name = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
    return `http://${name.includes(':') ? `[${name}]` : name}:${port}`;
  }

  get openConnections(): number {
    return this.#accepted.size;
  }

  get isClosing(): boolean {
    return this.#closed !== undefined;
  }

  /** Listens on one address of the host: a second one would be another server, without our limits. Rejects with the system's error. */
  async listen(): Promise<void> {
    const { host, port, listen } = this.#options;
    const { address } = await lookup(host);
    if (listen) return void (await listen({ host: address, port, backlog }));
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen({ host: address, port, backlog }, () => {
        this.#server.off('error', reject);
        resolve();
      });
    });
  }

  /** Serves a connection that another listener of this process has accepted. */
  serveConnection(socket: Socket): void {
    if (this.isClosing) return void socket.destroy();
    this.#server.emit('connection', this.#inject(socket));
  }

  /** Serves the connections that another process passes, until a request on them is not served here: that one goes back with its connection. */
  adoptFrom(channel: ConnectionChannel, isServed: (target: string) => boolean): void {
    this.#channel = channel;
    // A request with an API key may be about a collection that was defined a moment ago: only the process that passed it knows.
    const isServedHere = ({ url, headers }: FastLaneRequestHead): boolean =>
      isServed(url) && !channel.isReserved(url) && !bearsApiKey(headers['authorization']);
    channel.onConnection = (passed) => {
      if (!this.#lane || this.isClosing) return channel.pass(passed);
      const giveBack = (connection: PassedConnection): void => channel.pass(connection);
      const socket = this.#inject(openHandle(passed.handle, passed.received));
      const connection = this.#lane.adopt(socket, { isServed: isServedHere, rewrite: forwardedByConnection, giveBack });
      if (!this.#accepted.adopt(socket)) connection.handOver();
    };
  }

  /** Goes on with the connections of this port that another process gives back, or has not taken before it ended. */
  takeBackFrom(channel: ConnectionChannel): void {
    this.#channel = channel;
    channel.onConnection = ({ handle, received }) => {
      const socket = this.#inject(openHandle(handle, received));
      this.#accepted.takeBack(socket);
      if (this.#lane) this.#lane.takeBack(socket);
      else for (const listener of this.#toNode) listener.call(this.#server, socket);
    };
    channel.onReturned = channel.onConnection;
  }

  /** Closes in order; cuts what is left when the deadline aborts. */
  async drain(deadline: AbortSignal): Promise<void> {
    const closed = this.#close();
    const cut = (): void => this.#cut();
    deadline.addEventListener('abort', cut, { once: true });
    if (deadline.aborted) cut();
    await closed;
    deadline.removeEventListener('abort', cut);
  }

  /** Closes at once. */
  async stop(): Promise<void> {
    const closed = this.#close();
    this.#cut();
    await closed;
  }

  /** Refuses a request on a reserved connection unless it is a probe. Either way it is the last one on its connection. */
  #refuseReserved(request: IncomingMessage, response: ServerResponse): boolean {
    if (!this.#accepted.isReserved(request.socket)) return false;
    response.shouldKeepAlive = false;
    if (isProbe(request)) return false;
    const { connections, connectionsPerClient: perClient } = this.#options.limits;
    const { status, headers, body } = toErrorAnswer(connectionsExhausted({ connections, perClient }), randomUUID());
    response.writeHead(status, [...headers, 'content-length', String(Buffer.byteLength(body))]);
    response.end(body);
    return true;
  }

  /** Counts a connection that the server did not accept itself, so that the port does not end before it. */
  #inject(socket: Socket): Socket {
    this.#injected.add(socket);
    return socket.once('close', () => this.#injected.delete(socket));
  }

  #injectedClosed(): Promise<unknown> {
    return Promise.all([...this.#injected].map((socket) => new Promise((resolve) => socket.once('close', resolve))));
  }

  #cut(): void {
    this.#lane?.cut();
    this.#framed?.cut();
    this.#server.closeAllConnections();
    this.#channel?.cut();
    for (const socket of this.#injected) socket.destroy();
  }

  #close(): Promise<void> {
    this.#closed ??= this.#closeOnce();
    return this.#closed;
  }

  async #closeOnce(): Promise<void> {
    const server = this.#server;
    const isOver = server.listening && new Promise<void>((resolve) => server.close(() => resolve()));
    this.#lane?.close();
    this.#framed?.close();
    this.connections.close();
    await Promise.all([isOver, this.#options.closed?.()]);
    do {
      await this.#injectedClosed();
      await this.#channel?.drain();
    } while (this.#injected.size > 0);
  }
}

const probePaths = /^\/(?:healthz|readyz|health|actuator\/health(?:\/\w+)?)(?:\?|$)/;

/** Whether a request asks for the health of the process. */
function isProbe({ method, url = '' }: IncomingMessage): boolean {
  return (method === 'GET' || method === 'HEAD') && probePaths.test(url);
}

function connectionListeners(server: Server): readonly ((socket: Socket) => void)[] {
  return server.listeners('connection') as ((socket: Socket) => void)[]; // what this event calls
}
