import type { OnReadOpts, Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { Clock } from '@drover/service-kit';
import { AnswerReader, type Answer, type AnswerBegin, type AnswerLimits } from './answer-reader.js';
import { ClientFault } from './client-fault.js';
import type { ClientRequest } from './client-request.js';

/** Whoever sent a request; hears of it once. */
export interface AnswerReceiver {
  answered(answer: Answer): void;
  /** There will be no whole answer, and the connection is gone. */
  failed(error: unknown): void;
}

export interface ClientConnectionOptions extends AnswerLimits {
  readonly clock: Clock;
  readonly connectTimeoutMs: number;
  /** It has ended while no call was in flight to hear of it. */
  readonly onIdleEnd: () => void;
}

const readBytes = 65_536;
const probeAfterMs = 60_000;

/**
 * One socket, and one call on it at a time. Everything is attached once for all calls: a call costs a write, a read and what lies
 * between.
 *
 * - A request that comes before the connection waits for it.
 * - Bytes that come while no call waits for any end the connection: they would be taken for the answer to the next one.
 * - An answer after which the connection must not be used again ends it, too. `keepMs` is 0 then.
 */
export class ClientConnection {
  readonly #socket: Socket;
  readonly #reader: AnswerReader;
  readonly #onIdleEnd: () => void;
  readonly #cancelTimeout: () => void;
  /** Of the call in flight. */
  #receiver: AnswerReceiver | undefined;
  #request: ClientRequest | undefined;
  #isConnected = false;
  #isOver = false;
  #keepMs = 0;

  /** `open` begins to connect a socket, plain or TLS, that reads in the way it is given. */
  constructor(open: (onread: OnReadOpts) => Socket, options: ClientConnectionOptions) {
    this.#reader = new AnswerReader(options);
    this.#onIdleEnd = options.onIdleEnd;
    // One for all reads of this socket: nothing of it is kept.
    const buffer = Buffer.allocUnsafeSlow(readBytes);
    const callback = (length: number): boolean => {
      this.#read(buffer, length);
      return true;
    };
    const socket = open({ buffer, callback });
    this.#socket = socket;
    this.#cancelTimeout = options.clock.after(options.connectTimeoutMs, () =>
      this.#fail(new ClientFault('CONNECT_TIMEOUT')),
    );
    socket
      .setNoDelay(true)
      .setKeepAlive(true, probeAfterMs)
      .once(socket instanceof TLSSocket ? 'secureConnect' : 'connect', () => this.#connected())
      .on('error', (error) => this.#fail(error))
      .on('end', () => this.#end())
      .on('close', () => this.#fail(new ClientFault(this.#isConnected ? 'CONNECTION_LOST' : 'CONNECT_GIVEN_UP')));
  }

  /** Requests have gone out, or could. */
  get isConnected(): boolean {
    return this.#isConnected;
  }

  /** How long it may be idle after the latest answer. */
  get keepMs(): number {
    return this.#keepMs;
  }

  /** What has come of the answer that the call in flight waits for, or waited for when it failed. */
  get begin(): AnswerBegin | undefined {
    return this.#reader.begin;
  }

  /** Throws while another call is in flight: neither could tell whose answer comes. */
  send(request: ClientRequest, receiver: AnswerReceiver): void {
    if (this.#receiver !== undefined) throw new Error('a connection carries one call at a time');
    this.#receiver = receiver;
    if (this.#isOver) this.#fail(new ClientFault('CONNECTION_LOST'));
    else if (this.#isConnected) this.#write(request);
    else this.#request = request;
  }

  /** Ends whatever goes on, at once; resolves when the socket is closed. A call in flight hears of it. */
  async destroy(): Promise<void> {
    const socket = this.#socket;
    if (socket.closed) return;
    const closed = new Promise((resolve) => socket.once('close', resolve));
    this.#over();
    await closed;
  }

  #connected(): void {
    this.#cancelTimeout();
    this.#isConnected = true;
    const request = this.#request;
    this.#request = undefined;
    if (request !== undefined) this.#write(request);
  }

  #write({ head, body }: ClientRequest): void {
    const length = typeof body === 'string' ? Buffer.byteLength(body) : body.length;
    const whole = `${head}content-length: ${length}\r\n\r\n`;
    if (typeof body === 'string') {
      // As many bytes as characters: all of them are ASCII, which is written without another look at each.
      this.#socket.write(whole + body, length === body.length ? 'latin1' : 'utf8');
    } else {
      this.#socket.cork();
      this.#socket.write(whole, 'latin1');
      this.#socket.write(body);
      this.#socket.uncork();
    }
  }

  #read(bytes: Buffer, length: number): void {
    if (this.#receiver === undefined) return this.#idleEnd();
    try {
      if (!this.#reader.take(bytes, length)) return;
    } catch (error) {
      return this.#fail(error);
    }
    this.#answered(this.#receiver);
  }

  #end(): void {
    if (this.#receiver === undefined) return this.#idleEnd();
    try {
      this.#reader.end();
    } catch (error) {
      return this.#fail(error);
    }
    this.#answered(this.#receiver);
  }

  #answered(receiver: AnswerReceiver): void {
    this.#receiver = undefined;
    // An answer before the request was out leaves the rest of the request between us.
    this.#keepMs = this.#socket.writableLength === 0 ? this.#reader.keepMs : 0;
    const answer = this.#reader.release();
    if (this.#keepMs === 0) this.#over();
    receiver.answered(answer);
  }

  #fail(error: unknown): void {
    const receiver = this.#receiver;
    if (receiver === undefined) return this.#idleEnd();
    this.#receiver = undefined;
    this.#over();
    receiver.failed(error);
  }

  #idleEnd(): void {
    if (this.#isOver) return;
    this.#over();
    this.#onIdleEnd();
  }

  #over(): void {
    this.#isOver = true;
    this.#request = undefined;
    this.#cancelTimeout();
    this.#socket.destroy();
  }
}
