import type { Socket } from 'node:net';
import { writeHead } from '../server/fast-lane/answer-head.js';
import type { LaneUpgrade } from '../server/fast-lane/fast-lane.js';
import {
  FastLaneExchange,
  type AnswerHeadText,
  type ExchangeConnection,
} from '../server/fast-lane/fast-lane-exchange.js';
import {
  parseFastLaneRequest,
  type FastLaneLimits,
  type FastLaneRequest,
} from '../server/fast-lane/fast-lane-request.js';
import {
  CallFrameReader,
  CallFrameWriter,
  framedProtocol,
  maxFramedCalls,
  maxFramedRequestBytes,
  noMoreCalls,
  type CallFrameReceiver,
} from './frames.js';

export interface FramedServerOptions {
  readonly limits: Omit<FastLaneLimits, 'requestBytes'> & {
    /** How long a connection may be idle without a call. */
    readonly keepAliveMs: number;
  };
  /** Whether a request target is served by frames: answers are written whole, never streamed. */
  readonly isServed: (target: string) => boolean;
  /** Answers a request, now or later. */
  readonly serve: (request: FastLaneRequest, exchange: FastLaneExchange) => boolean;
}

/** How long a client may take to close its connection after it was told that the server accepts no more calls. */
const farewellMs = 1_000;
/** A request to upgrade is of our own client, so nothing else is accepted. */
const upgradeRequest = new RegExp(
  String.raw`^GET /[\x21-\x7e]* HTTP/1\.1\r\nhost: [\x21-\x7e]+\r\nconnection: upgrade\r\nupgrade: ${framedProtocol}\r\n\r\n`,
);
const maxUpgradeBytes = 1_024;
const accepted = `HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: ${framedProtocol}\r\n\r\n`;

/**
 * Serves calls that arrive in frames, many at a time on one connection. A frame has the id of its call and a request or an answer
 * of HTTP/1.1, as it would be sent without frames. Answers go out in any order.
 *
 * - An empty frame of the client cancels the call; an empty frame of the server says that there will be no whole answer.
 * - `noMoreCalls` of the server tells the client to close the connection when all its calls are answered.
 */
export class FramedServer implements LaneUpgrade {
  readonly #options: FramedServerOptions;
  /** Bounded by the number of connections that the port accepts. */
  readonly #connections = new Set<FramedServerConnection>();

  constructor(options: FramedServerOptions) {
    this.#options = options;
  }

  lengthOf(received: Buffer): number {
    return upgradeRequest.exec(received.toString('latin1', 0, maxUpgradeBytes))?.[0].length ?? 0;
  }

