// Generated from proto/ by src/generator/main.ts (npm run generate -w @drover/function-rpc). Do not edit.

import { nullRecord, readStringEntry, writeStringMap } from '../codec/map-entries.js';
import type { ProtoReader } from '../codec/reader.js';
import type { ProtoWriter } from '../codec/writer.js';

/** Host to a placeholder: specialize for this application, with exactly these variables. */
export interface FunctionEnvironmentReloadRequest {
  readonly environmentVariables: Readonly<Record<string, string>>;
  readonly functionAppDirectory: string;
}

/** FunctionEnvironmentReloadRequest for writing. Omitted fields have their defaults. */
export interface FunctionEnvironmentReloadRequestInit {
  readonly environmentVariables?: Readonly<Record<string, string>> | null | undefined;
  readonly functionAppDirectory?: string | null | undefined;
}

/** Writes the fields of a FunctionEnvironmentReloadRequest. */
export function writeFunctionEnvironmentReloadRequest(
  writer: ProtoWriter,
  message: FunctionEnvironmentReloadRequestInit,
): void {
  if (message.environmentVariables != null) {
    writeStringMap(writer, 10, message.environmentVariables, 34);
  }
  if (message.functionAppDirectory) writer.string(18, message.functionAppDirectory);
}

const functionEnvironmentReloadRequestFields: readonly number[] = [1, 2];

/** Reads a FunctionEnvironmentReloadRequest that ends at `end`. */
export function readFunctionEnvironmentReloadRequest(
  reader: ProtoReader,
  end: number,
): FunctionEnvironmentReloadRequest {
  const environmentVariables = new nullRecord<string>();
  let functionAppDirectory = '';
  while (reader.position < end) {
    const tag = reader.tag();
    switch (tag) {
      case 10:
        readStringEntry(reader, reader.nested(end), environmentVariables);
        break;
      case 18:
        functionAppDirectory = reader.string(end);
        break;
      default:
        reader.skip(tag, end, functionEnvironmentReloadRequestFields);
    }
  }
  reader.leave(end);
  return {
    environmentVariables,
    functionAppDirectory,
  };
}
