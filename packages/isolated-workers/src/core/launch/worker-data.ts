import { serialize } from 'node:v8';
import { SerializationError } from '../../types/errors.js';
import { isPlainText } from '../wire/plain-value.js';

/** Far below the 128 KiB that a variable may have, also when each character takes three bytes. */
const maxInline = 8_192;

/** What a process is told about its `workerData`: itself, or how many bytes of it stand behind the journal. */
export interface PackedWorkerData {
  readonly told: { readonly workerData?: unknown; readonly workerDataBytes?: number };
  readonly stored: Buffer | undefined;
}

/** Small plain data goes along in the environment; all else is cloned and stored. Throws `SerializationError`. */
export function packWorkerData(workerData: unknown): PackedWorkerData {
  if (workerData === undefined) return { told: {}, stored: undefined };
  try {
    if (isPlainText(workerData) && JSON.stringify(workerData).length <= maxInline)
      return { told: { workerData }, stored: undefined };
    const stored = serialize(workerData);
    return { told: { workerDataBytes: stored.length }, stored };
  } catch (error) {
    throw unsendableData(error);
  }
}

/** For whatever a driver threw at data that cannot be cloned. */
export function unsendableData(error: unknown): SerializationError {
  const why = error instanceof Error ? error.message : String(error);
  return new SerializationError(`workerData cannot be sent: ${why}`, { cause: error });
}
