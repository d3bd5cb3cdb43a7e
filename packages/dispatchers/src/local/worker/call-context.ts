import type { RunPayload } from '../local-messages.js';
import type { ReplyExtras } from './to-reply.js';
import type { LineLog } from './line-log.js';

/** As in HTTP: what a name and a value may consist of. */
const headerName = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,256}$/;
const headerValue = /^[\t\u0020-\u007e\u0080-\u00ff]*$/;
const maxHeaders = 64;
const maxHeaderLength = 8_192;

/** `console`, for one call. */
export interface CallLogger {
  debug(...values: unknown[]): void;
  log(...values: unknown[]): void;
  info(...values: unknown[]): void;
  warn(...values: unknown[]): void;
  error(...values: unknown[]): void;
}

/**
 * What a handler gets beside its input. What most never ask for is made when one does; all of it may be taken apart, so
 * nothing relies on `this`.
 */
export class CallContext {
  readonly executionId: string;
  readonly functionName: string;
  readonly attempt: number;
  readonly traceId: string | undefined;
  readonly traceparent: string | undefined;
  readonly metadata: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string>>;
  readonly isColdStart: boolean;
  readonly #log: LineLog;
  #controller: AbortController | undefined;
  #statusCode: number | null = null;
  #headers: Record<string, string> | null = null;

  constructor(payload: RunPayload, functionName: string, isColdStart: boolean, log: LineLog) {
    this.executionId = payload[3];
    this.attempt = payload[4];
    this.traceId = payload[6] ?? undefined;
    this.traceparent = payload[7] ?? undefined;
    this.metadata = payload[8] ?? {};
    this.headers = payload[9] ?? {};
    this.functionName = functionName;
    this.isColdStart = isColdStart;
    this.#log = log;
  }

  get signal(): AbortSignal {
    return (this.#controller ??= new AbortController()).signal;
  }

  get logger(): CallLogger {
    return this.#log.loggerOf(this.executionId);
  }

  get setStatus(): (code: number) => void {
    return (code) => {
      if (!Number.isInteger(code) || code < 200 || code > 599)
        throw new RangeError(`setStatus takes a whole number from 200 to 599, not ${String(code)}`);
      this.#statusCode = code;
    };
  }

  get setHeader(): (name: string, value: unknown) => void {
    return (name, value) => {
      const text = String(value);
      if (!headerName.test(name)) throw new TypeError(`${JSON.stringify(name)} is no name of a header`);
      if (!headerValue.test(text) || text.length > maxHeaderLength)
        throw new TypeError(`the value of the header ${name} is too long or holds characters that no header may have`);
      this.#headers ??= {};
      const key = name.toLowerCase();
      if (!Object.hasOwn(this.#headers, key) && Object.keys(this.#headers).length >= maxHeaders)
        throw new RangeError(`a handler may set ${maxHeaders} headers, and no more`);
      Object.defineProperty(this.#headers, key, { value: text, enumerable: true, configurable: true, writable: true });
    };
  }

  /** Not for handlers, who would see them as methods of theirs. */
  static abort(context: CallContext | undefined): void {
    if (context)
      (context.#controller ??= new AbortController()).abort(
        new DOMException('nobody waits for it any more', 'AbortError'),
      );
  }

  /** What it said, if it said anything. */
  static extras(context: CallContext, initMs: number | null): ReplyExtras | undefined {
    if (context.#statusCode === null && context.#headers === null && initMs === null) return undefined;
    return { statusCode: context.#statusCode, headers: context.#headers, initMs };
  }
}
