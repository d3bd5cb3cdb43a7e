import { SerializationError, UnknownMessageError } from '../../types/errors.js';

/** An error as plain data, with what structured clone loses: names, codes, own properties. */
export interface ErrorData {
  readonly name: string;
  readonly message: string;
  readonly stack?: string;
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly cause?: unknown;
  readonly errors?: readonly unknown[];
  /** The thrown value, when it was not an Error. */
  readonly thrown?: unknown;
}

const maxDepth = 8;
const ownNames = new Set(['name', 'message', 'stack', 'cause', 'errors']);

/**
 * Converts any thrown value to data. Whatever a property, a getter or a proxy does, it never throws: an error must reach its
 * caller, and an exception here would end the worker. `sendable` returns what is sent for a value that is not an Error.
 */
function toErrorData(thrown: unknown, sendable: (value: unknown) => unknown, depth = 0): ErrorData {
  if (!isError(thrown)) {
    const message = `A value that is not an Error was thrown: ${printable(thrown)}`;
    return { name: 'Error', message, stack: `Error: ${message}`, thrown: sendable(thrown) };
  }
  const nested = (value: unknown): unknown =>
    isError(value) && depth < maxDepth ? { $error: toErrorData(value, sendable, depth + 1) } : sendable(value);
  const names = attempt(() => Object.keys(thrown), []).filter((name) => !ownNames.has(name));
  const properties = Object.fromEntries(names.map((name) => [name, nested(read(thrown, name))]));
  const stack = read(thrown, 'stack');
  const errors = attempt(() => thrown instanceof AggregateError && [...(thrown.errors as unknown[])], false);
  return {
    name: textOf(read(thrown, 'name')),
    message: textOf(read(thrown, 'message')),
    ...(typeof stack === 'string' && { stack }),
    ...(names.length > 0 && { properties }),
    ...(attempt(() => 'cause' in thrown, false) && { cause: nested(read(thrown, 'cause')) }),
    ...(errors && { errors: errors.map(nested) }),
  };
}

/** The classes that errors keep, by name. */
const builtIn: Readonly<Record<string, new (message?: string) => Error>> = {
  TypeError,
  RangeError,
  SyntaxError,
  ReferenceError,
  EvalError,
  URIError,
};

/** Errors of this library, by code. The name must be right as well: one of them may belong to an error of the user. */
const ownErrors: Readonly<Record<string, { readonly name: string; readonly make: new (message?: string) => Error }>> = {
  ERR_SERIALIZATION: { name: 'SerializationError', make: SerializationError },
  ERR_UNKNOWN_MESSAGE: { name: 'UnknownMessageError', make: UnknownMessageError },
};

/**
 * Recreates an Error with the same name, stack, cause and properties. Errors of built-in classes, and those of this library
 * that cross the wire, keep their class.
 */
export function fromErrorData(data: unknown): Error {
  if (!isErrorData(data)) return new Error(`An error could not be read: ${printable(data)}`);
  const make = classOf(data);
  const error = data.errors ? new AggregateError(data.errors.map(revive), data.message) : new make(data.message);
  const define = (name: string, value: unknown): void =>
    void Object.defineProperty(error, name, { value, writable: true, configurable: true, enumerable: false });
  if (error.name !== data.name) define('name', data.name);
  if (data.stack !== undefined) define('stack', data.stack);
  if ('cause' in data) define('cause', revive(data.cause));
  for (const [name, value] of Object.entries(data.properties ?? {})) {
    if (name !== '__proto__')
      Object.defineProperty(error, name, {
        value: revive(value),
        writable: true,
        configurable: true,
        enumerable: true,
      });
  }
  if ('thrown' in data) define('thrown', data.thrown);
  return error;
}

function classOf({ name, properties }: ErrorData): new (message?: string) => Error {
  const code = properties?.['code'];
  const own = typeof code === 'string' && Object.hasOwn(ownErrors, code) ? ownErrors[code] : undefined;
  if (own?.name === name) return own.make;
  return (Object.hasOwn(builtIn, name) ? builtIn[name] : undefined) ?? Error;
}

function revive(value: unknown): unknown {
  const inner = typeof value === 'object' && value !== null && '$error' in value ? value.$error : undefined;
  return isErrorData(inner) ? fromErrorData(inner) : value;
}

function isErrorData(value: unknown): value is ErrorData {
  return typeof value === 'object' && value !== null && 'name' in value && 'message' in value;
}

/** Sends a thrown value to the other side: as it is, else with texts instead of what cannot be sent, else an error that says so. */
export function sendError(thrown: unknown, send: (data: ErrorData) => void): void {
  try {
    return send(toErrorData(thrown, cloneable));
  } catch {
    // A value of it is too large, or only the serializer of the user knows that it cannot be written.
  }
  try {
    send(toErrorData(thrown, plain));
  } catch (error) {
    send(toErrorData(new SerializationError(`An error could not be sent: ${thrownMessage(error)}`), plain));
  }
}

/** Returns the thrown value if it is an Error, otherwise an Error that shows it. */
export function asError(thrown: unknown): Error {
  return isError(thrown) ? thrown : fromErrorData(toErrorData(thrown, cloneable));
}

/** Wraps the error of a serializer for a value that it refuses. */
export function unsendable(error: unknown, what = 'The value'): SerializationError {
  return new SerializationError(`${what} cannot be sent: ${thrownMessage(error)}`, { cause: error });
}

/** Returns the message of a thrown value. Never throws. */
export function thrownMessage(thrown: unknown): string {
  return isError(thrown) ? textOf(read(thrown, 'message')) : printable(thrown);
}

/** Replaces a value that cannot be cloned by its text. */
function cloneable(value: unknown): unknown {
  try {
    structuredClone(value);
    return value;
  } catch {
    return printable(value);
  }
}

/** Replaces everything that is not a short and simple value by its text. */
function plain(value: unknown): unknown {
  return value === null || typeof value === 'boolean' || Number.isFinite(value)
    ? value
    : printable(value).slice(0, 500);
}

function isError(value: unknown): value is Error {
  return attempt(() => value instanceof Error, false);
}

function read(holder: object, name: string): unknown {
  return attempt(() => (holder as Record<string, unknown>)[name], unreadable);
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : printable(value);
}

function printable(value: unknown): string {
  if (typeof value === 'string') return value;
  const json = attempt(() => JSON.stringify(value) as string | undefined, undefined);
  return (
    json ??
    attempt(
      () => String(value),
      attempt(() => Object.prototype.toString.call(value), unreadable),
    )
  );
}

/** Shown for a value whose getter or proxy throws. */
const unreadable = 'a value that cannot be read';

function attempt<T>(action: () => T, otherwise: T): T {
  try {
    return action();
  } catch {
    return otherwise;
  }
}
