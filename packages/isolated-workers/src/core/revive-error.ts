import { SerializationError, UnknownMessageError } from '../types/errors.js';
import { fromErrorData } from './wire/error-data.js';

/** Recreates an error of the worker. Errors of this library keep their class. */
export function reviveError(data: unknown): Error {
  const error = fromErrorData(data);
  if (error.name === 'SerializationError') return new SerializationError(error.message, { cause: error });
  if (error.name === 'UnknownMessageError') return new UnknownMessageError(error.message, { cause: error });
  return error;
}
