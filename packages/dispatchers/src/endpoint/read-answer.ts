import type { Answer } from '@drover/http-edge';
import type { Payload } from '@drover/contracts';
import { pauseOf } from '../outbound/endpoint-fault.js';
import type { AttemptResult } from '../dispatcher.js';
import { bodyToPayload, UnreadableBody } from './answer-body.js';
import { AnswerHeaders, handlerHeaders, withoutControls } from './answer-headers.js';

const lastStatus = 599;
const longestMessage = 500;
const longestErrorBody = 65_536;

type ReceivedAnswer = Pick<Answer, 'status' | 'headers' | 'body'>;

/** Converts a response. `now` is wall-clock time, for a `Retry-After` with a date. */
export function readAnswer(
  { status, headers: raw, body }: ReceivedAnswer,
  origin: string,
  now: () => number,
): AttemptResult {
  const headers = new AnswerHeaders(raw);
  if (status > lastStatus)
    return unreadable(origin, `has the status ${status}, which HTTP does not have: it ends at ${lastStatus}`);
  if (headers.isCompressed) return unreadable(origin, 'is compressed although the request accepts identity only');
  if (headers.isFunctionStatus || (status >= 200 && status < 300)) {
    if (!headers.isFunctionStatus && (status === 202 || headers.isHandedOver)) return { kind: 'handed-over' };
    try {
      return success(status, headers, raw, body);
    } catch (error) {
      if (error instanceof UnreadableBody) return unreadable(origin, error.message);
      throw error;
    }
  }
  return failure(status, headers, body, origin, now);
}

function success(
  status: number,
  headers: AnswerHeaders,
  raw: readonly string[],
  body: Buffer | undefined,
): AttemptResult {
  const output = bodyToPayload(body, headers.contentType, headers.isBase64);
  const { isFunctionStatus, contentType } = headers;
  const isPlain = !isFunctionStatus && !headers.isColdStart && headers.initDurationMs === undefined;
  if (isPlain && contentType === 'application/json') return { kind: 'success', output };
  return {
    kind: 'success',
    output,
    ...(isFunctionStatus ? { statusCode: status, headers: handlerHeaders(raw) } : typeOf(output, contentType)),
    ...(headers.isColdStart ? { coldStart: true } : {}),
    ...(headers.initDurationMs === undefined ? {} : { initDurationMs: headers.initDurationMs }),
  };
}

/** Keeps the content type of text and bytes: the API returns them as they were. */
function typeOf({ json }: Payload, contentType: string | undefined): { headers?: Readonly<Record<string, string>> } {
  const isKnown = contentType === undefined || json === 'null' || /json/i.test(contentType);
  return isKnown ? {} : { headers: { 'content-type': withoutControls(contentType) } };
}

function failure(
  status: number,
  headers: AnswerHeaders,
  body: Buffer | undefined,
  origin: string,
  now: () => number,
): AttemptResult {
  if (status === 408 || status === 504)
    return {
      kind: 'timeout',
      code: 'POOL_TIMEOUT',
      message: `${origin} answered ${status}: its function did not finish in time`,
    };
  if (status === 429 || status === 502 || status === 503) {
    const retryAfterMs = status === 502 ? undefined : pauseOf(headers.retryAfter, now);
    return {
      ...turnedAway(`${origin} answered ${status}: it accepts no calls at the moment`),
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    };
  }
  if (status < 400)
    return endpointError(
      `${origin} answered ${status}: redirects are not followed; register the target of the redirect`,
      false,
    );
  const message = messageIn(body) ?? `the endpoint answered ${status}`;
  return { kind: 'failed', code: 'EXECUTION_FAILED', message, transient: false };
}

/** A failure that is probably not the handler's. */
export function endpointError(message: string, transient: boolean): Extract<AttemptResult, { kind: 'failed' }> {
  return { kind: 'failed', code: 'POOL_ERROR', message, transient };
}

/** The endpoint has not taken the call. */
export function turnedAway(message: string): Extract<AttemptResult, { kind: 'failed' }> {
  return { ...endpointError(message, true), wasTurnedAway: true };
}

/** Not transient: the handler has probably run and would answer the same again. */
function unreadable(origin: string, why: string): AttemptResult {
  return endpointError(`the response of ${origin} ${why}`, false);
}

/** Returns the message of an error body: `{error}`, `{message}` or `{error: {message}}`. */
function messageIn(body: Buffer | undefined): string | undefined {
  if (body === undefined || body.length === 0 || body.length > longestErrorBody) return undefined;
  try {
    const parsed: unknown = JSON.parse(body.toString('utf8'));
    const said =
      stringAt(parsed, 'error') ?? stringAt(parsed, 'message') ?? stringAt(valueAt(parsed, 'error'), 'message');
    const text = said === undefined ? '' : withoutControls(said).trim();
    return text === '' || text.length > longestMessage ? undefined : text;
  } catch {
    return undefined;
  }
}

function stringAt(value: unknown, key: string): string | undefined {
  const found = valueAt(value, key);
  return typeof found === 'string' ? found : undefined;
}

function valueAt(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null ? Object.getOwnPropertyDescriptor(value, key)?.value : undefined;
}
