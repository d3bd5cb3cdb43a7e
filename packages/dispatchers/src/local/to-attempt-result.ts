import { WorkerCrashedError } from '@drover/isolated-workers';
import type { AttemptResult } from '../dispatcher.js';
import type { RunReply } from './local-messages.js';

type Failed = Extract<AttemptResult, { readonly kind: 'failed' }>;

/** Suggested pause when a function has no worker at the moment. */
const retryAfterMs = 1_000;

/** Converts the reply of a worker. */
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

/** The handler cannot be loaded; a retry does not help until the module is corrected. */
function localBroken(message: string): Failed {
  return { kind: 'failed', code: 'LOCAL_UNAVAILABLE', message, transient: false };
}

/** There is no worker at the moment: the handler has not seen the call. */
export function localUnavailable(message: string): Failed {
  return { kind: 'failed', code: 'LOCAL_UNAVAILABLE', message, transient: true, retryAfterMs, wasTurnedAway: true };
}

export function localBusy(message: string): Failed {
  return { kind: 'failed', code: 'LOCAL_BUSY', message, transient: true, retryAfterMs, wasTurnedAway: true };
}

/** The result of an attempt that was abandoned; the engine ignores it. */
export const localAbandoned: AttemptResult = {
  kind: 'timeout',
  code: 'LOCAL_ABANDONED',
  message: 'the attempt was abandoned before the handler answered',
};

/** Converts an error of the pool. */
export function fromWorkerError(error: unknown): Failed {
  if (error instanceof WorkerCrashedError)
    return { kind: 'failed', code: 'LOCAL_WORKER_CRASHED', message: crashSentence(error), transient: true };
  const code = typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : '';
  const message = error instanceof Error ? error.message : String(error);
  switch (code) {
    case 'ERR_BACKPRESSURE':
      return localBusy('too many calls wait for a worker of the function');
    case 'ERR_SERIALIZATION':
      return {
        kind: 'failed',
        code: 'EXECUTION_FAILED',
        message: `the call cannot be sent to the worker: ${message}`,
        transient: false,
      };
    case 'LOCAL_UNAVAILABLE':
      return localBroken(message);
    case 'ERR_WORKER_CLOSED':
      return {
        ...localUnavailable('the worker of the function was stopped before it answered'),
        wasTurnedAway: false, // the handler may have run
      };
    default:
      return localUnavailable(`no worker of the function can be started: ${firstLine(message)}`);
  }
}

function crashSentence({ signal, exitCode, outOfMemory, cause, endedByHost }: WorkerCrashedError): string {
  if (endedByHost) return 'the worker of the handler was ended because another call blocked its event loop';
  const how =
    signal !== null ? `by ${signal}` : exitCode === null ? 'for an unknown reason' : `with exit code ${exitCode}`;
  const why = outOfMemory ? ', out of memory' : '';
  const thrown = cause instanceof Error ? `: ${String(cause).slice(0, 500)}` : '';
  return `the worker ended ${how}${why} while the handler ran${thrown}`;
}

/** The stack of the error follows in the other lines. */
function firstLine(text: string): string {
  return (text.trim().split('\n')[0] ?? '').slice(0, 500);
}
