import { format } from 'node:util';
import type { LogBatch, LogLevel } from '../local-messages.js';
import type { CallLogger } from './call-context.js';

type Line = LogBatch[number];

const maxLineLength = 8_192;
/** Within a second; what is said beyond is counted and left out, so that no handler floods the log of the platform. */
const maxLinesEachSecond = 1_000;

/** Collects what handlers say and hands it over in batches, one a turn of the loop. */
export class LineLog {
  readonly #send: (lines: LogBatch) => void;
  #lines: Line[] = [];
  #second = 0;
  #inSecond = 0;
  #leftOut = 0;

  constructor(send: (lines: LogBatch) => void) {
    this.#send = send;
  }

  add(level: LogLevel, values: readonly unknown[], executionId: string | null): void {
    const second = Math.floor(performance.now() / 1_000);
    if (second !== this.#second) {
      this.#second = second;
      this.#inSecond = 0;
      if (this.#leftOut > 0) this.#push(['warn', `${this.#leftOut} lines were left out`, null]);
      this.#leftOut = 0;
    }
    if (this.#inSecond >= maxLinesEachSecond) {
      this.#leftOut += 1;
      return;
    }
    this.#inSecond += 1;
    this.#push([level, format(...values).slice(0, maxLineLength), executionId]);
  }

  loggerOf(executionId: string | null): CallLogger {
    const at =
      (level: LogLevel) =>
      (...values: unknown[]): void =>
        this.add(level, values, executionId);
    return { debug: at('debug'), log: at('info'), info: at('info'), warn: at('warn'), error: at('error') };
  }

  #push(line: Line): void {
    this.#lines.push(line);
    if (this.#lines.length > 1) return;
    setImmediate(() => {
      const lines = this.#lines;
      this.#lines = [];
      this.#send(lines);
    });
  }
}
