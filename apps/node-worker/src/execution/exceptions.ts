import { inspect } from 'node:util';
import { StatusResultStatus, type RpcExceptionInit, type StatusResultInit } from '@drover/function-rpc';
import { isSystemError } from '../loading/system-errors.js';

/** How deep causes are followed. */
const deepestCause = 5;

export const success: StatusResultInit = { status: StatusResultStatus.Success };

/** The result of something that threw. */
export function failure(thrown: unknown): StatusResultInit {
  return { status: StatusResultStatus.Failure, exception: toRpcException(thrown) };
}

/** Whatever was thrown, as the host wants it. Does not throw, whatever traps the thing has. */
export function toRpcException(thrown: unknown): RpcExceptionInit {
  try {
    const error = toError(thrown);
    return {
      message: textOf(error.message),
      stackTrace: stackOf(error, 0),
      type: textOf(error.name),
      isUserException: !isSystemError(error),
    };
  } catch {
    return { message: 'The function threw something that cannot be described.', isUserException: true };
  }
}

/** The thing itself if it is an error, also one of another realm; otherwise an error that tells of it. */
export function toError(thrown: unknown): Error {
  if (thrown instanceof Error || isErrorLike(thrown)) return thrown;
  if (thrown === undefined || thrown === null) return new Error(`Unknown error: ${String(thrown)} was thrown`);
  return new Error(describe(thrown));
}

/** What tests and tools run in a context of their own has errors that are no instances of ours. */
function isErrorLike(thrown: unknown): thrown is Error {
  return (
    typeof thrown === 'object' &&
    thrown !== null &&
    'message' in thrown &&
    typeof thrown.message === 'string' &&
    'stack' in thrown &&
    typeof thrown.stack === 'string'
  );
}

function describe(thrown: unknown): string {
  if (typeof thrown !== 'object') return textOf(thrown);
  try {
    return JSON.stringify(thrown);
  } catch {
    return inspect(thrown, { depth: 2 });
  }
}

/** Apps are free to set anything where a text should be. */
function textOf(value: unknown): string {
  return typeof value === 'string' ? value : inspect(value, { depth: 0 });
}

function stackOf(error: Error, depth: number): string {
  const stack = typeof error.stack === 'string' ? error.stack : `${error.name}: ${error.message}`;
  if (depth === deepestCause || !(error.cause instanceof Error)) return stack;
  return `${stack}\n[cause]: ${stackOf(error.cause, depth + 1)}`;
}
