import type { HandlerContext } from '@drover/isolated-workers';
import type { RunPayload } from '../local-messages.js';
import type { ReplyExtras } from './to-reply.js';
import type { CallLogger, LineLog } from './line-log.js';

/** The characters of names and values in HTTP. */
const headerName = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,256}$/;
const headerValue = /^[\t\u0020-\u007e\u0080-\u00ff]*$/;
const maxHeaders = 64;
const maxHeaderLength = 8_192;

/** `isolated-workers` creates the signal when it is read. */
type RequestSignal = Pick<HandlerContext<never, Record<never, never>>, 'signal'>;

/**
 * The second argument of a handler. What most handlers do not use is created on first use. Handlers may destructure it, so
 * nothing relies on `this`.
 */
export class LocalCallContext {
  readonly executionId: string;
  readonly functionName: string;
  readonly attempt: number;
  readonly traceId: string | undefined;
  readonly traceparent: string | undefined;
  readonly metadata: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string>>;
  /** The caller's key: the same for every attempt. */
  readonly idempotencyKey: string | undefined;
  readonly isColdStart: boolean;
  readonly #log: LineLog;
  readonly #request: RequestSignal;
  #statusCode: number | null = null;
  #headers: Record<string, string> | null = null;

  constructor(
    payload: RunPayload,
    functionName: string,
    isColdStart: boolean,
    { log, request }: { readonly log: LineLog; readonly request: RequestSignal },
  ) {
    this.executionId = payload[2];
    this.attempt = payload[3];
    this.traceId = payload[5] ?? undefined;
    this.traceparent = payload[6] ?? undefined;
    this.metadata = payload[7] ?? {};
    this.headers = payload[8] ?? {};
    this.idempotencyKey = payload[9] ?? undefined;
    this.functionName = functionName;
    this.isColdStart = isColdStart;
    this.#log = log;
    this.#request = request;
  }

  /** Aborts when the attempt is cancelled or out of time. */
  get signal(): AbortSignal {
    return this.#request.signal;
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
      if (!headerName.test(name)) throw new TypeError(`${JSON.stringify(name)} is not a valid header name`);
      if (!headerValue.test(text) || text.length > maxHeaderLength)
        throw new TypeError(
          `the value of the header ${name} is too long or has characters that are not allowed in headers`,
        );
      this.#headers ??= {};
      const key = name.toLowerCase();
      if (!Object.hasOwn(this.#headers, key) && Object.keys(this.#headers).length >= maxHeaders)
        throw new RangeError(`a handler may set at most ${maxHeaders} headers`);
      Object.defineProperty(this.#headers, key, { value: text, enumerable: true, configurable: true, writable: true });
    };
  }

  /**
   * Returns what the handler has set, or undefined. Static, so that handlers do not see it as a method of theirs.
   */
  static extras(context: LocalCallContext, initMs: number | null): ReplyExtras | undefined {
    if (context.#statusCode === null && context.#headers === null && initMs === null) return undefined;
    return { statusCode: context.#statusCode, headers: context.#headers, initMs };
  }
}
