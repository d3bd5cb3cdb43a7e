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

/** Converts any thrown value to data. */
function toErrorData(thrown: unknown, depth = 0): ErrorData {
  if (!(thrown instanceof Error)) {
    return {
      name: 'Error',
      message: `A value that is not an Error was thrown: ${printable(thrown)}`,
      thrown: cloneable(thrown),
    };
  }
  const nested = (value: unknown): unknown =>
    value instanceof Error && depth < maxDepth ? { $error: toErrorData(value, depth + 1) } : cloneable(value);
  const properties = Object.fromEntries(
    Object.entries(thrown).flatMap(([name, value]) => (ownNames.has(name) ? [] : [[name, nested(value)]])),
  );
  return {
    name: thrown.name,
    message: thrown.message,
    ...(thrown.stack !== undefined && { stack: thrown.stack }),
    ...(Object.keys(properties).length > 0 && { properties }),
    ...('cause' in thrown && { cause: nested(thrown.cause) }),
    ...(thrown instanceof AggregateError && { errors: thrown.errors.map(nested) }),
  };
}

const builtIn: Readonly<Record<string, new (message?: string) => Error>> = {
  TypeError,
  RangeError,
  SyntaxError,
  ReferenceError,
  EvalError,
  URIError,
};

/** Recreates an Error: of the same built-in class, if it had one, with the same name, stack and properties. */
export function fromErrorData(data: unknown): Error {
  if (!isErrorData(data)) return new Error(`An error could not be read: ${printable(data)}`);
  const make = Object.hasOwn(builtIn, data.name) ? builtIn[data.name] : undefined;
  const error = data.errors
    ? new AggregateError(data.errors.map(revive), data.message)
    : make
      ? new make(data.message)
      : new Error(data.message);
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

function revive(value: unknown): unknown {
  const inner = typeof value === 'object' && value !== null && '$error' in value ? value.$error : undefined;
  return isErrorData(inner) ? fromErrorData(inner) : value;
}

function isErrorData(value: unknown): value is ErrorData {
  return typeof value === 'object' && value !== null && 'name' in value && 'message' in value;
}

/** Replaces a value that cannot be cloned by its text: a property must not prevent an error from being sent. */
function cloneable(value: unknown): unknown {
  try {
    structuredClone(value);
    return value;
  } catch {
    return printable(value);
  }
}

function printable(value: unknown): string {
  try {
    return typeof value === 'string' ? value : (JSON.stringify(value) ?? String(value));
  } catch {
    return Object.prototype.toString.call(value);
  }
}

/** Recreates an error of the worker. Errors of this library keep their class. */
export function reviveError(data: unknown): Error {
  const error = fromErrorData(data);
  if (error.name === 'SerializationError') return new SerializationError(error.message, { cause: error });
  if (error.name === 'UnknownMessageError') return new UnknownMessageError(error.message, { cause: error });
  return error;
}

/** Sends a thrown value to the other side. If it cannot be serialized, sends an error that says so. */
export function sendError(thrown: unknown, send: (data: ErrorData) => void): void {
  try {
    send(toErrorData(thrown));
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    send(toErrorData(new SerializationError(`An error could not be sent: ${why}`)));
  }
}
