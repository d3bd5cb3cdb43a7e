import type { Socket } from 'node:net';
import type { PassedConnection } from '../../handoff/connection-channel.js';
import { takeHandle } from '../../handoff/connection-handle.js';
import { writeHead } from './answer-head.js';
import { FastLaneExchange, type AnswerHeadText, type ExchangeConnection } from './fast-lane-exchange.js';
import {
  parseFastLaneRequest,
  type FastLaneLimits,
  type FastLaneRequest,
  type FastLaneRequestHead,
} from './fast-lane-request.js';

/** What a connection needs of its lane. */
export interface ConnectionLane {
  readonly limits: FastLaneLimits;
  readonly isClosing: boolean;
  /** Returns false if Node's server has to answer the request. */
  serve(request: FastLaneRequest, exchange: FastLaneExchange): boolean;
  /** Gives the connection to Node's server. */
  handOver(connection: FastLaneConnection): void;
  /** Gives the connection to another protocol if `received` asks for one. Returns false if not. */
  upgrade(connection: FastLaneConnection, received: Buffer): boolean;
  /** The connection is closed. */
  remove(connection: FastLaneConnection): void;
  /** The header lines about the connection, each with its line end. */
  connectionLines(isLast: boolean): string;
  /** The header line with the current date. */
  dateLine(): string;
}

/** A request in more parts than this comes from a slow or hostile client, which Node's server has the timeouts for. */
const maxParts = 32;
/** Bodies up to this size are copied into one string with the head: a second buffer in one write costs more than the copy. */
const smallBodyBytes = 16_384;

/** How a connection is served that another process has passed. */
export interface Adoption {
  /** Whether a request is served here; any other request goes back with the connection. */
  readonly isServed: (head: FastLaneRequestHead) => boolean;
  /** Returns the head as the other process would have forwarded it. */
  readonly rewrite: (head: FastLaneRequestHead, remoteAddress: string | undefined) => FastLaneRequestHead;
  readonly giveBack: (connection: PassedConnection) => void;
}

/** How a connection came to the lane; a new one if nothing is given. */
export interface ConnectionOrigin {
  readonly adoption?: Adoption;
  /** Another process has given the connection back: it is not passed again. */
  readonly isBack?: boolean;
}

/** One connection on the fast lane. Its requests are served one after the other until one of them needs Node's server. */
export class FastLaneConnection implements ExchangeConnection {
  readonly socket: Socket;
  readonly #lane: ConnectionLane;
  readonly #adoption: Adoption | undefined;
  readonly #isBack: boolean;
  /** Waits for its answers to be written, then goes back to the process that passed it. */
  #isGoingBack = false;
  answered = 0;
  /** Received, but not parsed yet. */
  #parts: Buffer[] = [];
  #bytes = 0;
  /** Length of the request that has begun to arrive; 0 until its head is complete. */
  #needed = 0;
  /** The bytes of the request that is being served, for `handOver`. */
  #serving: Buffer | undefined;
  #exchange: FastLaneExchange | undefined;
  #isOpen = true;
  /** The body of the streamed answer goes out in chunks. */
  #isChunked = false;
  #isWaitingForDrain = false;
  /** Checks of the lane in a row that found the connection without a request in hand. */
  idleChecks = 0;
  /** Of the request before: a client that sends the same head again is parsed at a glance. */
  #latest: FastLaneRequestHead | undefined;
  /** The latest head as it is served; another one than was received if the connection was passed. */
  #served: FastLaneRequestHead | undefined;
  #abort: AbortController | undefined;

