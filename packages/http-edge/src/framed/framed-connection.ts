import type { OnReadOpts, Socket } from 'node:net';
import type { Clock } from '@drover/service-kit';
import { AnswerReader } from '../client/answer-reader.js';
import type { AnswerReceiver } from '../client/client-connection.js';
import { ClientFault } from '../client/client-fault.js';
import type { ClientRequest } from '../client/client-request.js';
import {
  CallFrameReader,
  CallFrameWriter,
  framedProtocol,
  maxFramedCalls,
  maxFramedRequestBytes,
  noMoreCalls,
  type CallFrameReceiver,
} from './frames.js';

export interface FramedConnectionOptions {
  /** Request line and `host` line of the request to upgrade. */
  readonly head: string;
  /** Of one answer. */
  readonly maxBodyBytes: number;
  readonly connectTimeoutMs: number;
  readonly clock: Clock;
  /** Called once, when the connection can take no more calls; `wasOpen` is false if the server did not accept it. */
  readonly onUnusable: (wasOpen: boolean) => void;
  /** Called once, when the socket is closed. */
  readonly onClosed: () => void;
}

const readBytes = 65_536;
const maxHeadBytes = 65_536;
const maxUpgradeLength = 4_096;
/** Requests that the server has not taken yet. */
const maxQueuedBytes = 1_048_576;
const probeAfterMs = 60_000;
/** The server waits longer: the client must be the first to close. */
const idleMs = 30_000;
const acceptedBegin = 'HTTP/1.1 101 ';

/**
 * One socket that carries many calls at a time, in frames. Begins to connect at once.
 *
 * - opening: until the server has accepted the upgrade; takes no calls
 * - open: takes calls
 * - retired: takes no more calls, and closes after the last answer; so the server asked, or `retire`
 * - closed: all calls without an answer have failed
 */
export class FramedConnection implements CallFrameReceiver {
  readonly #socket: Socket;
  readonly #options: FramedConnectionOptions;
  readonly #writer: CallFrameWriter;
  readonly #frames: CallFrameReader;
  readonly #cancelTimeout: () => void;
  /** By id. Bounded by `maxFramedCalls`. */
  readonly #calls = new Map<number, Pick<AnswerReceiver, 'answered' | 'failed'>>();
  #answers: AnswerReader;
  #state: 'opening' | 'open' | 'retired' | 'closed' = 'opening';
  /** What has arrived of the answer to the upgrade. */
  #upgrade = '';
  #latestId = 0;

