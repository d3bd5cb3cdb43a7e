import { hasCode } from '@drover/contracts';

/** Why there is no whole answer. */
export interface EndpointFault {
  /** For whoever called: says what happened, and names nothing but the endpoint's own origin. */
  readonly message: string;
  /** The same call may succeed a little later. */
  readonly transient: boolean;
  /** The endpoint cannot be reached or does not speak HTTP: counts against it. */
  readonly isTransport: boolean;
}

/** Only our own sentences: those of the system name addresses that are nobody's business outside. */
const sentences: Readonly<Record<string, { readonly says: string; readonly transient: boolean }>> = {
  ECONNREFUSED: { says: 'refused the connection', transient: true },
  ECONNABORTED: { says: 'could not be reached in time', transient: true },
  ECONNRESET: { says: 'broke the connection', transient: true },
  EPIPE: { says: 'broke the connection', transient: true },
  CONNECTION_LOST: { says: 'broke the connection', transient: true },
  // Nobody can say what was meant to follow.
  ANSWER_SWITCHES: { says: 'broke the connection', transient: true },
  CONNECT_TIMEOUT: { says: 'could not be reached in time', transient: true },
  CONNECT_GIVEN_UP: { says: 'could not be reached in time', transient: true },
  ETIMEDOUT: { says: 'could not be reached in time', transient: true },
  EHOSTUNREACH: { says: 'cannot be reached', transient: true },
  ENETUNREACH: { says: 'cannot be reached', transient: true },
  EADDRNOTAVAIL: { says: 'cannot be reached', transient: true },
  ENOTFOUND: { says: 'has a name that nobody knows', transient: true },
  EAI_AGAIN: { says: 'has a name that cannot be resolved at the moment', transient: true },
  // The handler has run, most likely, but where its answer ends cannot be told.
  ANSWER_AMBIGUOUS: { says: 'broke off in the middle of its answer', transient: true },
  // The same call would end the same way again.
  ANSWER_HEAD_TOO_LARGE: { says: 'answered with more headers than are taken', transient: false },
  ANSWER_NOT_HTTP: { says: 'answered with something that is not HTTP', transient: false },
};

export function toFault(error: unknown, origin: string, answerBegan: boolean): EndpointFault {
  if (hasCode(error, 'ENDPOINT_REFUSED') && error instanceof Error)
    return { message: error.message, transient: false, isTransport: false };
  const code = codeOf(error);
  const known = sentences[code];
  if (answerBegan && known?.transient === true) return fault(`${origin} broke off in the middle of its answer`, true);
  if (code === 'ANSWER_BODY_TOO_LARGE')
    return { message: `${origin} answered with more than is taken`, transient: false, isTransport: false };
  if (known) return fault(`${origin} ${known.says}`, known.transient);
  if (/TLS|SSL|CERT|ISSUER|SIGNATURE/.test(code))
    return fault(`${origin} has no certificate that can be trusted (${code})`, false);
  return fault(`the call of ${origin} failed`, true);
}

function fault(message: string, transient: boolean): EndpointFault {
  return { message, transient, isTransport: true };
}

/** Of several tries at several addresses, the last one's. */
function codeOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return codeOf(error.errors.at(-1));
  return typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : '';
}

/** Nobody is asked to wait longer, whatever the other side wants. */
const longestMs = 3_600_000;

/** The pause that a `Retry-After` asks for: seconds, or a date. `now` is wall-clock time. */
export function pauseOf(retryAfter: string | undefined, now: () => number): number | undefined {
  if (retryAfter === undefined) return undefined;
  const pauseMs = /^\d+$/.test(retryAfter) ? Number(retryAfter) * 1_000 : Date.parse(retryAfter) - now();
  return Number.isNaN(pauseMs) ? undefined : Math.min(longestMs, Math.max(0, pauseMs));
}

/** The same, looked for among raw headers: names and values in turn. */
export function retryAfterMs(headers: readonly string[], now: () => number): number | undefined {
  for (let index = 0; index + 1 < headers.length; index += 2) {
    if (headers[index]?.toLowerCase() === 'retry-after') return pauseOf(headers[index + 1], now);
  }
  return undefined;
}