  constructor(socket: Socket, lane: ConnectionLane, origin: ConnectionOrigin = {}) {
    this.socket = socket;
    this.#lane = lane;
    this.#adoption = origin.adoption;
    this.#isBack = origin.isBack === true;
    socket.on('data', this.#onData).on('end', this.#onEnd).on('error', this.#onError).on('close', this.#onClose);
  }

  get isAdopted(): boolean {
    return this.#adoption !== undefined;
  }

  get isBusy(): boolean {
    return this.#serving !== undefined;
  }

  /** Nothing has arrived yet. */
  get isFresh(): boolean {
    return !this.#latest && this.#bytes === 0;
  }

  /** A request has arrived in part. */
  get hasPart(): boolean {
    return !this.isBusy && this.#bytes > 0;
  }

  get remoteAddress(): string | undefined {
    return this.socket.remoteAddress;
  }

  get signal(): AbortSignal {
    this.#abort ??= new AbortController();
    if (this.socket.destroyed) this.#abort.abort(new Error('the client closed the connection'));
    return this.#abort.signal;
  }

  answer(status: number, headers: readonly string[], body: string | Buffer | undefined, isLast: boolean): void {
    if (!this.#isOpen) return;
    const ends = isLast || this.#lane.isClosing;
    const contentLength = body === undefined ? undefined : Buffer.byteLength(body);
    const connectionLines = this.#lane.connectionLines(ends);
    const dateLine = this.#lane.dateLine();
    const { text, isAscii } = writeHead({ status, headers, contentLength, connectionLines, dateLine });
    const sent = this.#latest?.method === 'HEAD' ? undefined : body;
    this.#finish(ends, this.#write(text, isAscii, sent, contentLength));
  }

  passAnswer({ text, hasDate }: AnswerHeadText, body: Buffer | undefined): void {
    if (!this.#isOpen) return;
    const ends = this.#lane.isClosing;
    const date = hasDate ? '' : this.#lane.dateLine();
    this.#finish(ends, this.#write(`${text}${date}${this.#lane.connectionLines(ends)}\r\n`, false, body));
  }

  begin({ text, hasDate }: AnswerHeadText, isChunked: boolean): void {
    if (!this.#isOpen) return;
    this.#isChunked = isChunked;
    const lines = (hasDate ? '' : this.#lane.dateLine()) + this.#lane.connectionLines(this.#lane.isClosing);
    this.socket.write(`${text}${lines}${isChunked ? 'transfer-encoding: chunked\r\n' : ''}\r\n`, 'latin1');
  }

  write(bytes: Buffer): boolean {
    if (!this.#isOpen || bytes.length === 0) return true;
    const { socket } = this;
    let isTaken: boolean;
    if (this.#isChunked) {
      socket.cork();
      socket.write(`${bytes.length.toString(16)}\r\n`, 'latin1');
      socket.write(bytes);
      isTaken = socket.write('\r\n', 'latin1');
      socket.uncork();
    } else isTaken = socket.write(bytes);
    if (!isTaken) this.#awaitDrain();
    return isTaken;
  }

  end(): void {
    if (!this.#isOpen) return;
    const isTaken = this.#isChunked ? this.socket.write('0\r\n\r\n', 'latin1') : !this.socket.writableNeedDrain;
    this.#isChunked = false;
    this.#finish(this.#lane.isClosing, isTaken);
  }

  /** Gives the connection to Node's server, as if nothing of it had been read that was not answered. */
  handOver(): void {
    const { socket } = this;
    if (!this.#isOpen) return;
    if (this.#adoption) return this.#giveBack(this.#adoption);
    // A stream that has ended takes nothing back, and its client waits for nothing.
    if (socket.readableEnded) return void socket.destroy();
    this.#release();
    socket.pause();
    const bytes = this.#takeReceived();
    if (bytes.length > 0) socket.unshift(bytes);
    this.#lane.handOver(this);
    socket.resume();
  }

  destroy(): void {
    this.socket.destroy();
  }

  /** Has nothing more to do with the socket, which belongs to another protocol from now on. */
  release(): Socket {
    this.#release();
    return this.socket;
  }

  detach(): PassedConnection | undefined {
    if (!this.#isOpen || this.#isBack || this.#adoption) return undefined;
    return this.#detach();
  }

  /** Gives the connection back to the process that passed it, once all answers are written. */
  #giveBack({ giveBack }: Adoption): void {
    const { socket } = this;
    if (!this.#isOpen || this.#isGoingBack) return;
    const passed = this.#detach();
    if (passed) return giveBack(passed);
    if (socket.destroyed || socket.readableEnded || socket.writableLength === 0) return void socket.destroy();
    this.#isGoingBack = true;
    socket.write('', () => {
      this.#isGoingBack = false;
      this.handOver();
    });
  }

  #detach(): PassedConnection | undefined {
    const taken = takeHandle(this.socket);
    if (!taken) return undefined;
    this.#release();
    this.#lane.remove(this);
    if (taken.unread) this.#parts.push(taken.unread);
    return { handle: taken.handle, received: this.#takeReceived() };
  }

  /** Has nothing more to do with the socket. */
  #release(): void {
    this.#isOpen = false;
    const { socket } = this;
    socket.off('data', this.#onData).off('end', this.#onEnd).off('error', this.#onError).off('close', this.#onClose);
  }

  /** What was received and not answered. */
  #takeReceived(): Buffer {
    const parts = this.#serving ? [this.#serving, ...this.#parts] : this.#parts;
    this.#serving = undefined;
    this.#parts = [];
    const [first] = parts;
    return first !== undefined && parts.length === 1 ? first : Buffer.concat(parts);
  }

  #write(head: string, isAscii: boolean, body: string | Buffer | undefined, bodyBytes = -1): boolean {
    const { socket } = this;
    if (body === undefined) return socket.write(head, 'latin1');
    // As many bytes as characters: all of them are ASCII, which is written without another look at each.
    if (typeof body === 'string' && bodyBytes === body.length) return socket.write(head + body, 'latin1');
    if (isAscii && typeof body === 'string') return socket.write(head + body, 'utf8');
    if (typeof body === 'object' && body.length <= smallBodyBytes)
      return socket.write(head + body.toString('latin1'), 'latin1');
    socket.cork();
    socket.write(head, 'latin1');
    const isTaken = socket.write(body, 'utf8');
    socket.uncork();
    return isTaken;
  }

  /** The answer is written: goes on with the next request, or closes the connection. */
  #finish(ends: boolean, isTaken: boolean): void {
    this.#serving = undefined;
    this.#exchange = undefined;
    this.idleChecks = 0;
    this.answered += 1;
    if (ends) {
      // Whatever has arrived behind the last request is dropped.
      this.#isOpen = false;
      this.socket.destroySoon();
    } else if (isTaken) this.#goOn();
    else {
      this.socket.pause();
      this.#awaitDrain();
    }
  }

  readonly #onData = (part: Buffer): void => {
    if (!this.#isOpen) return;
    if (this.#bytes === 0) this.idleChecks = 0;
    this.#parts.push(part);
    this.#bytes += part.length;
    const isTooMuch = this.#bytes > this.#lane.limits.requestBytes || this.#parts.length > maxParts;
    if (!this.isBusy) return isTooMuch ? this.handOver() : this.#read();
    // Backpressure for a client that sends further requests without reading its answers.
    if (isTooMuch) this.socket.pause();
  };

  #awaitDrain(): void {
    if (this.#isWaitingForDrain) return;
    this.#isWaitingForDrain = true;
    this.socket.once('drain', this.#onDrain);
  }

  readonly #onDrain = (): void => {
    this.#isWaitingForDrain = false;
    if (!this.#isOpen) return;
    if (this.#exchange) this.#exchange.onDrain?.();
    else this.#goOn();
  };

  /** Serves the next request if it has arrived, in a later turn: one client must not hold the process with a queue of requests. */
  #goOn(): void {
    if (this.socket.isPaused()) this.socket.resume();
    if (this.#bytes > 0) setImmediate(this.#read);
  }

  readonly #read = (): void => {
    if (!this.#isOpen || this.isBusy || this.#bytes === 0 || this.#bytes < this.#needed || this.#isGoingBack) return;
    const [first] = this.#parts;
    const bytes = first !== undefined && this.#parts.length === 1 ? first : Buffer.concat(this.#parts);
    const reading = parseFastLaneRequest(bytes, this.#lane.limits, this.#latest);
    if (reading.kind === 'part') {
      this.#needed = reading.length;
      return;
    }
    if (reading.kind === 'other') {
      if (this.#adoption || !this.#lane.upgrade(this, bytes)) this.handOver();
      return;
    }
    const { head, body, length } = reading;
    if (this.#adoption && !this.#adoption.isServed(head)) return this.handOver();
    this.#serving = length === bytes.length ? bytes : bytes.subarray(0, length);
    this.#parts = length === bytes.length ? [] : [bytes.subarray(length)];
    this.#bytes = bytes.length - length;
    this.#needed = 0;
    if (head !== this.#latest) this.#served = this.#adoption?.rewrite(head, this.socket.remoteAddress) ?? head;
    this.#latest = head;
    const { method, url, headers, rawHeaders } = this.#served ?? head;
    const exchange = (this.#exchange = new FastLaneExchange(this));
    if (!this.#lane.serve({ method, url, headers, rawHeaders, body }, exchange)) exchange.handOver();
  };

  /** As Node's server does: a client that has ended its side gets no further answer. */
  readonly #onEnd = (): void => {
    this.socket.destroySoon();
  };

  readonly #onError = (): void => {
    this.socket.destroy();
  };

  readonly #onClose = (): void => {
    this.#isOpen = false;
    this.#lane.remove(this);
    this.#exchange?.closed();
    this.#abort?.abort(new Error('the client closed the connection'));
  };
}
