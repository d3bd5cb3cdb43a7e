import type { Readable } from 'node:stream';
import { ClientFault } from './client-fault.js';

/** A request body that is sent as it arrives. */
export interface BodyStream {
  readonly source: Readable;
  /** Its length is not known: it goes out in chunks. Otherwise the head has its length. */
  readonly isChunked: boolean;
  /** A longer body fails the call with REQUEST_BODY_TOO_LARGE. */
  readonly maxBytes?: number;
}

/** Where a body is written to. */
export interface BodySink {
  write(data: string | Buffer, encoding?: BufferEncoding): boolean;
  cork(): void;
  uncork(): void;
}

/**
 * Sends one body with backpressure. Ends once: with the last byte, or because the source broke off (`onBroken`). After
 * `detach` the rest of the source is discarded, so that its connection does not stall.
 */
export class BodyPump {
  readonly #body: BodyStream;
  readonly #sink: BodySink;
  readonly #onBroken: (error: Error) => void;
  #bytes = 0;
  #isOver = false;

  constructor(body: BodyStream, sink: BodySink, onBroken: (error: Error) => void) {
    this.#body = body;
    this.#sink = sink;
    this.#onBroken = onBroken;
    const { source } = body;
    source.on('data', this.#onData).on('end', this.#onEnd).on('error', this.#break).on('close', this.#break);
    // A closed source emits nothing. Reported later, since the caller expects no failure while it sends.
    if (source.destroyed) process.nextTick(this.#break);
  }

  /** Everything was handed to the sink. */
  get isSent(): boolean {
    return this.#isOver;
  }

  /** The sink has room again. */
  resume(): void {
    if (!this.#isOver) this.#body.source.resume();
  }

  detach(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#off();
    this.#body.source.on('error', ignore).resume();
  }

  #off(): void {
    const { source } = this.#body;
    source.off('data', this.#onData).off('end', this.#onEnd).off('error', this.#break).off('close', this.#break);
  }

  readonly #onData = (bytes: Buffer): void => {
    this.#bytes += bytes.length;
    if (this.#bytes > (this.#body.maxBytes ?? Number.POSITIVE_INFINITY))
      return this.#break(new ClientFault('REQUEST_BODY_TOO_LARGE'));
    if (!this.#write(bytes)) this.#body.source.pause();
  };

  #write(bytes: Buffer): boolean {
    if (!this.#body.isChunked) return this.#sink.write(bytes);
    this.#sink.cork();
    this.#sink.write(`${bytes.length.toString(16)}\r\n`, 'latin1');
    this.#sink.write(bytes);
    const isTaken = this.#sink.write('\r\n', 'latin1');
    this.#sink.uncork();
    return isTaken;
  }

  readonly #onEnd = (): void => {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#off();
    if (this.#body.isChunked) this.#sink.write('0\r\n\r\n', 'latin1');
  };

  readonly #break = (error?: Error): void => {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#off();
    this.#body.source.on('error', ignore);
    this.#onBroken(error ?? new Error('The source of the request body closed before its end.'));
  };
}

function ignore(): void {}
