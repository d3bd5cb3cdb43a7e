// Generated from proto/ by src/generator/main.ts (npm run generate -w @drover/function-rpc). Do not edit.

import { nullRecord, readStringEntry, writeStringMap } from '../codec/map-entries.js';
import type { ProtoReader } from '../codec/reader.js';
import type { ProtoWriter } from '../codec/writer.js';
import { type StatusResult, type StatusResultInit, readStatusResult, writeStatusResult } from './status-result.js';
import { type BindingInfo, type BindingInfoInit, readBindingInfoEntry, writeBindingInfo } from './binding-info.js';
import {
  type RpcRetryOptions,
  type RpcRetryOptionsInit,
  readRpcRetryOptions,
  writeRpcRetryOptions,
} from './rpc-retry-options.js';

/** The metadata of one function. */
export interface RpcFunctionMetadata {
  readonly directory: string;
  readonly scriptFile: string;
  readonly entryPoint: string;
  readonly name: string;
  readonly bindings: Readonly<Record<string, BindingInfo>>;
  readonly isProxy: boolean;
  readonly status?: StatusResult | undefined;
  readonly language: string;
  /** The complete bindings, each as JSON: the map above has only type, direction and data type. */
  readonly rawBindings: readonly string[];
  readonly functionId: string;
  readonly managedDependencyEnabled: boolean;
  readonly retryOptions?: RpcRetryOptions | undefined;
  readonly properties: Readonly<Record<string, string>>;
}

/** RpcFunctionMetadata for writing. Omitted fields have their defaults. */
export interface RpcFunctionMetadataInit {
  readonly directory?: string | null | undefined;
  readonly scriptFile?: string | null | undefined;
  readonly entryPoint?: string | null | undefined;
  readonly name?: string | null | undefined;
  readonly bindings?: Readonly<Record<string, BindingInfoInit>> | null | undefined;
  readonly isProxy?: boolean | null | undefined;
  readonly status?: StatusResultInit | null | undefined;
  readonly language?: string | null | undefined;
  readonly rawBindings?: readonly string[] | null | undefined;
  readonly functionId?: string | null | undefined;
  readonly managedDependencyEnabled?: boolean | null | undefined;
  readonly retryOptions?: RpcRetryOptionsInit | null | undefined;
  readonly properties?: Readonly<Record<string, string>> | null | undefined;
}

/** Writes the fields of a RpcFunctionMetadata. */
export function writeRpcFunctionMetadata(writer: ProtoWriter, message: RpcFunctionMetadataInit): void {
  if (message.directory) writer.string(10, message.directory);
  if (message.scriptFile) writer.string(18, message.scriptFile);
  if (message.entryPoint) writer.string(26, message.entryPoint);
  if (message.name) writer.string(34, message.name);
  if (message.bindings != null) {
    for (const key of Object.keys(message.bindings)) {
      const item = message.bindings[key];
      if (item == null) continue;
      const start = writer.open(50, 43);
      writer.string(10, key);
      const inner = writer.open(18, 43);
      writeBindingInfo(writer, item);
      writer.close(inner, 43);
      writer.close(start, 43);
    }
  }
  if (message.isProxy) writer.bool(56, message.isProxy);
  if (message.status != null) {
    const start = writer.open(66, 44);
    writeStatusResult(writer, message.status);
    writer.close(start, 44);
  }
  if (message.language) writer.string(74, message.language);
  if (message.rawBindings != null) {
    for (const item of message.rawBindings) {
      writer.string(82, item);
    }
  }
  if (message.functionId) writer.string(106, message.functionId);
  if (message.managedDependencyEnabled) writer.bool(112, message.managedDependencyEnabled);
  if (message.retryOptions != null) {
    const start = writer.open(122, 45);
    writeRpcRetryOptions(writer, message.retryOptions);
    writer.close(start, 45);
  }
  if (message.properties != null) {
    writeStringMap(writer, 130, message.properties, 46);
  }
}

const rpcFunctionMetadataFields: readonly number[] = [1, 2, 3, 4, 6, 7, 8, 9, 10, 13, 14, 15, 16];

/** Reads a RpcFunctionMetadata that ends at `end`. */
export function readRpcFunctionMetadata(reader: ProtoReader, end: number): RpcFunctionMetadata {
  let directory = '';
  let scriptFile = '';
  let entryPoint = '';
  let name = '';
  const bindings = new nullRecord<BindingInfo>();
  let isProxy = false;
  let status: StatusResult | undefined;
  let language = '';
  const rawBindings: string[] = [];
  let functionId = '';
  let managedDependencyEnabled = false;
  let retryOptions: RpcRetryOptions | undefined;
  const properties = new nullRecord<string>();
  while (reader.position < end) {
    const tag = reader.tag();
    switch (tag) {
      case 10:
        directory = reader.string(end);
        break;
      case 18:
        scriptFile = reader.string(end);
        break;
      case 26:
        entryPoint = reader.string(end);
        break;
      case 34:
        name = reader.string(end);
        break;
      case 50:
        readBindingInfoEntry(reader, reader.nested(end), bindings);
        break;
      case 56:
        isProxy = reader.bool();
        break;
      case 66:
        status = readStatusResult(reader, reader.nested(end));
        break;
      case 74:
        language = reader.string(end);
        break;
      case 82:
        rawBindings.push(reader.string(end));
        break;
      case 106:
        functionId = reader.string(end);
        break;
      case 112:
        managedDependencyEnabled = reader.bool();
        break;
      case 122:
        retryOptions = readRpcRetryOptions(reader, reader.nested(end));
        break;
      case 130:
        readStringEntry(reader, reader.nested(end), properties);
        break;
      default:
        reader.skip(tag, end, rpcFunctionMetadataFields);
    }
  }
  reader.leave(end);
  return {
    directory,
    scriptFile,
    entryPoint,
    name,
    bindings,
    isProxy,
    status,
    language,
    rawBindings,
    functionId,
    managedDependencyEnabled,
    retryOptions,
    properties,
  };
}
