import type { Socket } from 'node:net';
import { writeHead } from './answer-head.js';
import {
  parseFastLaneRequest,
  type FastLaneRequestHead,
  type FastLaneLimits,
  type FastLaneRequest,
} from './fast-lane-request.js';

/** What a connection needs of its lane. */
export interface LaneOfConnection {
  readonly limits: FastLaneLimits;
  readonly isClosing: boolean;
  /** Takes care of a request, or not: then it goes to the other server, with everything behind it. */
  take(request: FastLaneRequest, exchange: FastLaneExchange): boolean;
  /** The other server gets the connection. */
  handOver(connection: FastLaneConnection): void;
  /** It is gone. */
  forget(connection: FastLaneConnection): void;
  /** Lines that an answer has beside its own, each with its end. */
  commonLines(isLast: boolean): string;
}

/** One request, to be answered once, now or later. */
export class FastLaneExchange {
  readonly #connection: FastLaneConnection;
  #isOver = false;
  /** The client has gone before it was answered. */
  onLeft: (() => void) | undefined;

  constructor(connection: FastLaneConnection) {
    this.#connection = connection;
  }

  /** Nothing that is said now reaches the client. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** `headers` are names and values in turn; no body where the status allows none. `isLast` ends the connection. */
  answer(status: number, headers: readonly string[], body: string | Buffer | undefined, isLast = false): void {
    if (this.#isOver) return;
    this.#connection.answer(status, headers, body, isLast);
    this.#isOver = true;
  }

  /** Instead of an answer: the other server gets the request, and the connection with it. */
  handOver(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#connection.handOver();
  }

  /** The connection is gone. */
  leave(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.onLeft?.();
  }
}

/** A request in more pieces than this comes from somebody slow, or from somebody who means no good. */
const mostPieces = 32;

/** One connection, whose requests are served one after the other until one of them is not plain. */
export class FastLaneConnection {
  readonly socket: Socket;
  readonly #lane: LaneOfConnection;
  /** Read, but not served yet. */
  #pieces: Buffer[] = [];
  #bytes = 0;
  /** What the request at the head of it takes, as far as that is known. */
  #needed = 0;
  /** The bytes of the request that is being served, and what it is to be answered by. */
  #serving: Buffer | undefined;
  #exchange: FastLaneExchange | undefined;
  #isOpen = true;
  /** Looks of the lane's that found it without a request in hand, one after the other. */
  restedLooks = 0;
  /** Of the request before. */
  #latest: FastLaneRequestHead | undefined;

  constructor(socket: Socket, lane: LaneOfConnection) {
    this.socket = socket;
    this.#lane = lane;
    socket.on('data', this.#onData).on('end', this.#onEnd).on('error', this.#onError).on('close', this.#onClose);
  }

  get isBusy(): boolean {
    return this.#serving !== undefined;
  }

  /** Nothing has come yet, not even in part. */
  get isFresh(): boolean {
    return !this.#latest && this.#bytes === 0;
  }

  get hasPart(): boolean {
    return !this.isBusy && this.#bytes > 0;
  }

  /** Answers the request in hand. */
  answer(status: number, headers: readonly string[], body: string | Buffer | undefined, isLast: boolean): void {
    if (!this.#isOpen) return;
    const ends = isLast || this.#lane.isClosing;
    const contentLength = body === undefined ? undefined : Buffer.byteLength(body);
    const { text, isAscii } = writeHead({ status, headers, contentLength, common: this.#lane.commonLines(ends) });
    const isTaken = this.#write(text, isAscii, body);
    this.#serving = undefined;
    this.#exchange = undefined;
    this.restedLooks = 0;
    if (ends) this.#end();
    else if (!isTaken) this.socket.pause().once('drain', this.#onDrain);
    else this.#goOn();
  }

  /** Gives the connection to the other server, as if nothing of it had been read that was not answered. */
  handOver(): void {
    const { socket } = this;
    if (!this.#isOpen) return;
    // What has ended takes nothing back, and its client waits for nothing.
    if (socket.readableEnded) return void socket.destroy();
    this.#isOpen = false;
    socket.off('data', this.#onData).off('end', this.#onEnd).off('error', this.#onError).off('close', this.#onClose);
    socket.pause();
    const pieces = this.#serving ? [this.#serving, ...this.#pieces] : this.#pieces;
    const bytes = pieces.length === 1 ? pieces[0] : Buffer.concat(pieces);
    if (bytes && bytes.length > 0) socket.unshift(bytes);
    this.#serving = undefined;
    this.#pieces = [];
    this.#lane.handOver(this);
    socket.resume();
  }

  #write(head: string, isAscii: boolean, body: string | Buffer | undefined): boolean {
    const { socket } = this;
    if (isAscii && typeof body !== 'object') return socket.write(body === undefined ? head : head + body, 'utf8');
    socket.cork();
    const isTaken = socket.write(head, 'latin1');
    const isBodyTaken = body === undefined || socket.write(body, 'utf8');
    socket.uncork();
    return isTaken && isBodyTaken;
  }

  /** What has come behind the last request, or still comes, is nobody's. */
  #end(): void {
    this.#isOpen = false;
    this.socket.destroySoon();
  }

  readonly #onData = (piece: Buffer): void => {
    if (!this.#isOpen) return;
    if (this.#bytes === 0) this.restedLooks = 0;
    this.#pieces.push(piece);
    this.#bytes += piece.length;
    const isTooMuch = this.#bytes > this.#lane.limits.requestBytes || this.#pieces.length > mostPieces;
    if (!this.isBusy) return isTooMuch ? this.handOver() : this.#read();
    // Whoever sends on and on without waiting for answers waits now.
    if (isTooMuch) this.socket.pause();
  };

  readonly #onDrain = (): void => {
    if (this.#isOpen) this.#goOn();
  };

  /** The next request may be here already. Later, when one answer follows the other at once: nobody is served for ever. */
  #goOn(): void {
    if (this.socket.isPaused()) this.socket.resume();
    if (this.#bytes > 0) setImmediate(this.#read);
  }

  readonly #read = (): void => {
    if (!this.#isOpen || this.isBusy || this.#bytes === 0 || this.#bytes < this.#needed) return;
    const [first] = this.#pieces;
    const bytes = first !== undefined && this.#pieces.length === 1 ? first : Buffer.concat(this.#pieces);
    const reading = parseFastLaneRequest(bytes, this.#lane.limits, this.#latest);
    if (reading.kind === 'part') {
      this.#needed = reading.length;
      return;
    }
    if (reading.kind === 'other') return this.handOver();
    const { head, body, length } = reading;
    this.#serving = length === bytes.length ? bytes : bytes.subarray(0, length);
    this.#pieces = length === bytes.length ? [] : [bytes.subarray(length)];
    this.#bytes = bytes.length - length;
    this.#needed = 0;
    this.#latest = head;
    const { method, url, headers, rawHeaders } = head;
    const exchange = (this.#exchange = new FastLaneExchange(this));
    if (!this.#lane.take({ method, url, headers, rawHeaders, body }, exchange)) exchange.handOver();
  };

  /** As Node's server has it: who sends no more waits for no more. */
  readonly #onEnd = (): void => {
    this.socket.destroySoon();
  };

  readonly #onError = (): void => {
    this.socket.destroy();
  };

  readonly #onClose = (): void => {
    this.#isOpen = false;
    this.#lane.forget(this);
    this.#exchange?.leave();
  };
}
