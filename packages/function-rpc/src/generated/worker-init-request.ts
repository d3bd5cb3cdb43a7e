// Generated from proto/ by src/generator/main.ts (npm run generate -w @drover/function-rpc). Do not edit.

import { nullRecord, readInt32Entry, readStringEntry, writeInt32Map, writeStringMap } from '../codec/map-entries.js';
import type { ProtoReader } from '../codec/reader.js';
import type { ProtoWriter } from '../codec/writer.js';
import type { RpcLogLevel } from './enums.js';

/** Host to worker: version and capabilities of the host. A worker without an application directory is a placeholder. */
export interface WorkerInitRequest {
  readonly hostVersion: string;
  readonly capabilities: Readonly<Record<string, string>>;
  readonly logCategories: Readonly<Record<string, RpcLogLevel>>;
  readonly workerDirectory: string;
  readonly functionAppDirectory: string;
}

/** WorkerInitRequest for writing. Omitted fields have their defaults. */
export interface WorkerInitRequestInit {
  readonly hostVersion?: string | null | undefined;
  readonly capabilities?: Readonly<Record<string, string>> | null | undefined;
  readonly logCategories?: Readonly<Record<string, RpcLogLevel>> | null | undefined;
  readonly workerDirectory?: string | null | undefined;
  readonly functionAppDirectory?: string | null | undefined;
}

/** Writes the fields of a WorkerInitRequest. */
export function writeWorkerInitRequest(writer: ProtoWriter, message: WorkerInitRequestInit): void {
  if (message.hostVersion) writer.string(10, message.hostVersion);
  if (message.capabilities != null) {
    writeStringMap(writer, 18, message.capabilities, 25);
  }
  if (message.logCategories != null) {
    writeInt32Map(writer, 26, message.logCategories, 26);
  }
  if (message.workerDirectory) writer.string(34, message.workerDirectory);
  if (message.functionAppDirectory) writer.string(42, message.functionAppDirectory);
}

const workerInitRequestFields: readonly number[] = [1, 2, 3, 4, 5];

/** Reads a WorkerInitRequest that ends at `end`. */
export function readWorkerInitRequest(reader: ProtoReader, end: number): WorkerInitRequest {
  let hostVersion = '';
  const capabilities = new nullRecord<string>();
  const logCategories = new nullRecord<RpcLogLevel>();
  let workerDirectory = '';
  let functionAppDirectory = '';
  while (reader.position < end) {
    const tag = reader.tag();
    switch (tag) {
      case 10:
        hostVersion = reader.string(end);
        break;
      case 18:
        readStringEntry(reader, reader.nested(end), capabilities);
        break;
      case 26:
        readInt32Entry(reader, reader.nested(end), logCategories);
        break;
      case 34:
        workerDirectory = reader.string(end);
        break;
      case 42:
        functionAppDirectory = reader.string(end);
        break;
      default:
        reader.skip(tag, end, workerInitRequestFields);
    }
  }
  reader.leave(end);
  return {
    hostVersion,
    capabilities,
    logCategories,
    workerDirectory,
    functionAppDirectory,
  };
}