  constructor(open: (onread: OnReadOpts) => Socket, options: FramedConnectionOptions) {
    this.#options = options;
    this.#frames = new CallFrameReader(options.maxBodyBytes + maxHeadBytes, this);
    this.#answers = this.#newReader();
    // One buffer for all reads of this socket: the readers copy what they need.
    const buffer = Buffer.allocUnsafeSlow(readBytes);
    const callback = (length: number): boolean => {
      this.#read(buffer, length);
      return true;
    };
    const socket = (this.#socket = open({ buffer, callback }));
    this.#writer = new CallFrameWriter(socket);
    this.#cancelTimeout = options.clock.after(options.connectTimeoutMs, () => socket.destroy());
    socket
      .setNoDelay(true)
      .setKeepAlive(true, probeAfterMs)
      .setTimeout(idleMs)
      .on('timeout', () => this.#closeIfIdle())
      .on('error', () => socket.destroy())
      .on('end', () => socket.destroy())
      .on('close', () => this.#closed());
    socket.write(`${options.head}connection: upgrade\r\nupgrade: ${framedProtocol}\r\n\r\n`, 'latin1');
  }

  /**
   * Sends a request. Returns the id of the call, for `cancel`; 0 if the connection cannot take it, and the receiver hears nothing.
   * The receiver is called once, unless the call is cancelled before. Whatever fails here may have reached the server.
   */
  send({ head, body }: ClientRequest, receiver: Pick<AnswerReceiver, 'answered' | 'failed'>): number {
    const hasRoom = this.#calls.size < maxFramedCalls && this.#socket.writableLength < maxQueuedBytes;
    if (this.#state !== 'open' || !hasRoom || head.length + body.length > maxFramedRequestBytes) return 0;
    const length = typeof body === 'string' ? Buffer.byteLength(body) : body.length;
    const whole = `${head}content-length: ${length}\r\n\r\n`;
    if (whole.length + length > maxFramedRequestBytes) return 0;
    const id = this.#nextId();
    this.#calls.set(id, receiver);
    this.#writer.write(id, whole, body, length);
    return id;
  }

  /** Gives a call up, and tells the server so. */
  cancel(id: number): void {
    if (!this.#calls.delete(id)) return;
    this.#writer.writeEmpty(id);
    if (this.#state === 'retired') this.#closeIfIdle();
  }

  /** Takes no more calls, and closes after the last answer. */
  retire(): void {
    if (this.#state === 'opening') this.#socket.destroy();
    if (this.#state !== 'open') return;
    this.#state = 'retired';
    this.#options.onUnusable(true);
    this.#closeIfIdle();
  }

  /** Closes at once; resolves when the socket is closed. Calls in flight fail. */
  async destroy(): Promise<void> {
    const socket = this.#socket;
    if (socket.closed) return;
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.destroy();
    await closed;
  }

  frame(id: number, bytes: Buffer): void {
    if (id === noMoreCalls) return this.retire();
    const call = this.#calls.get(id);
    if (!call) return; // cancelled
    this.#calls.delete(id);
    if (bytes.length === 0) call.failed(new ClientFault('CONNECTION_LOST'));
    else this.#answer(call, bytes);
    if (this.#state === 'retired') this.#closeIfIdle();
  }

  tooLarge(id: number): void {
    const call = this.#calls.get(id);
    this.#calls.delete(id);
    call?.failed(new ClientFault('ANSWER_BODY_TOO_LARGE'));
    if (this.#state === 'retired') this.#closeIfIdle();
  }

  #answer(call: Pick<AnswerReceiver, 'answered' | 'failed'>, bytes: Buffer): void {
    try {
      if (!this.#answers.read(bytes, bytes.length)) this.#answers.end();
    } catch (error) {
      // Where the next answer begins is known: a frame that cannot be read spoils no other.
      this.#answers = this.#newReader();
      return call.failed(error);
    }
    call.answered(this.#answers.release());
  }

  #newReader(): AnswerReader {
    return new AnswerReader({ maxHeadBytes, maxBodyBytes: this.#options.maxBodyBytes });
  }

  #nextId(): number {
    do this.#latestId = this.#latestId === 0xffff_ffff ? 1 : this.#latestId + 1;
    while (this.#calls.has(this.#latestId));
    return this.#latestId;
  }

  #read(buffer: Buffer, length: number): void {
    if (this.#state !== 'opening') return this.#frames.read(buffer, length);
    this.#upgrade += buffer.toString('latin1', 0, length);
    const end = this.#upgrade.indexOf('\r\n\r\n');
    if (
      !acceptedBegin.startsWith(this.#upgrade.slice(0, acceptedBegin.length)) ||
      this.#upgrade.length > maxUpgradeLength
    )
      return void this.#socket.destroy();
    if (end < 0) return;
    this.#cancelTimeout();
    this.#state = 'open';
    const rest = Buffer.from(this.#upgrade.slice(end + 4), 'latin1');
    this.#upgrade = '';
    this.#frames.read(rest);
  }

  #closeIfIdle(): void {
    if (this.#calls.size === 0) this.#socket.destroy();
  }

  #closed(): void {
    this.#cancelTimeout();
    const state = this.#state;
    this.#state = 'closed';
    if (state === 'opening' || state === 'open') this.#options.onUnusable(state === 'open');
    const calls = [...this.#calls.values()];
    this.#calls.clear();
    for (const call of calls) call.failed(new ClientFault('CONNECTION_LOST'));
    this.#options.onClosed();
  }
}
