// Generated from proto/ by src/generator/main.ts (npm run generate -w @drover/function-rpc). Do not edit.

import { nullRecord, readStringEntry, writeStringMap } from '../codec/map-entries.js';
import type { ProtoReader } from '../codec/reader.js';
import type { ProtoWriter } from '../codec/writer.js';

/** Language and versions of a worker. */
export interface WorkerMetadata {
  readonly runtimeName: string;
  readonly runtimeVersion: string;
  readonly workerVersion: string;
  readonly workerBitness: string;
  readonly customProperties: Readonly<Record<string, string>>;
}

/** WorkerMetadata for writing. Omitted fields have their defaults. */
export interface WorkerMetadataInit {
  readonly runtimeName?: string | null | undefined;
  readonly runtimeVersion?: string | null | undefined;
  readonly workerVersion?: string | null | undefined;
  readonly workerBitness?: string | null | undefined;
  readonly customProperties?: Readonly<Record<string, string>> | null | undefined;
}

/** Writes the fields of a WorkerMetadata. */
export function writeWorkerMetadata(writer: ProtoWriter, message: WorkerMetadataInit): void {
  if (message.runtimeName) writer.string(10, message.runtimeName);
  if (message.runtimeVersion) writer.string(18, message.runtimeVersion);
  if (message.workerVersion) writer.string(26, message.workerVersion);
  if (message.workerBitness) writer.string(34, message.workerBitness);
  if (message.customProperties != null) {
    writeStringMap(writer, 42, message.customProperties, 30);
  }
}

const workerMetadataFields: readonly number[] = [1, 2, 3, 4, 5];

/** Reads a WorkerMetadata that ends at `end`. */
export function readWorkerMetadata(reader: ProtoReader, end: number): WorkerMetadata {
  let runtimeName = '';
  let runtimeVersion = '';
  let workerVersion = '';
  let workerBitness = '';
  const customProperties = new nullRecord<string>();
  while (reader.position < end) {
    const tag = reader.tag();
    switch (tag) {
      case 10:
        runtimeName = reader.string(end);
        break;
      case 18:
        runtimeVersion = reader.string(end);
        break;
      case 26:
        workerVersion = reader.string(end);
        break;
      case 34:
        workerBitness = reader.string(end);
        break;
      case 42:
        readStringEntry(reader, reader.nested(end), customProperties);
        break;
      default:
        reader.skip(tag, end, workerMetadataFields);
    }
  }
  reader.leave(end);
  return {
    runtimeName,
    runtimeVersion,
    workerVersion,
    workerBitness,
    customProperties,
  };
}
