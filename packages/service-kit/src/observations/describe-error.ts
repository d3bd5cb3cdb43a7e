import { isNativeError } from 'node:util/types';

/** Limits the chain of causes, which may be circular. */
const maxDepth = 6;

/** Returns an error as plain data for a log line: its own properties, its causes and the errors of an AggregateError. */
export function describeError(error: unknown, depth = 1): unknown {
  if (!isError(error)) return error;
  if (depth > maxDepth) return { type: error.name, message: error.message };
  const deeper = (inner: unknown): unknown => describeError(inner, depth + 1);
  const own = Object.entries(error).map(([name, value]) => [name, deeper(value)] as const);
  return {
    ...Object.fromEntries(own),
    type: error.name,
    message: error.message,
    stack: error.stack,
    ...(error.cause !== undefined && { cause: deeper(error.cause) }),
    ...(error instanceof AggregateError && { errors: error.errors.map(deeper) }),
  };
}

/** Returns the message of an error; for an AggregateError, the messages of all its errors. */
export function messageOf(error: unknown): string {
  if (!isError(error)) return String(error);
  if (!(error instanceof AggregateError) || error.errors.length === 0) return error.message;
  return `${error.message}: ${error.errors.map((inner) => messageOf(inner)).join('; ')}`;
}

export function isError(value: unknown): value is Error {
  return value instanceof Error || isNativeError(value);
}
