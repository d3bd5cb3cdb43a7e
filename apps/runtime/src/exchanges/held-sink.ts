import { wholeAnswerHeader } from '@drover/function-rpc';
import type { AnswerBegin, AnswerSink } from '@drover/http-edge';
import type { Clock } from '@drover/service-kit';

/** An answer without the header of a whole one that is not complete after this time is a stream. */
const streamAfterMs = 100;
/** How much of an answer is held here. The rest of a whole one waits at its worker, and a longer one without its header is a stream. */
const mostHeldBytes = 262_144;

/**
 * Holds an answer back until the outputs of its function are written, unless the function streams it.
 *
 * - holding: nothing was sent. `release` sends what has arrived; otherwise another answer can take its place.
 * - passing: what arrives is sent. An answer gets here by `release`, or by itself if it proves to be a stream: it is longer than
 *   what is held, or not complete in time, and its worker did not mark it as a whole one.
 * - discarded: another answer takes the place of this one.
 */
export class HeldSink implements AnswerSink {
  readonly #client: AnswerSink;
  readonly #clock: Clock;
  #begin: { readonly begin: AnswerBegin; readonly headers: readonly string[] } | undefined;
  readonly #parts: Buffer[] = [];
  #bytes = 0;
  #isWhole = false;
  #isEnded = false;
  #state: 'holding' | 'passing' | 'discarded' = 'holding';
  #mustDrain = false;
  #cancelWait: () => void = () => undefined;
  onDrain: (() => void) | undefined;

  constructor(client: AnswerSink, clock: Clock) {
    this.#client = client;
    this.#clock = clock;
  }

  /** Nothing was sent. */
  get isHolding(): boolean {
    return this.#state !== 'passing';
  }

  get isOver(): boolean {
    return this.#client.isOver;
  }

  set onLeft(onLeft: (() => void) | undefined) {
    this.#client.onLeft = onLeft;
  }

  answer(begin: AnswerBegin, headers: readonly string[], body: Buffer | undefined): void {
    if (this.#state === 'passing') return this.#client.answer(begin, this.#unmarked(headers), body);
    this.begin(begin, headers);
    if (body) this.#hold(body);
    this.end();
  }

  begin(begin: AnswerBegin, headers: readonly string[]): void {
    const sent = this.#unmarked(headers);
    if (this.#state === 'passing') return this.#client.begin(begin, sent);
    this.#begin = { begin, headers: sent };
    if (!this.#isWhole) this.#cancelWait = this.#clock.after(streamAfterMs, () => this.#releaseAfterRead());
  }

  write(bytes: Buffer): boolean {
    if (this.#state === 'passing') return this.#client.write(bytes);
    this.#hold(bytes);
    if (this.#bytes <= mostHeldBytes) return true;
    this.#mustDrain = this.#isWhole;
    if (!this.#isWhole) this.release();
    return !this.#isWhole;
  }

  end(): void {
    if (this.#state === 'passing') return this.#client.end();
    this.#isEnded = true;
    this.#cancelWait();
  }

  destroy(): void {
    if (this.#state === 'passing') this.#client.destroy();
    else this.discard();
  }

  /** Sends what has arrived, and from now on what arrives. */
  release(): void {
    if (this.#state !== 'holding') return;
    this.#cancelWait();
    this.#state = 'passing';
    this.#client.onDrain = () => this.onDrain?.();
    const held = this.#begin;
    if (held && !this.#client.isOver) this.#send(held.begin, held.headers);
    this.#parts.length = 0;
    if (this.#mustDrain) this.onDrain?.();
  }

  /** Drops what has arrived: another answer takes its place. */
  discard(): void {
    if (this.#state !== 'holding') return;
    this.#state = 'discarded';
    this.#cancelWait();
    this.#parts.length = 0;
  }

  #send(begin: AnswerBegin, headers: readonly string[]): void {
    const [only] = this.#parts;
    if (this.#isEnded && this.#parts.length <= 1) return this.#client.answer(begin, headers, only);
    this.#client.begin(begin, headers);
    for (const part of this.#parts) this.#client.write(part);
    if (this.#isEnded) this.#client.end();
  }

  #hold(bytes: Buffer): void {
    if (this.#state !== 'holding') return;
    this.#parts.push(bytes);
    this.#bytes += bytes.byteLength;
  }

  /** After a busy time timers come before what has arrived meanwhile, which may complete the answer. */
  #releaseAfterRead(): void {
    setImmediate(() => {
      if (!this.#isEnded) this.release();
    });
  }

  #unmarked(headers: readonly string[]): readonly string[] {
    const at = headers.findIndex((name, index) => index % 2 === 0 && name.toLowerCase() === wholeAnswerHeader);
    if (at < 0) return headers;
    this.#isWhole = true;
    return headers.toSpliced(at, 2);
  }
}
