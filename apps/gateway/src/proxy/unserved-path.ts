import type { AnswerBegin, AnswerSink, ErrorAnswer } from '@drover/http-edge';
import { runtimeCalls } from '@drover/contracts';

/** Makes the answer to a request whose path no function has, in place of the runtime's. */
export type UnservedAnswer = (requestId: string) => ErrorAnswer;

const unservedCodes: ReadonlySet<unknown> = new Set([runtimeCalls.functionNotFound, runtimeCalls.applicationNotFound]);
/** An error of the runtime is smaller. */
const maxErrorBytes = 4_096;

/** Passes answers on, except the runtime's error for a path that no function has. */
export class UnservedPathSink implements AnswerSink {
  readonly #sink: AnswerSink;
  readonly #onUnserved: () => void;

  constructor(sink: AnswerSink, onUnserved: () => void) {
    this.#sink = sink;
    this.#onUnserved = onUnserved;
  }

  get isOver(): boolean {
    return this.#sink.isOver;
  }

  set onDrain(onDrain: (() => void) | undefined) {
    this.#sink.onDrain = onDrain;
  }

  set onLeft(onLeft: (() => void) | undefined) {
    this.#sink.onLeft = onLeft;
  }

  answer(begin: AnswerBegin, headers: readonly string[], body: Buffer | undefined): void {
    if (begin.status === 404 && isUnserved(body)) this.#onUnserved();
    else this.#sink.answer(begin, headers, body);
  }

  begin(begin: AnswerBegin, headers: readonly string[]): void {
    this.#sink.begin(begin, headers);
  }

  write(bytes: Buffer): boolean {
    return this.#sink.write(bytes);
  }

  end(): void {
    this.#sink.end();
  }

  destroy(): void {
    this.#sink.destroy();
  }
}

function isUnserved(body: Buffer | undefined): boolean {
  if (!body || body.length > maxErrorBytes) return false;
  try {
    return unservedCodes.has((JSON.parse(body.toString('utf8')) as { readonly error?: unknown } | null)?.error);
  } catch {
    return false; // the answer of a function
  }
}
