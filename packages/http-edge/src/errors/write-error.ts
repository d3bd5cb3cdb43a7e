import { isCodedError, toErrorBody, type ErrorBody } from '@drover/contracts';

/** An error as an HTTP answer, ready for any way to write it. */
export interface ErrorAnswer {
  readonly status: number;
  /** Names and values in turn, without the length of the body. */
  readonly headers: string[];
  readonly body: string;
}

export interface ErrorAnswerOptions {
  /** Further headers, names in lower case and values in turn. A `retry-after` among them replaces the usual one. */
  readonly headers?: readonly string[];
  /** Which fields of the request are wrong. */
  readonly details?: ErrorBody['details'] | undefined;
}

const retryAfterSeconds = '1';
/** Too many requests, unavailable, out of storage: what passes with time. A timeout may have had its effect. */
const waitable: ReadonlySet<number> = new Set([429, 503, 507]);

/**
 * Turns an error into the one shape that every error answer has. Errors without a code become a 500 that says nothing about
 * their cause.
 */
export function toErrorAnswer(error: unknown, requestId: string, more: ErrorAnswerOptions = {}): ErrorAnswer {
  const { headers: own = noHeaders, details } = more;
  const { status, body } = toErrorBody(error, requestId);
  const headers = [
    'content-type',
    'application/json; charset=utf-8',
    'x-request-id',
    requestId,
    'cache-control',
    'no-store',
    'x-content-type-options',
    'nosniff',
    ...own,
  ];
  if (isCodedError(error) && error.retryable && waitable.has(status) && !own.includes('retry-after'))
    headers.push('retry-after', retryAfterSeconds);
  return { status, headers, body: JSON.stringify(details ? { ...body, details } : body) };
}

const noHeaders: readonly string[] = [];
