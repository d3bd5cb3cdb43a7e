import { inspect } from 'node:util';
import { StatusResultStatus, type RpcExceptionInit, type StatusResultInit } from '@drover/function-rpc';
import { isSystemError } from '../loading/system-errors.js';
import { withoutWorkerFrames } from './user-stack.js';

/** How many causes are included. */
const deepestCause = 5;

export const success: StatusResultInit = { status: StatusResultStatus.Success };

/** Returns the failed result for a thrown value. */
export function failure(thrown: unknown): StatusResultInit {
  return { status: StatusResultStatus.Failure, exception: toRpcException(thrown) };
}

/** Converts a thrown value for the host. Does not throw, even if getters of the value do. */
function toRpcException(thrown: unknown): RpcExceptionInit {
  try {
    const error = toError(thrown);
    return {
      message: textOf(error.message),
      stackTrace: stackOf(error, 0),
      type: textOf(error.name),
      isUserException: !isSystemError(error),
    };
  } catch {
    return { message: 'The function threw a value that cannot be described.', isUserException: true };
  }
}

/** Returns the thrown value if it is an error, also one of another realm, otherwise an error that describes it. */
export function toError(thrown: unknown): Error {
  if (thrown instanceof Error || isErrorLike(thrown)) return thrown;
  if (thrown === undefined || thrown === null) return new Error(`Unknown error: ${String(thrown)} was thrown`);
  return new Error(describe(thrown));
}

/** Recognizes errors of another realm, such as `node:vm` contexts, which are not instances of Error here. */
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

/** Converts to text: apps may set message and name to any value. */
function textOf(value: unknown): string {
  return typeof value === 'string' ? value : inspect(value, { depth: 0 });
}

function stackOf(error: Error, depth: number): string {
  const whole = typeof error.stack === 'string' ? error.stack : `${error.name}: ${error.message}`;
  const stack = isSystemError(error) ? whole : withoutWorkerFrames(whole);
  if (depth === deepestCause || !(error.cause instanceof Error)) return stack;
  return `${stack}\n[cause]: ${stackOf(error.cause, depth + 1)}`;
}