  take(socket: Socket, received: Buffer): void {
    const connection = new FramedServerConnection(socket, this.#options);
    this.#connections.add(connection);
    socket.once('close', () => this.#connections.delete(connection));
    socket.write(accepted, 'latin1');
    connection.read(received);
  }

  /** Accepts no more calls, and the lane no more connections; those that are open close after their last answer. */
  close(): void {
    for (const connection of this.#connections) connection.close();
  }

  /** Closes all connections at once. */
  cut(): void {
    for (const { socket } of this.#connections) socket.destroy();
  }
}

class FramedServerConnection implements CallFrameReceiver {
  readonly socket: Socket;
  readonly writer: CallFrameWriter;
  readonly #options: FramedServerOptions;
  readonly #limits: FastLaneLimits;
  readonly #reader = new CallFrameReader(maxFramedRequestBytes, this);
  readonly #calls = new Map<number, FramedServerCall>();
  /** Of calls that have ended: a new one takes 3 µs. */
  readonly #signals: AbortController[] = [];

  constructor(socket: Socket, options: FramedServerOptions) {
    this.socket = socket;
    this.#options = options;
    this.#limits = { ...options.limits, requestBytes: maxFramedRequestBytes };
    this.writer = new CallFrameWriter(socket);
    socket
      .setNoDelay(true)
      .setTimeout(options.limits.keepAliveMs)
      .on('timeout', () => this.#idle())
      .on('data', (bytes: Buffer) => this.read(bytes))
      .on('drain', () => socket.resume())
      .on('end', () => socket.destroySoon())
      .on('error', () => socket.destroy())
      .on('close', () => this.#closed());
  }

  read(bytes: Buffer): void {
    this.#reader.read(bytes);
    // The client does not take its answers: no more calls until it does.
    if (this.socket.writableNeedDrain) this.socket.pause();
  }

  frame(id: number, bytes: Buffer): void {
    const known = this.#calls.get(id);
    if (bytes.length === 0) return known?.cancel();
    if (known || id === noMoreCalls || this.#calls.size >= maxFramedCalls) return void this.socket.destroy();
    const reading = parseFastLaneRequest(bytes, this.#limits);
    const isWhole = reading.kind === 'request' && reading.length === bytes.length;
    if (!isWhole || !this.#options.isServed(reading.head.url)) return this.writer.writeEmpty(id);
    const call = new FramedServerCall(id, this);
    this.#calls.set(id, call);
    const { method, url, headers, rawHeaders } = reading.head;
    if (!this.#options.serve({ method, url, headers, rawHeaders, body: reading.body }, call.exchange)) call.destroy();
  }

  /** Only a client that does not know the limit sends more. */
  tooLarge(): void {
    this.socket.destroy();
  }

  close(): void {
    this.writer.writeEmpty(noMoreCalls);
    this.socket.setTimeout(farewellMs);
  }

  takeSignal(): AbortController {
    return this.#signals.pop() ?? new AbortController();
  }

  /** The call has ended. Its signal serves the next one unless it was aborted. */
  remove(id: number, signal: AbortController | undefined): void {
    this.#calls.delete(id);
    if (signal) this.#signals.push(signal);
  }

  #idle(): void {
    if (this.#calls.size === 0) this.socket.destroy();
  }

  #closed(): void {
    for (const call of this.#calls.values()) call.cancel();
  }
}

/** One call in the place of a connection of its own. */
class FramedServerCall implements ExchangeConnection {
  readonly exchange: FastLaneExchange;
  readonly answered = 0;
  readonly #id: number;
  readonly #connection: FramedServerConnection;
  #abort: AbortController | undefined;
  #isGivenUp = false;

  constructor(id: number, connection: FramedServerConnection) {
    this.#id = id;
    this.#connection = connection;
    this.exchange = new FastLaneExchange(this);
  }

  get remoteAddress(): string | undefined {
    return this.#connection.socket.remoteAddress;
  }

  get signal(): AbortSignal {
    if (this.#isGivenUp) return AbortSignal.abort(givenUp);
    this.#abort ??= this.#connection.takeSignal();
    return this.#abort.signal;
  }

  answer(status: number, headers: readonly string[], body: string | Buffer | undefined): void {
    const contentLength = body === undefined ? undefined : Buffer.byteLength(body);
    const { text } = writeHead({ status, headers, contentLength, connectionLines: '', dateLine: '' });
    this.#end();
    this.#connection.writer.write(this.#id, text, body, contentLength ?? 0);
  }

  passAnswer({ text }: AnswerHeadText, body: Buffer | undefined): void {
    this.#end();
    this.#connection.writer.write(this.#id, `${text}\r\n`, body, body?.length ?? 0);
  }

  /** `isServed` accepts no request whose answer is streamed. */
  begin(): void {
    this.destroy();
  }

  write(): boolean {
    return true;
  }

  end(): void {}

  /** There is no server behind a frame. */
  handOver(): void {
    this.destroy();
  }

  detach(): undefined {
    return undefined;
  }

  /** Tells the client that there will be no whole answer. */
  destroy(): void {
    this.#end();
    this.#connection.writer.writeEmpty(this.#id);
  }

  /** The client has given the call up, or has closed the connection. */
  cancel(): void {
    const abort = this.#abort;
    this.#abort = undefined;
    this.#isGivenUp = true;
    this.#end();
    this.exchange.closed();
    abort?.abort(givenUp);
  }

  #end(): void {
    this.#connection.remove(this.#id, this.#abort);
    this.#abort = undefined;
  }
}

/** Shared: its stack would be of no use. */
const givenUp = new Error('The client gave the call up, or closed the connection.');
