import { hasCode } from '@drover/contracts';

/** Why a call has no complete response. */
export interface EndpointFault {
  /** For the caller: what happened. Names nothing but the origin of the endpoint. */
  readonly message: string;
  /** A later call may succeed. */
  readonly transient: boolean;
  /** Counts for the circuit breaker of the endpoint, if there was no connection. */
  readonly isTransport: boolean;
}

/** Own sentences, since those of the system disclose addresses. */
const sentences: Readonly<Record<string, { readonly says: string; readonly transient: boolean }>> = {
  ECONNREFUSED: { says: 'refused the connection', transient: true },
  ECONNABORTED: { says: 'could not be reached in time', transient: true },
  ECONNRESET: { says: 'broke the connection', transient: true },
  EPIPE: { says: 'broke the connection', transient: true },
  CONNECTION_LOST: { says: 'broke the connection', transient: true },
  // After 101 the rest of the stream is no HTTP.
  ANSWER_SWITCHES: { says: 'broke the connection', transient: true },
  CONNECT_TIMEOUT: { says: 'could not be reached in time', transient: true },
  CONNECT_GIVEN_UP: { says: 'could not be reached in time', transient: true },
  ETIMEDOUT: { says: 'could not be reached in time', transient: true },
  EHOSTUNREACH: { says: 'cannot be reached', transient: true },
  ENETUNREACH: { says: 'cannot be reached', transient: true },
  EADDRNOTAVAIL: { says: 'cannot be reached', transient: true },
  ENOTFOUND: { says: 'has a host name that does not resolve', transient: true },
  EAI_AGAIN: { says: 'has a host name that cannot be resolved at the moment', transient: true },
  // The handler has probably run, but the end of its response cannot be determined.
  ANSWER_AMBIGUOUS: { says: 'broke off in the middle of its response', transient: true },
  // A retry would fail the same way.
  ANSWER_HEAD_TOO_LARGE: { says: 'answered with too many or too large headers', transient: false },
  ANSWER_NOT_HTTP: { says: 'answered with data that is not HTTP', transient: false },
};

export function toFault(error: unknown, origin: string, answerBegan: boolean): EndpointFault {
  if (hasCode(error, 'ENDPOINT_REFUSED') && error instanceof Error)
    return { message: error.message, transient: false, isTransport: false };
  const code = codeOf(error);
  const known = sentences[code];
  if (answerBegan && known?.transient === true) return fault(`${origin} broke off in the middle of its response`, true);
  if (code === 'ANSWER_BODY_TOO_LARGE')
    return {
      message: `${origin} answered with more bytes than are accepted (DROVER_ENDPOINT_ANSWER_LIMIT_BYTES)`,
      transient: false,
      isTransport: false,
    };
  if (known) return fault(`${origin} ${known.says}`, known.transient);
  if (/TLS|SSL|CERT|ISSUER|SIGNATURE/.test(code)) return fault(`${origin} has no trusted certificate (${code})`, false);
  return fault(`the call of ${origin} failed`, true);
}

function fault(message: string, transient: boolean): EndpointFault {
  return { message, transient, isTransport: true };
}

/** The code of the last of several addresses that were tried. */
function codeOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return codeOf(error.errors.at(-1));
  return typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : '';
}

/** Longer pauses are cut to this. */
const longestMs = 3_600_000;

/** Returns the pause of a `Retry-After` header: seconds, or a date. `now` is wall-clock time. */
export function pauseOf(retryAfter: string | undefined, now: () => number): number | undefined {
  if (retryAfter === undefined) return undefined;
  const pauseMs = /^\d+$/.test(retryAfter) ? Number(retryAfter) * 1_000 : Date.parse(retryAfter) - now();
  return Number.isNaN(pauseMs) ? undefined : Math.min(longestMs, Math.max(0, pauseMs));
}

/** The same for raw headers: names and values alternate. */
export function retryAfterMs(headers: readonly string[], now: () => number): number | undefined {
  for (let index = 0; index + 1 < headers.length; index += 2) {
    if (headers[index]?.toLowerCase() === 'retry-after') return pauseOf(headers[index + 1], now);
  }
  return undefined;
}
