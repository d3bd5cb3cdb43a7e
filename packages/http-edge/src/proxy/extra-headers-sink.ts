import type { AnswerBegin } from '../client/answer-reader.js';
import type { AnswerSink } from './answer-sink.js';

/** Adds headers to a proxied answer, which must not have them itself; what it varies with adds up. */
export class ExtraHeadersSink implements AnswerSink {
  readonly #sink: AnswerSink;
  readonly #extra: readonly string[];

  /** `extra` are names and values in turn. */
  constructor(sink: AnswerSink, extra: readonly string[]) {
    this.#sink = sink;
    this.#extra = extra;
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
    this.#sink.answer(begin, withExtraHeaders(headers, this.#extra), body);
  }

  begin(begin: AnswerBegin, headers: readonly string[]): void {
    this.#sink.begin(begin, withExtraHeaders(headers, this.#extra));
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

function withExtraHeaders(headers: readonly string[], extra: readonly string[]): string[] {
  const all = [...headers];
  for (let index = 0; index + 1 < extra.length; index += 2) {
    const [name = '', value = ''] = [extra[index], extra[index + 1]];
    const said = name === 'vary' ? all.findIndex((text, at) => at % 2 === 0 && text.toLowerCase() === name) : -1;
    if (said < 0) all.push(name, value);
    else all[said + 1] = `${all[said + 1]}, ${value}`;
  }
  return all;
}
