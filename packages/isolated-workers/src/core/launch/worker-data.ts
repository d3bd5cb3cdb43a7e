import type { SerializationError } from '../../types/errors.js';
import { unsendable } from '../wire/error-data.js';
import { isPlainText } from '../wire/plain-value.js';

/** Well below the 128 KiB limit of a variable, even with three bytes per character. */
const maxInline = 8_192;

/** `workerData` for a process: inline in its launch parameters, or written to a pipe of its own. */
export interface PackedWorkerData {
  readonly parameters: { readonly workerData?: unknown; readonly workerDataBytes?: number };
  readonly piped: Buffer | undefined;
}

/** Packs small plain data inline and serializes all other data. Throws `SerializationError`. */
export function packWorkerData(workerData: unknown): PackedWorkerData {
  if (workerData === undefined) return { parameters: {}, piped: undefined };
  try {
    if (isPlainText(workerData) && JSON.stringify(workerData).length <= maxInline)
      return { parameters: { workerData }, piped: undefined };
    const piped = process.getBuiltinModule('node:v8').serialize(workerData);
    return { parameters: { workerDataBytes: piped.length }, piped };
  } catch (error) {
    throw unsendableData(error);
  }
}

/** Wraps the error of a driver for `workerData` that cannot be cloned. */
export function unsendableData(error: unknown): SerializationError {
  return unsendable(error, 'workerData');
}
