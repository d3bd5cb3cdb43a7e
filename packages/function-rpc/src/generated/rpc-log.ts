// Generated from proto/ by src/generator/main.ts (npm run generate -w @drover/function-rpc). Do not edit.

import { nullRecord } from '../codec/map-entries.js';
import type { ProtoReader } from '../codec/reader.js';
import type { ProtoWriter } from '../codec/writer.js';
import type { RpcLogLevel, RpcLogCategory } from './enums.js';
import type { TypedData, TypedDataInit } from './typed-data.js';
import { readTypedDataEntry } from './typed-data-read.js';
import { writeTypedData } from './typed-data-write.js';
import { type RpcException, type RpcExceptionInit, readRpcException, writeRpcException } from './rpc-exception.js';

/** Worker to host: a log line. */
export interface RpcLog {
  readonly invocationId: string;
  readonly category: string;
  readonly level: RpcLogLevel;
  readonly message: string;
  readonly eventId: string;
  readonly exception?: RpcException | undefined;
  readonly properties: string;
  readonly logCategory: RpcLogCategory;
  readonly propertiesMap: Readonly<Record<string, TypedData>>;
}

/** RpcLog for writing. Omitted fields have their defaults. */
export interface RpcLogInit {
  readonly invocationId?: string | null | undefined;
  readonly category?: string | null | undefined;
  readonly level?: RpcLogLevel | null | undefined;
  readonly message?: string | null | undefined;
  readonly eventId?: string | null | undefined;
  readonly exception?: RpcExceptionInit | null | undefined;
  readonly properties?: string | null | undefined;
  readonly logCategory?: RpcLogCategory | null | undefined;
  readonly propertiesMap?: Readonly<Record<string, TypedDataInit>> | null | undefined;
}

/** Writes the fields of a RpcLog. */
export function writeRpcLog(writer: ProtoWriter, message: RpcLogInit): void {
  if (message.invocationId) writer.string(10, message.invocationId);
  if (message.category) writer.string(18, message.category);
  if (message.level) writer.int32(24, message.level);
  if (message.message) writer.string(34, message.message);
  if (message.eventId) writer.string(42, message.eventId);
  if (message.exception != null) {
    const start = writer.open(50, 72);
    writeRpcException(writer, message.exception);
    writer.close(start, 72);
  }
  if (message.properties) writer.string(58, message.properties);
  if (message.logCategory) writer.int32(64, message.logCategory);
  if (message.propertiesMap != null) {
    for (const key of Object.keys(message.propertiesMap)) {
      const item = message.propertiesMap[key];
      if (item == null) continue;
      const start = writer.open(74, 73);
      writer.string(10, key);
      const inner = writer.open(18, 73);
      writeTypedData(writer, item);
      writer.close(inner, 73);
      writer.close(start, 73);
    }
  }
}

const rpcLogFields: readonly number[] = [1, 2, 3, 4, 5, 6, 7, 8, 9];

/** Reads a RpcLog that ends at `end`. */
export function readRpcLog(reader: ProtoReader, end: number): RpcLog {
  let invocationId = '';
  let category = '';
  let level = 0;
  let message = '';
  let eventId = '';
  let exception: RpcException | undefined;
  let properties = '';
  let logCategory = 0;
  const propertiesMap = new nullRecord<TypedData>();
  while (reader.position < end) {
    const tag = reader.tag();
    switch (tag) {
      case 10:
        invocationId = reader.string(end);
        break;
      case 18:
        category = reader.string(end);
        break;
      case 24:
        level = reader.int32();
        break;
      case 34:
        message = reader.string(end);
        break;
      case 42:
        eventId = reader.string(end);
        break;
      case 50:
        exception = readRpcException(reader, reader.nested(end));
        break;
      case 58:
        properties = reader.string(end);
        break;
      case 64:
        logCategory = reader.int32();
        break;
      case 74:
        readTypedDataEntry(reader, reader.nested(end), propertiesMap);
        break;
      default:
        reader.skip(tag, end, rpcLogFields);
    }
  }
  reader.leave(end);
  return {
    invocationId,
    category,
    level,
    message,
    eventId,
    exception,
    properties,
    logCategory,
    propertiesMap,
  };
}
