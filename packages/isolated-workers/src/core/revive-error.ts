import { SerializationError, UnknownMessageError } from '../types/errors.js';
import { fromErrorData } from './wire/error-data.js';

/** The worker's error; those of this library come back as what they were. */
export function reviveError(data: unknown): Error {
  const error = fromErrorData(data);
  if (error.name === 'SerializationError') return new SerializationError(error.message, { cause: error });
  if (error.name === 'UnknownMessageError') return new UnknownMessageError(error.message, { cause: error });
  return error;
}
