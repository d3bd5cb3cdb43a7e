import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '@drover/service-kit';
import {
  FastLaneConnection,
  type Adoption,
  type ConnectionLane,
  type ConnectionOrigin,
} from './fast-lane-connection.js';
import type { FastLaneExchange } from './fast-lane-exchange.js';
import type { FastLaneLimits, FastLaneRequest } from './fast-lane-request.js';

/** A protocol that a connection can switch to. */
export interface LaneUpgrade {
  /** Returns the length of the request to switch that `received` begins with; 0 if it is none. */
  lengthOf(received: Buffer): number;
  /** Takes the connection, with what was received behind that request. */
  take(socket: Socket, received: Buffer): void;
}

export interface FastLaneOptions {
  readonly limits: FastLaneLimits & {
    /** How long a connection may be idle between two requests. */
    readonly keepAliveMs: number;
    /** Between two checks for idle connections. */
    readonly checkEveryMs: number;
  };
  readonly clock: Clock;
  /** Answers a request, now or later. Returns false if Node's server has to answer it. */
  readonly serve: (request: FastLaneRequest, exchange: FastLaneExchange) => boolean;
  readonly upgrade?: LaneUpgrade | undefined;
}

/** A connection without a complete request after this many checks goes to Node's server, which has all the timeouts. */
const patientChecks = 2;

/**
 * Serves plain requests in front of Node's server, on the same port. A connection stays here while every request on it is
 * plain and wanted here; the first other request hands the connection over to Node's server, with that request unread. So the
 * lane needs to know only a part of HTTP, and serves nothing that it did not parse to the last byte.
 */
export class FastLane implements ConnectionLane {
  readonly limits: FastLaneOptions['limits'];
  readonly #server: Server;
  readonly #clock: Clock;
  readonly #serve: FastLaneOptions['serve'];
  readonly #upgrade: LaneUpgrade | undefined;
  /** Bounded by the server's `maxConnections`. */
  readonly #connections = new Set<FastLaneConnection>();
  /** Listeners that were there before: Node's server, and everything that counts its connections. */
  readonly #behind: readonly ((socket: Socket) => void)[];
  readonly #keepLines: string;
  #cancelCheck: (() => void) | undefined;
  #isClosing = false;
  #second = 0;
  #date = '';

  constructor(server: Server, { limits, clock, serve, upgrade }: FastLaneOptions) {
    this.limits = limits;
    this.#server = server;
    this.#clock = clock;
    this.#serve = serve;
    this.#upgrade = upgrade;
    this.#keepLines = `connection: keep-alive\r\nkeep-alive: timeout=${Math.floor(limits.keepAliveMs / 1_000)}\r\n`;
    this.#behind = server.listeners('connection') as ((socket: Socket) => void)[]; // what this event calls
    server.removeAllListeners('connection');
    server.on('connection', (socket) => {
      if (this.#isClosing) socket.destroy();
      else this.#open(socket, {});
    });
  }

  get isClosing(): boolean {
    return this.#isClosing;
  }

  /** Closes connections without a request now, or gives them back; the others close after their answers. */
  close(): void {
    this.#isClosing = true;
    this.#cancelCheck?.();
    for (const connection of this.#connections) {
      if (connection.isBusy) continue;
      if (connection.isAdopted) connection.handOver();
      else connection.socket.destroy();
    }
  }

  /** Closes all connections at once, also in the middle of an answer. */
  cut(): void {
    for (const { socket } of this.#connections) socket.destroy();
  }

  serve(request: FastLaneRequest, exchange: FastLaneExchange): boolean {
    return this.#serve(request, exchange);
  }

  handOver(connection: FastLaneConnection): void {
    this.remove(connection);
    for (const listener of this.#behind) listener.call(this.#server, connection.socket);
  }

  upgrade(connection: FastLaneConnection, received: Buffer): boolean {
    const length = this.#isClosing ? 0 : (this.#upgrade?.lengthOf(received) ?? 0);
    if (length === 0) return false;
    this.remove(connection);
    this.#upgrade?.take(connection.release(), received.subarray(length));
    return true;
  }

  remove(connection: FastLaneConnection): void {
    this.#connections.delete(connection);
  }

  /** Serves a connection that another process has passed. */
  adopt(socket: Socket, adoption: Adoption): FastLaneConnection {
    return this.#open(socket, { adoption });
  }

  /** Serves a connection that another process has given back; while the lane closes, only the request that came with it. */
  takeBack(socket: Socket): void {
    if (this.#isClosing && socket.readableLength === 0) socket.destroy();
    else this.#open(socket, { isBack: true });
  }

  connectionLines(isLast: boolean): string {
    return isLast ? closeLine : this.#keepLines;
  }

  dateLine(): string {
    const second = Math.floor(this.#clock.now() / 1_000);
    if (second !== this.#second) {
      this.#second = second;
      this.#date = `date: ${new Date(second * 1_000).toUTCString()}\r\n`;
    }
    return this.#date;
  }

  #open(socket: Socket, origin: ConnectionOrigin): FastLaneConnection {
    const connection = new FastLaneConnection(socket, this, origin);
    this.#connections.add(connection);
    this.#cancelCheck ??= this.#clock.after(this.limits.checkEveryMs, this.#check);
    return connection;
  }

  readonly #check = (): void => {
    this.#cancelCheck = undefined;
    for (const connection of this.#connections) {
      // A client that still takes its answer is not idle.
      if (connection.isBusy || connection.socket.writableLength > 0) continue;
      connection.idleChecks += 1;
      const { idleChecks, isFresh, hasPart, socket } = connection;
      if (isFresh || hasPart) {
        if (idleChecks >= patientChecks) connection.handOver();
      } else if (idleChecks * this.limits.checkEveryMs > this.limits.keepAliveMs) socket.destroySoon();
    }
    if (this.#connections.size > 0) this.#cancelCheck = this.#clock.after(this.limits.checkEveryMs, this.#check);
  };
}

const closeLine = 'connection: close\r\n';
