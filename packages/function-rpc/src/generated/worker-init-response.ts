// Generated from proto/ by src/generator/main.ts (npm run generate -w @drover/function-rpc). Do not edit.

import { nullRecord, readStringEntry, writeStringMap } from '../codec/map-entries.js';
import type { ProtoReader } from '../codec/reader.js';
import type { ProtoWriter } from '../codec/writer.js';
import {
  type WorkerMetadata,
  type WorkerMetadataInit,
  readWorkerMetadata,
  writeWorkerMetadata,
} from './worker-metadata.js';
import { type StatusResult, type StatusResultInit, readStatusResult, writeStatusResult } from './status-result.js';

/** Worker to host: version and capabilities of the worker. */
export interface WorkerInitResponse {
  readonly workerVersion: string;
  readonly capabilities: Readonly<Record<string, string>>;
  readonly result?: StatusResult | undefined;
  readonly workerMetadata?: WorkerMetadata | undefined;
}

/** WorkerInitResponse for writing. Omitted fields have their defaults. */
export interface WorkerInitResponseInit {
  readonly workerVersion?: string | null | undefined;
  readonly capabilities?: Readonly<Record<string, string>> | null | undefined;
  readonly result?: StatusResultInit | null | undefined;
  readonly workerMetadata?: WorkerMetadataInit | null | undefined;
}

/** Writes the fields of a WorkerInitResponse. */
export function writeWorkerInitResponse(writer: ProtoWriter, message: WorkerInitResponseInit): void {
  if (message.workerVersion) writer.string(10, message.workerVersion);
  if (message.capabilities != null) {
    writeStringMap(writer, 18, message.capabilities, 27);
  }
  if (message.result != null) {
    const start = writer.open(26, 28);
    writeStatusResult(writer, message.result);
    writer.close(start, 28);
  }
  if (message.workerMetadata != null) {
    const start = writer.open(34, 29);
    writeWorkerMetadata(writer, message.workerMetadata);
    writer.close(start, 29);
  }
}

const workerInitResponseFields: readonly number[] = [1, 2, 3, 4];

/** Reads a WorkerInitResponse that ends at `end`. */
export function readWorkerInitResponse(reader: ProtoReader, end: number): WorkerInitResponse {
  let workerVersion = '';
  const capabilities = new nullRecord<string>();
  let result: StatusResult | undefined;
  let workerMetadata: WorkerMetadata | undefined;
  while (reader.position < end) {
    const tag = reader.tag();
    switch (tag) {
      case 10:
        workerVersion = reader.string(end);
        break;
      case 18:
        readStringEntry(reader, reader.nested(end), capabilities);
        break;
      case 26:
        result = readStatusResult(reader, reader.nested(end));
        break;
      case 34:
        workerMetadata = readWorkerMetadata(reader, reader.nested(end));
        break;
      default:
        reader.skip(tag, end, workerInitResponseFields);
    }
  }
  reader.leave(end);
  return {
    workerVersion,
    capabilities,
    result,
    workerMetadata,
  };
}
