import { runtimeCalls, type ColdStartBreakdown, type RuntimeAnswerHead } from '@drover/contracts';
import type { Answer } from '@drover/http-edge';
import type { AttemptResult } from '../dispatcher.js';

export interface RuntimeAnswer {
  readonly status: number;
  readonly headBytes: number;
  readonly retryAfterMs: number | undefined;
  readonly body: Buffer;
}

const noBody = Buffer.alloc(0);
const maxRetryAfterMs = 60_000;
/** How long a queue waits for an application that is not served, unless the runtime says otherwise. */
const notServedMs = 1_000;

/** Reads the headers of an answer that matter to an attempt. */
export function readRuntimeAnswer({ status, headers, body = noBody }: Answer): RuntimeAnswer {
  let headBytes = 0;
  let retryAfterMs: number | undefined;
  for (let index = 0; index + 1 < headers.length; index += 2) {
    const name = (headers[index] ?? '').toLowerCase();
    const value = headers[index + 1] ?? '';
    if (name === runtimeCalls.headBytesHeader) headBytes = Number(value);
    else if (name === 'retry-after' && status !== 200 && Number(value) >= 0)
      retryAfterMs = Math.min(Number(value) * 1_000, maxRetryAfterMs);
  }
  return { status, headBytes, retryAfterMs, body };
}

/** Converts a response of the runtime. */
export function toAttemptResult({ status, headBytes, retryAfterMs, body }: RuntimeAnswer): AttemptResult {
  if (status === 200) return toSuccess(body, headBytes);
  const { error, message } = parseError(body);
  switch (status) {
    case 404:
      // The application is being started, or was removed; a later attempt shows which.
      return error === runtimeCalls.applicationNotFound
        ? {
            ...failed('APP_UNAVAILABLE', 'the application is not served at the moment', true, retryAfterMs),
            wasNotTried: true,
            queuePauseMs: retryAfterMs ?? notServedMs,
          }
        : functionMissing('the application has no enabled function of this name');
    case 400:
      return failed('APP_INPUT_INVALID', message, false);
    case 401:
      return failed('APP_ERROR', 'the runtime does not accept the key of the control plane', false);
    case 413:
      return failed('APP_INPUT_INVALID', 'the input is larger than the runtime accepts', false);
    case 429:
      return {
        ...failed('APP_OVERLOADED', 'the application has too many calls in flight', true, retryAfterMs),
        wasTurnedAway: true,
      };
    case 500:
      return error === runtimeCalls.outputFailed
        ? failed('APP_ERROR', message, true)
        : failed('EXECUTION_FAILED', message, false);
    case 502:
      return failed('APP_ERROR', 'the function has run, but its response broke off', true);
    case 503: {
      const text = `the function worker was lost, or none is ready: ${message}`;
      const lost = failed('APP_UNAVAILABLE', text, true, retryAfterMs);
      // A lost worker has seen the call, which may be what ended it: those attempts count.
      return error === runtimeCalls.workerLost ? lost : { ...lost, wasTurnedAway: true };
    }
    case 504:
      return { kind: 'timeout', code: 'APP_TIMEOUT', message };
    default:
      return failed('APP_ERROR', `the runtime answered with the unexpected status ${status}`, false);
  }
}

/** Asynchronous calls wait: the next version of the application, or a roll back, may have the function. */
export function functionMissing(message: string): AttemptResult {
  return {
    ...failed('APP_FUNCTION_MISSING', message, true, notServedMs),
    wasTurnedAway: true,
    wasNotSent: true,
    queuePauseMs: notServedMs,
  };
}

export function failed(
  code: string,
  message: string,
  transient: boolean,
  retryAfterMs?: number,
): Extract<AttemptResult, { kind: 'failed' }> {
  return { kind: 'failed', code, message, transient, ...(retryAfterMs !== undefined && { retryAfterMs }) };
}

function toSuccess(body: Buffer, headBytes: number): AttemptResult {
  if (headBytes === 0) return { kind: 'success', output: { json: body.toString('utf8') } };
  const json = body.toString('utf8', headBytes);
  try {
    // Written by the runtime of this platform, with exactly these names.
    const { encoding, coldStartMs, ...chosen } = JSON.parse(body.toString('utf8', 0, headBytes)) as RuntimeAnswerHead;
    if (chosen.statusCode !== undefined && !(chosen.statusCode >= 200 && chosen.statusCode <= 599))
      return failed('APP_ERROR', `the function answered with the status ${chosen.statusCode}; use 200 to 599`, false);
    return {
      kind: 'success',
      output: encoding ? { json, encoding } : { json },
      ...chosen,
      ...(coldStartMs && toColdStart(coldStartMs)),
    };
  } catch {
    return failed('APP_ERROR', 'the response of the runtime cannot be parsed', false);
  }
}

/** A wait for a free slot alone is no cold start. */
function toColdStart(
  coldStartMs: ColdStartBreakdown,
): Pick<Extract<AttemptResult, { kind: 'success' }>, 'coldStart' | 'initDurationMs' | 'coldStartMs'> {
  const { decided, process, connect, reload, load } = coldStartMs;
  const initDurationMs = decided + process + connect + reload + load;
  return { coldStartMs, ...(initDurationMs > 0 && { coldStart: true, initDurationMs: Math.round(initDurationMs) }) };
}

/** Reads the error body that all processes of the platform write; empty fields where it is none. */
function parseError(body: Buffer): { readonly error: string; readonly message: string } {
  try {
    const { error = '', message = '' } = JSON.parse(body.toString('utf8')) as { error?: unknown; message?: unknown };
    return { error: String(error), message: String(message).slice(0, maxMessageLength) };
  } catch {
    return { error: '', message: 'the runtime gave no reason' };
  }
}

/** The message is stored with the execution, so its length is bounded. */
const maxMessageLength = 4_096;
