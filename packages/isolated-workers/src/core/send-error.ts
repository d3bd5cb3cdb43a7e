import { SerializationError } from '../types/errors.js';
import { toErrorData, type ErrorData } from './wire/error-data.js';

/** Tells the other side about a failure, whatever was thrown: when it cannot be told as it is, that it happened is told. */
export function sendError(thrown: unknown, send: (data: ErrorData) => void): void {
  try {
    send(toErrorData(thrown));
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    send(toErrorData(new SerializationError(`there was an error that cannot be sent: ${why}`)));
  }
}
