import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '@drover/service-kit';
import { FastLaneConnection, type LaneOfConnection, type FastLaneExchange } from './fast-lane-connection.js';
import type { FastLaneLimits, FastLaneRequest } from './fast-lane-request.js';

export interface FastLaneOptions {
  readonly limits: FastLaneLimits & {
    /** How long a connection may rest between two requests. */
    readonly keepAliveMs: number;
    /** Between two looks at who rests. */
    readonly checkEveryMs: number;
  };
  readonly clock: Clock;
  /** True when it takes care of the request. */
  readonly take: (request: FastLaneRequest, exchange: FastLaneExchange) => boolean;
}

/** Who has not sent a whole request after so many looks is for the server that has all the clocks. */
const patientLooks = 2;

/**
 * A lane for plain requests in front of Node's server, on the same port. A connection stays in it as long as everything it
 * brings is plain and wanted here; with the first request that is not, the server gets the connection and that request,
 * unread. So nothing here has to know all of HTTP, and nothing is served here that was not understood to the last byte.
 */
export class FastLane implements LaneOfConnection {
  readonly limits: FastLaneOptions['limits'];
  readonly #server: Server;
  readonly #clock: Clock;
  readonly #take: FastLaneOptions['take'];
  /** Bounded by the server's `maxConnections`. */
  readonly #connections = new Set<FastLaneConnection>();
  /** Those who were told of connections before us, the server itself among them. */
  readonly #behind: readonly ((socket: Socket) => void)[];
  #cancelLook: (() => void) | undefined;
  #isClosing = false;
  #second = 0;
  #stays = '';
  #ends = '';

  constructor(server: Server, { limits, clock, take }: FastLaneOptions) {
    this.limits = limits;
    this.#server = server;
    this.#clock = clock;
    this.#take = take;
    this.#behind = server.listeners('connection') as ((socket: Socket) => void)[]; // what this event calls
    server.removeAllListeners('connection');
    server.on('connection', (socket) => this.#welcome(socket));
  }

  get isClosing(): boolean {
    return this.#isClosing;
  }

  /** Ends connections without a request now, and the others with their answers. */
  close(): void {
    this.#isClosing = true;
    this.#cancelLook?.();
    for (const { isBusy, socket } of this.#connections) if (!isBusy) socket.destroy();
  }

  /** Ends everything, whatever is in hand. */
  cut(): void {
    for (const { socket } of this.#connections) socket.destroy();
  }

  take(request: FastLaneRequest, exchange: FastLaneExchange): boolean {
    return this.#take(request, exchange);
  }

  handOver(connection: FastLaneConnection): void {
    this.forget(connection);
    for (const listener of this.#behind) listener.call(this.#server, connection.socket);
  }

  forget(connection: FastLaneConnection): void {
    this.#connections.delete(connection);
  }

  commonLines(isLast: boolean): string {
    const second = Math.floor(this.#clock.now() / 1_000);
    if (second !== this.#second) this.#writeLines(second);
    return isLast ? this.#ends : this.#stays;
  }

  #writeLines(second: number): void {
    this.#second = second;
    const date = `date: ${new Date(second * 1_000).toUTCString()}\r\n`;
    const keepSeconds = Math.floor(this.limits.keepAliveMs / 1_000);
    this.#stays = `${date}connection: keep-alive\r\nkeep-alive: timeout=${keepSeconds}\r\n`;
    this.#ends = `${date}connection: close\r\n`;
  }

  #welcome(socket: Socket): void {
    if (this.#isClosing) return void socket.destroy();
    this.#connections.add(new FastLaneConnection(socket, this));
    this.#cancelLook ??= this.#clock.after(this.limits.checkEveryMs, this.#look);
  }

  readonly #look = (): void => {
    this.#cancelLook = undefined;
    for (const connection of this.#connections) {
      if (connection.isBusy) continue;
      connection.restedLooks += 1;
      const { restedLooks, isFresh, hasPart, socket } = connection;
      if (isFresh || hasPart) {
        if (restedLooks >= patientLooks) connection.handOver();
      } else if (restedLooks * this.limits.checkEveryMs > this.limits.keepAliveMs) socket.destroySoon();
    }
    if (this.#connections.size > 0) this.#cancelLook = this.#clock.after(this.limits.checkEveryMs, this.#look);
  };
}
