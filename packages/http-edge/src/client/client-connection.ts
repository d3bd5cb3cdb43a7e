import type { OnReadOpts, Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { Clock } from '@drover/service-kit';
import { AnswerReader, type Answer, type AnswerBegin, type AnswerLimits } from './answer-reader.js';
import { BodyPump } from './body-stream.js';
import { ClientFault } from './client-fault.js';
import type { ClientRequest, ForwardedRequest } from './client-request.js';

/** The sender of a request. Exactly one of `answered` and `failed` is called, once. */
export interface AnswerReceiver {
  /** The answer is whole; without the parts that `received` was given. */
  answered(answer: Answer): void;
  /** There will be no whole answer, and the connection is closed. */
  failed(error: unknown): void;
  /**
   * Receives an answer in parts as they arrive, if defined: the head with the first part, then the body; the last part
   * comes with `answered`. Returns false to stop reading until `resume`. An answer that arrives at once has no parts.
   */
  received?(begin: AnswerBegin, bytes: Buffer | undefined): boolean;
  /** Called for bytes before the head of the answer is whole, `100 Continue` for example: the server has the connection. */
  heard?(): void;
}

export interface ClientConnectionOptions extends AnswerLimits {
  readonly clock: Clock;
  readonly connectTimeoutMs: number;
  /** Fails a call during which no byte was sent or received for so long; never if undefined. */
  readonly inactivityMs?: number;
  /** The socket is a Unix socket of the server itself. */
  readonly isLocal?: boolean;
  /** Called once, when the connection stands and before a request is written. */
  readonly onConnected?: () => void;
  /** Called when the connection ends while no call is in flight. */
  readonly onIdleEnd: () => void;
}

const readBytes = 65_536;
const probeAfterMs = 60_000;
/** Bodies up to this size are copied into one string with the head: a second buffer in one write costs more than the copy. */
const smallBodyBytes = 16_384;

/**
 * One socket, which carries one call at a time. Listeners are attached once for all calls: a call costs a write, a read and
 * the parsing of its answer.
 *
 * - A request that is sent before the connection stands waits for it.
 * - Bytes that arrive while no call is in flight close the connection: they would be taken for the answer to the next one.
 * - An answer after which the connection must not be used again closes it, too. `keepMs` is 0 then.
 */
export class ClientConnection {
  readonly #socket: Socket;
  readonly #reader: AnswerReader;
  readonly #isLocal: boolean;
  readonly #onConnected: (() => void) | undefined;
  readonly #onIdleEnd: () => void;
  readonly #cancelTimeout: () => void;
  /** Of the call in flight. */
  #receiver: AnswerReceiver | undefined;
  #request: ClientRequest | ForwardedRequest | undefined;
  #pump: BodyPump | undefined;
  #isConnected = false;
  #isOver = false;
  #isPaused = false;
  #hasFailedWrite = false;
  #keepMs = 0;
  #answers = 0;

  /** `open` begins to connect a socket, plain or TLS, that reads with the given options. */
  constructor(open: (onread: OnReadOpts) => Socket, options: ClientConnectionOptions) {
    this.#reader = new AnswerReader(options);
    this.#isLocal = options.isLocal === true;
    this.#onConnected = options.onConnected;
    this.#onIdleEnd = options.onIdleEnd;
    // One buffer for all reads of this socket: the reader copies what it needs.
    const buffer = Buffer.allocUnsafeSlow(readBytes);
    const callback = (length: number): boolean => {
      this.#read(buffer, length);
      return !this.#isPaused;
    };
    const socket = open({ buffer, callback });
    this.#socket = socket;
    this.#readBeforeFailedWrites();
    this.#cancelTimeout = options.clock.after(options.connectTimeoutMs, () =>
      this.#fail(new ClientFault('CONNECT_TIMEOUT')),
    );
    socket
      .setNoDelay(true)
      .setKeepAlive(true, probeAfterMs)
      .once(socket instanceof TLSSocket ? 'secureConnect' : 'connect', () => this.#connected())
      .on('error', (error) => this.#fail(error))
      .on('drain', () => this.#pump?.resume())
      .on('end', () => this.#end())
      .on('close', () => this.#fail(new ClientFault(this.#isConnected ? 'CONNECTION_LOST' : 'CONNECT_GIVEN_UP')));
    if (options.inactivityMs === undefined) return;
    socket.setTimeout(options.inactivityMs).on('timeout', () => this.#fail(new ClientFault('INACTIVE')));
  }

  /** Requests have gone out, or could. */
  get isConnected(): boolean {
    return this.#isConnected;
  }

  /** Whether an earlier call was answered on it: then the server may have closed it at the same moment as a call was sent. */
  get isReused(): boolean {
    return this.#answers > 0;
  }

  /** How long it may be idle after the latest answer. */
  get keepMs(): number {
    return this.#keepMs;
  }

  /** The head of the answer that the call in flight waits for, or waited for when it failed. */
  get begin(): AnswerBegin | undefined {
    return this.#reader.begin;
  }

  /**
   * Whether the server had not read the whole call that failed with `error`. Known for Unix sockets only: the system resets such a
   * connection if it is closed with bytes that were not read, also when the server is killed, and ends it in order otherwise.
   */
  wasUnread(error: Error): boolean {
    return this.#isLocal && (this.#hasFailedWrite || ('code' in error && error.code === 'ECONNRESET'));
  }

  /** Throws while another call is in flight. */
  send(request: ClientRequest | ForwardedRequest, receiver: AnswerReceiver): void {
    if (this.#receiver !== undefined) throw new Error('The connection carries another call. Send one call at a time.');
    this.#receiver = receiver;
    if (this.#isOver) this.#fail(new ClientFault('CONNECTION_LOST'));
    else if (this.#isConnected) this.#write(request);
    else this.#request = request;
  }

  /** Goes on reading after the receiver returned false. */
  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    if (!this.#isOver) this.#socket.resume();
  }

  /** Closes the connection at once; resolves when the socket is closed. A call in flight fails. */
  async destroy(): Promise<void> {
    const socket = this.#socket;
    if (socket.closed) return;
    const closed = new Promise((resolve) => socket.once('close', resolve));
    this.#over();
    await closed;
  }

  /**
   * A server may answer before it has read the whole request, a 413 for example, and close. Then a write fails, and Node would
   * destroy the socket with the answer unread. Reading goes on instead: it ends with the answer, or with the end of what was sent.
   * That end is seen where the socket passes it on, because Node emits no `end` after a failed write.
   */
  #readBeforeFailedWrites(): void {
    const socket = this.#socket;
    const destroy = socket.destroy.bind(socket);
    const push = socket.push.bind(socket);
    let hasEnded = false;
    socket.destroy = (error) => {
      if (!isFailedWrite(error) || this.#isOver) return destroy(error);
      this.#hasFailedWrite = true;
      this.#endBody();
      if (hasEnded) this.#end();
      return socket;
    };
    socket.push = (bytes, encoding) => {
      const isWanted = push(bytes, encoding);
      if (bytes !== null) return isWanted;
      hasEnded = true;
      if (this.#hasFailedWrite) this.#end();
      return isWanted;
    };
  }

  #connected(): void {
    this.#cancelTimeout();
    this.#isConnected = true;
    this.#onConnected?.();
    const request = this.#request;
    this.#request = undefined;
    if (request !== undefined) this.#write(request);
  }

  #write(request: ClientRequest | ForwardedRequest): void {
    if ('head' in request) return this.#writeOwn(request);
    const { wholeHead, body, isHead } = request;
    if (isHead) this.#reader.expectNoBody();
    if (body === undefined) this.#socket.write(wholeHead, 'latin1');
    else if (!('source' in body)) this.#writeParts(wholeHead, body);
    else {
      this.#socket.write(wholeHead, 'latin1');
      this.#pump = new BodyPump(body, this.#socket, (error) => this.#fail(error));
    }
  }

  #writeOwn({ head, body }: ClientRequest): void {
    const length = typeof body === 'string' ? Buffer.byteLength(body) : body.length;
    const whole = `${head}content-length: ${length}\r\n\r\n`;
    // As many bytes as characters: all of them are ASCII, which is written without another look at each.
    if (typeof body === 'string') this.#socket.write(whole + body, length === body.length ? 'latin1' : 'utf8');
    else this.#writeParts(whole, body);
  }

  #writeParts(head: string, body: Buffer): void {
    if (body.length <= smallBodyBytes) return void this.#socket.write(head + body.toString('latin1'), 'latin1');
    this.#socket.cork();
    this.#socket.write(head, 'latin1');
    this.#socket.write(body);
    this.#socket.uncork();
  }

  #read(bytes: Buffer, length: number): void {
    const receiver = this.#receiver;
    if (receiver === undefined) return this.#idleEnd();
    let isWhole: boolean;
    try {
      isWhole = this.#reader.read(bytes, length);
    } catch (error) {
      return this.#fail(error);
    }
    if (isWhole) return this.#answered(receiver);
    const { begin } = this.#reader;
    if (!begin) receiver.heard?.();
    else if (receiver.received && !receiver.received(begin, this.#reader.takePart())) this.#isPaused = true;
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
    this.#answers += 1;
    // An answer before the request was sent leaves the rest of the request on the connection.
    const isSent = !this.#hasFailedWrite && this.#socket.writableLength === 0 && this.#pump?.isSent !== false;
    this.#keepMs = isSent ? this.#reader.keepMs : 0;
    const answer = this.#reader.release();
    this.#endBody();
    if (this.#keepMs === 0) this.#over();
    receiver.answered(answer);
  }

  #fail(error: unknown): void {
    const receiver = this.#receiver;
    if (receiver === undefined) return this.#idleEnd();
    this.#receiver = undefined;
    this.#endBody();
    this.#over();
    receiver.failed(error);
  }

  #endBody(): void {
    this.#pump?.detach();
    this.#pump = undefined;
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

/** The other side has closed the connection: what it sent before can still be read. */
function isFailedWrite(error: NodeJS.ErrnoException | undefined): boolean {
  return error?.syscall === 'write' && (error.code === 'EPIPE' || error.code === 'ECONNRESET');
}
