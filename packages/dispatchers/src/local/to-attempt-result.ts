import type { AttemptResult } from '../dispatcher.js';
import type { RunReply } from './local-messages.js';

type Failed = Extract<AttemptResult, { readonly kind: 'failed' }>;

/** How long to leave a function alone whose workers cannot be had just now. */
const retryAfterMs = 1_000;

/** What a worker answered. */
export function fromReply(reply: RunReply): AttemptResult {
  if (typeof reply === 'string') return { kind: 'success', output: { json: reply } };
  switch (reply[0]) {
    case 'ok': {
      const [, json, isBinary, statusCode, headers, initMs] = reply;
      return {
        kind: 'success',
        output: isBinary ? { json, encoding: 'base64' } : { json },
        ...(statusCode !== null && { statusCode }),
        ...(headers !== null && { headers }),
        ...(initMs !== null && { coldStart: true, initDurationMs: Math.round(initMs) }),
      };
    }
    case 'failed':
      return { kind: 'failed', code: 'EXECUTION_FAILED', message: reply[1], transient: reply[2] };
    case 'broken':
      return localBroken(reply[1]);
    case 'late':
      return localAbandoned;
  }
}

/** Nobody but whoever sees to the module can help. */
export function localBroken(message: string): Failed {
  return { kind: 'failed', code: 'LOCAL_UNAVAILABLE', message, transient: false };
}

/** No worker can be had now; in a moment there may be one. */
export function localUnavailable(message: string): Failed {
  return { kind: 'failed', code: 'LOCAL_UNAVAILABLE', message, transient: true, retryAfterMs };
}

export function localBusy(message: string): Failed {
  return { kind: 'failed', code: 'LOCAL_BUSY', message, transient: true, retryAfterMs };
}

/** Nobody waits for this any more. */
export const localAbandoned: AttemptResult = {
  kind: 'timeout',
  code: 'LOCAL_ABANDONED',
  message: 'nobody waited for the handler any more',
};

/** What went wrong between the worker and us. `ended`: we ended the worker ourselves, since its loop stood still. */
export function fromWorkerError(error: unknown, ended: boolean): Failed {
  const { code, message } = factsOf(error);
  switch (code) {
    case 'ERR_WORKER_CRASHED':
      return { kind: 'failed', code: 'LOCAL_WORKER_CRASHED', message: crashSentence(error, ended), transient: true };
    case 'ERR_BACKPRESSURE':
      return localBusy('too many calls wait for the worker of the function');
    case 'ERR_SERIALIZATION':
      return {
        kind: 'failed',
        code: 'EXECUTION_FAILED',
        message: `the call is too large: ${message}`,
        transient: false,
      };
    case 'LOCAL_UNAVAILABLE':
      return localBroken(message);
    case 'ERR_WORKER_CLOSED':
      return localUnavailable('the worker of the function was stopped before it answered');
    default:
      return localUnavailable(`no worker of the function can be had: ${lastLine(message)}`);
  }
}

function crashSentence(error: unknown, ended: boolean): string {
  if (ended) return 'the worker of the handler was ended, since another call on it computed for too long';
  const facts = typeof error === 'object' && error !== null ? (error as Readonly<Record<string, unknown>>) : {};
  const { signal, exitCode, outOfMemory, stderr } = facts;
  const how =
    typeof signal === 'string'
      ? `by ${signal}`
      : typeof exitCode === 'number'
        ? `with exit code ${exitCode}`
        : 'in an unknown way';
  const why = outOfMemory === true ? ', out of memory' : '';
  // An uncaught error is printed amid its surroundings; the line that begins with its name says what it was.
  const said = typeof stderr === 'string' ? /^(?:Uncaught )?\w*Error\b.*$/m.exec(stderr)?.[0] : undefined;
  return `the worker ended ${how}${why} while the handler ran${said ? `: ${said.slice(0, 500)}` : ''}`;
}

function factsOf(error: unknown): { readonly code: string; readonly message: string } {
  const code = typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : '';
  return { code, message: error instanceof Error ? error.message : String(error) };
}

function lastLine(text: string): string {
  return (text.trim().split('\n').at(-1) ?? '').slice(0, 500);
}
