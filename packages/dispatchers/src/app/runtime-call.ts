import { runtimeCalls } from '@drover/contracts';
import type { Dispatcher } from 'undici';
import type { RuntimeAnswer } from './runtime-protocol.js';

type Handler = Required<
  Pick<
    Dispatcher.DispatchHandler,
    'onRequestStart' | 'onResponseStart' | 'onResponseData' | 'onResponseEnd' | 'onResponseError'
  >
>;
type Controller = Dispatcher.DispatchController;
type Headers = Parameters<Handler['onResponseStart']>[2];

/** One call on its way to the runtime. Ends once: with an answer, an error, or because nobody wants it any more. */
export class RuntimeCall implements Handler {
  readonly #end: (answer: RuntimeAnswer | Error) => void;
  readonly #chunks: Buffer[] = [];
  #controller: Controller | undefined;
  #status = 0;
  #headBytes = 0;
  #retryAfterMs: number | undefined;
  #isOver = false;

  constructor(end: (answer: RuntimeAnswer | Error) => void) {
    this.#end = end;
  }

  /** Breaks off the connection, which is how the runtime learns that it may stop. */
  abandon(): void {
    if (this.#isOver) return;
    this.#finish(abandoned);
    this.#controller?.abort(abandoned);
  }

  onRequestStart(controller: Controller): void {
    this.#controller = controller;
    // It was given up while it waited for a connection.
    if (this.#isOver) controller.abort(abandoned);
  }

  onResponseStart(_controller: Controller, status: number, headers: Headers): void {
    this.#status = status;
    const head = headers[runtimeCalls.headBytesHeader];
    if (head !== undefined) this.#headBytes = Number(head);
    if (status === 200) return;
    const seconds = Number(headers['retry-after'] ?? Number.NaN);
    if (seconds >= 0) this.#retryAfterMs = Math.min(seconds * 1_000, maxRetryAfterMs);
  }

  onResponseData(_controller: Controller, chunk: Buffer): void {
    this.#chunks.push(chunk);
  }

  onResponseEnd(): void {
    const [first] = this.#chunks;
    const body = this.#chunks.length === 1 && first ? first : Buffer.concat(this.#chunks);
    this.#finish({ status: this.#status, headBytes: this.#headBytes, retryAfterMs: this.#retryAfterMs, body });
  }

  onResponseError(_controller: Controller, error: Error): void {
    this.#finish(error);
  }

  #finish(answer: RuntimeAnswer | Error): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#end(answer);
  }
}

/** Its stack says nothing, so one serves all. */
const abandoned = new Error('nobody waits for this call any more');
const maxRetryAfterMs = 60_000;
