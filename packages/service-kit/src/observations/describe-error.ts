import { isNativeError } from 'node:util/types';

/** Causes may refer to each other in a circle; nobody reads deeper than this. */
const deepest = 6;

/** An error as plain data for one log line: its own properties, its causes and, for several in one, each of them. */
export function describeError(error: unknown, depth = 1): unknown {
  if (!isError(error)) return error;
  if (depth > deepest) return { type: error.name, message: error.message };
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

/** What an error says in one text; several in one are all named. */
export function messageOf(error: unknown): string {
  if (!isError(error)) return String(error);
  if (!(error instanceof AggregateError) || error.errors.length === 0) return error.message;
  return `${error.message}: ${error.errors.map((inner) => messageOf(inner)).join('; ')}`;
}

export function isError(value: unknown): value is Error {
  return value instanceof Error || isNativeError(value);
}
