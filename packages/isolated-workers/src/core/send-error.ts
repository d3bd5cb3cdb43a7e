import { SerializationError } from '../types/errors.js';
import { toErrorData, type ErrorData } from './wire/error-data.js';

/** Sends a thrown value to the other side. If it cannot be serialized, sends an error that says so. */
export function sendError(thrown: unknown, send: (data: ErrorData) => void): void {
  try {
    send(toErrorData(thrown));
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    send(toErrorData(new SerializationError(`An error could not be sent: ${why}`)));
  }
}
