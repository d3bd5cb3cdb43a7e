import { STATUS_CODES } from 'node:http';
import type { AnswerBegin } from '../client/answer-reader.js';
import type { AnswerHeadText, FastLaneExchange } from '../server/fast-lane/fast-lane-exchange.js';
import type { AnswerSink } from './answer-sink.js';

/** Answers a request of the fast lane. Small answers go out in one write. */
export class FastLaneSink implements AnswerSink {
  readonly #exchange: FastLaneExchange;

  constructor(exchange: FastLaneExchange) {
    this.#exchange = exchange;
  }

  get isOver(): boolean {
    return this.#exchange.isOver;
  }

  set onDrain(onDrain: (() => void) | undefined) {
    this.#exchange.onDrain = onDrain;
  }

  set onLeft(onLeft: (() => void) | undefined) {
    this.#exchange.onLeft = onLeft;
  }

  answer(begin: AnswerBegin, headers: readonly string[], body: Buffer | undefined): void {
    const { contentLength, status } = begin;
    // The length of an answer in chunks is known now that it is whole.
    const needsLength = contentLength === -1 && status !== 204 && status !== 304;
    const length = needsLength ? `content-length: ${body?.length ?? 0}\r\n` : '';
    this.#exchange.passAnswer(headText(begin, headers, length), body);
  }

  begin(begin: AnswerBegin, headers: readonly string[]): void {
    this.#exchange.begin(headText(begin, headers, ''), begin.contentLength === -1);
  }

  write(bytes: Buffer): boolean {
    return this.#exchange.write(bytes);
  }

  end(): void {
    this.#exchange.end();
  }

  destroy(): void {
    this.#exchange.destroy();
  }
}

/** Names and values come from a parsed answer: neither can break out of its line. */
function headText({ status, statusText }: AnswerBegin, headers: readonly string[], more: string): AnswerHeadText {
  let text = `HTTP/1.1 ${status} ${statusText === '' ? (STATUS_CODES[status] ?? '') : statusText}\r\n`;
  let hasDate = false;
  for (let index = 0; index + 1 < headers.length; index += 2) {
    const name = headers[index] ?? '';
    if (name.length === 4 && name.toLowerCase() === 'date') hasDate = true;
    text += `${name}: ${headers[index + 1] ?? ''}\r\n`;
  }
  return { status, text: text + more, hasDate };
}
