// Generated from proto/ by src/generator/main.ts (npm run generate -w @drover/function-rpc). Do not edit.

import { nullRecord, readStringEntry, writeStringMap } from '../codec/map-entries.js';
import type { ProtoReader } from '../codec/reader.js';
import type { ProtoWriter } from '../codec/writer.js';
import type { FunctionEnvironmentReloadResponseCapabilitiesUpdateStrategy } from './enums.js';
import {
  type WorkerMetadata,
  type WorkerMetadataInit,
  readWorkerMetadata,
  writeWorkerMetadata,
} from './worker-metadata.js';
import { type StatusResult, type StatusResultInit, readStatusResult, writeStatusResult } from './status-result.js';

/** Worker to host: version and capabilities after the specialization. */
export interface FunctionEnvironmentReloadResponse {
  readonly workerMetadata?: WorkerMetadata | undefined;
  readonly capabilities: Readonly<Record<string, string>>;
  readonly result?: StatusResult | undefined;
  readonly capabilitiesUpdateStrategy: FunctionEnvironmentReloadResponseCapabilitiesUpdateStrategy;
}

/** FunctionEnvironmentReloadResponse for writing. Omitted fields have their defaults. */
export interface FunctionEnvironmentReloadResponseInit {
  readonly workerMetadata?: WorkerMetadataInit | null | undefined;
  readonly capabilities?: Readonly<Record<string, string>> | null | undefined;
  readonly result?: StatusResultInit | null | undefined;
  readonly capabilitiesUpdateStrategy?: FunctionEnvironmentReloadResponseCapabilitiesUpdateStrategy | null | undefined;
}

/** Writes the fields of a FunctionEnvironmentReloadResponse. */
export function writeFunctionEnvironmentReloadResponse(
  writer: ProtoWriter,
  message: FunctionEnvironmentReloadResponseInit,
): void {
  if (message.workerMetadata != null) {
    const start = writer.open(10, 35);
    writeWorkerMetadata(writer, message.workerMetadata);
    writer.close(start, 35);
  }
  if (message.capabilities != null) {
    writeStringMap(writer, 18, message.capabilities, 36);
  }
  if (message.result != null) {
    const start = writer.open(26, 37);
    writeStatusResult(writer, message.result);
    writer.close(start, 37);
  }
  if (message.capabilitiesUpdateStrategy) writer.int32(32, message.capabilitiesUpdateStrategy);
}

const functionEnvironmentReloadResponseFields: readonly number[] = [1, 2, 3, 4];

/** Reads a FunctionEnvironmentReloadResponse that ends at `end`. */
export function readFunctionEnvironmentReloadResponse(
  reader: ProtoReader,
  end: number,
): FunctionEnvironmentReloadResponse {
  let workerMetadata: WorkerMetadata | undefined;
  const capabilities = new nullRecord<string>();
  let result: StatusResult | undefined;
  let capabilitiesUpdateStrategy = 0;
  while (reader.position < end) {
    const tag = reader.tag();
    switch (tag) {
      case 10:
        workerMetadata = readWorkerMetadata(reader, reader.nested(end));
        break;
      case 18:
        readStringEntry(reader, reader.nested(end), capabilities);
        break;
      case 26:
        result = readStatusResult(reader, reader.nested(end));
        break;
      case 32:
        capabilitiesUpdateStrategy = reader.int32();
        break;
      default:
        reader.skip(tag, end, functionEnvironmentReloadResponseFields);
    }
  }
  reader.leave(end);
  return {
    workerMetadata,
    capabilities,
    result,
    capabilitiesUpdateStrategy,
  };
}
