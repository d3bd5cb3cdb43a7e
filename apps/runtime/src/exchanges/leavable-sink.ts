import type { AnswerBegin, AnswerSink } from '@drover/http-edge';

/**
 * Writes a streamed answer to a client that may leave.
 *
 * - Until the answer begins, the proxy is not told that the client has left: the request still reaches the worker, so that its
 *   function runs to its end.
 * - From then on the proxy is told and closes its connection to the worker, so that no body is produced for a client that has left.
 */
export class LeavableSink implements AnswerSink {
  readonly #client: AnswerSink;
  #hasBegun = false;
  #hasLeft = false;
  onLeft: (() => void) | undefined;

  constructor(client: AnswerSink) {
    this.#client = client;
    client.onLeft = () => {
      this.#hasLeft = true;
      if (this.#hasBegun) this.onLeft?.();
    };
  }

  set onDrain(onDrain: (() => void) | undefined) {
    this.#client.onDrain = onDrain;
  }

  get isOver(): boolean {
    return this.#hasLeft || this.#client.isOver;
  }

  answer(begin: AnswerBegin, headers: readonly string[], body: Buffer | undefined): void {
    this.#hasBegun = true;
    if (!this.isOver) this.#client.answer(begin, headers, body);
  }

  begin(begin: AnswerBegin, headers: readonly string[]): void {
    this.#hasBegun = true;
    if (!this.isOver) return this.#client.begin(begin, headers);
    this.#hasLeft = true;
    this.onLeft?.();
  }

  write(bytes: Buffer): boolean {
    return this.#hasLeft || this.#client.write(bytes);
  }

  end(): void {
    if (!this.#hasLeft) this.#client.end();
  }

  destroy(): void {
    this.#client.destroy();
  }
}
