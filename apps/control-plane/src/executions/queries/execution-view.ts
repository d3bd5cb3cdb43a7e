import type { AcceptedCall, ExecutionState } from '@drover/contracts';
import type { FailedAttempt, FinishedExecution, UnfinishedExecution } from '@drover/execution-store';
import type { LiveExecution } from '../live-execution.js';
import type { RecentCall } from '../recent-calls.js';

/** An execution as JSON text, as the API returns it. Outputs are inserted as the text they are, without parsing. */
export type ExecutionText = string;

export function viewFinished({ accepted, outcome, evicted, redrivenAs }: FinishedExecution): ExecutionText {
  const { status, finishedAt, output, error, attempts, failures, statusCode, headers } = outcome;
  const { coldStart, initDurationMs, coldStartMs } = outcome;
  return write(accepted, {
    status,
    finishedAt,
    attempts,
    failures,
    error: error ?? null,
    output: output?.json ?? 'null',
    more: {
      coldStart,
      initDurationMs,
      coldStartMs,
      statusCode,
      headers,
      encoding: output?.encoding,
      deadLetter: outcome.deadLetter && redrivenAs === undefined ? true : undefined,
      redrivenAs,
      evicted: evicted || undefined,
    },
  });
}

export type LiveView = Pick<LiveExecution, 'accepted' | 'status' | 'attempts' | 'failures'>;

export function viewLive({ accepted, status, attempts, failures }: LiveView): ExecutionText {
  return write(accepted, { status, attempts, failures, error: null, output: 'null' });
}

export function viewUnfinished({ accepted, attempts, failures }: UnfinishedExecution): ExecutionText {
  return write(accepted, { status: 'queued', attempts, failures, error: null, output: 'null' });
}

export function viewRecent(call: RecentCall): ExecutionText {
  const { executionId, functionName, status, acceptedAt, finishedAt, attempts, error, coldStartMs, traceId } = call;
  return JSON.stringify({
    executionId,
    functionName,
    status,
    startedAt: instant(acceptedAt),
    finishedAt: instant(finishedAt),
    output: null,
    error: error ?? null,
    attempts,
    attemptLog: [],
    coldStartMs,
    traceId,
  });
}

interface Shown {
  readonly status: ExecutionState;
  readonly finishedAt?: number;
  readonly attempts: number;
  readonly failures: readonly FailedAttempt[];
  readonly error: object | null;
  /** JSON text. */
  readonly output: string;
  readonly more?: object;
}

function write(accepted: AcceptedCall, shown: Shown): ExecutionText {
  const { executionId, functionName, acceptedAt, runAt, idempotencyKey, concurrencyKey, traceId } = accepted;
  const { metadata, replayOf } = accepted;
  const text = JSON.stringify({
    executionId,
    functionName,
    status: shown.status,
    startedAt: instant(acceptedAt),
    ...(runAt !== undefined && { runAt: instant(runAt) }),
    finishedAt: shown.finishedAt === undefined ? null : instant(shown.finishedAt),
    error: shown.error,
    lastError: shown.failures.at(-1)?.error,
    attempts: shown.attempts,
    attemptLog: shown.failures.map(({ attempt, startedAt, finishedAt, error }) => ({
      attempt,
      startedAt: instant(startedAt),
      finishedAt: instant(finishedAt),
      error,
    })),
    idempotencyKey,
    concurrencyKey,
    traceId,
    metadata,
    replayOf,
    ...shown.more,
  });
  return `${text.slice(0, -1)},"output":${shown.output}}`;
}

function instant(ms: number): string {
  return new Date(ms).toISOString();
}
