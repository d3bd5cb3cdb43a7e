import { format } from 'node:util';
import type { HandlerLogLevel, LogBatch } from '../local-messages.js';

type Line = LogBatch[number];

/** The methods of `console`, for one call. */
export interface CallLogger {
  debug(...values: unknown[]): void;
  log(...values: unknown[]): void;
  info(...values: unknown[]): void;
  warn(...values: unknown[]): void;
  error(...values: unknown[]): void;
}

const maxLineLength = 8_192;
/** Further lines of the same second are counted and dropped, so that no handler floods the log of the platform. */
const maxLinesEachSecond = 1_000;

/** Collects the log lines of handlers and sends them in batches, one for each turn of the event loop. */
export class LineLog {
  readonly #send: (lines: LogBatch) => void;
  #lines: Line[] = [];
  #second = 0;
  #inSecond = 0;
  #dropped = 0;

  constructor(send: (lines: LogBatch) => void) {
    this.#send = send;
  }

  add(level: HandlerLogLevel, values: readonly unknown[], executionId: string | null): void {
    const second = Math.floor(performance.now() / 1_000);
    if (second !== this.#second) {
      this.#second = second;
      this.#inSecond = 0;
      if (this.#dropped > 0)
        this.#push([
          'warn',
          `${this.#dropped} log lines were dropped: more than ${maxLinesEachSecond} in one second`,
          null,
        ]);
      this.#dropped = 0;
    }
    if (this.#inSecond >= maxLinesEachSecond) {
      this.#dropped += 1;
      return;
    }
    this.#inSecond += 1;
    this.#push([level, format(...values).slice(0, maxLineLength), executionId]);
  }

  loggerOf(executionId: string | null): CallLogger {
    const at =
      (level: HandlerLogLevel) =>
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
