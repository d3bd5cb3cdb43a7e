import { hasCode, isCodedError } from '@drover/contracts';
import pg from 'pg';
import {
  databaseAccessDenied,
  databaseFull,
  databaseMissing,
  databaseTimeout,
  databaseUnavailable,
} from '../errors.js';

/** Translates connection failures of driver and server into coded errors; returns errors of the statement itself unchanged. */
export function translateError(error: unknown, server: string): unknown {
  if (isCodedError(error) || !(error instanceof Error)) return error;
  const reason = error.message || codeOf(error) || error.name;
  if (!(error instanceof pg.DatabaseError)) {
    return isConnectionFailure(error) ? databaseUnavailable({ server, reason }, error) : error;
  }
  const state = error.code ?? '';
  if (state.startsWith('28') || state === '42501') return databaseAccessDenied({ server, reason }, error);
  if (state === '3D000') return databaseMissing({ server, reason }, error);
  if (state === '53100') return databaseFull({ server, reason }, error);
  if (state === '57014' || state === '55P03') return databaseTimeout({ server, reason }, error);
  if (unavailableStates.test(state)) return databaseUnavailable({ server, reason }, error);
  return error;
}

/** Connection lost, too many connections, shutting down, starting up, read-only, or not accepting connections. */
const unavailableStates = /^(08|53|57)|^(25006|55000)$/;

export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

/** True for a conflict with another transaction, after which the same transaction should run again. */
export function isConflict(error: unknown): boolean {
  const state = codeOf(error);
  return state === '40001' || state === '40P01';
}

export function isUniqueViolation(error: unknown, constraint?: string): boolean {
  return (
    error instanceof pg.DatabaseError &&
    error.code === '23505' &&
    (constraint === undefined || error.constraint === constraint)
  );
}

/** Whether a healthy server refused the statement because of its text or its values. Nothing was written; other rows may be fine. */
export function isRefusedByServer(error: unknown): boolean {
  return error instanceof pg.DatabaseError && /^(22|23|42|54|P0)/.test(error.code ?? '');
}

/**
 * Whether no connection of the pool became free in time: the server may be well. The pool's error has no code; its text differs from
 * that of a server which does not answer.
 */
export function isPoolExhausted(error: unknown): boolean {
  if (!hasCode(error, databaseUnavailable.code) || !(error instanceof Error)) return false;
  return error.cause instanceof Error && error.cause.message === 'timeout exceeded when trying to connect';
}

const systemCodes = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ENOENT',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EACCES',
  'EAGAIN', // a Unix socket of a server that accepts no connections, and has a full backlog
]);

/** The driver has no codes: broken and timed-out connections are recognized by their messages. */
const driverMessages =
  /connection terminated|timeout (exceeded|expired)|connection error|not queryable|query read timeout|connection is closed|client was closed|after calling end/i;

function isConnectionFailure(error: Error): boolean {
  const code = codeOf(error);
  if (code !== undefined && systemCodes.has(code)) return true;
  if (error instanceof AggregateError)
    return error.errors.some((inner) => inner instanceof Error && isConnectionFailure(inner));
  return driverMessages.test(error.message);
}
