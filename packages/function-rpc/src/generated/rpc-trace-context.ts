// Generated from proto/ by src/generator/main.ts (npm run generate -w @drover/function-rpc). Do not edit.

import { nullRecord, readStringEntry, writeStringMap } from '../codec/map-entries.js';
import type { ProtoReader } from '../codec/reader.js';
import type { ProtoWriter } from '../codec/writer.js';

/** The W3C trace context of an invocation. */
export interface RpcTraceContext {
  readonly traceParent: string;
  readonly traceState: string;
  readonly attributes: Readonly<Record<string, string>>;
}

/** RpcTraceContext for writing. Omitted fields have their defaults. */
export interface RpcTraceContextInit {
  readonly traceParent?: string | null | undefined;
  readonly traceState?: string | null | undefined;
  readonly attributes?: Readonly<Record<string, string>> | null | undefined;
}

/** Writes the fields of a RpcTraceContext. */
export function writeRpcTraceContext(writer: ProtoWriter, message: RpcTraceContextInit): void {
  if (message.traceParent) writer.string(10, message.traceParent);
  if (message.traceState) writer.string(18, message.traceState);
  if (message.attributes != null) {
    writeStringMap(writer, 26, message.attributes, 53);
  }
}

const rpcTraceContextFields: readonly number[] = [1, 2, 3];

/** Reads a RpcTraceContext that ends at `end`. */
export function readRpcTraceContext(reader: ProtoReader, end: number): RpcTraceContext {
  let traceParent = '';
  let traceState = '';
  const attributes = new nullRecord<string>();
  while (reader.position < end) {
    const tag = reader.tag();
    switch (tag) {
      case 10:
        traceParent = reader.string(end);
        break;
      case 18:
        traceState = reader.string(end);
        break;
      case 26:
        readStringEntry(reader, reader.nested(end), attributes);
        break;
      default:
        reader.skip(tag, end, rpcTraceContextFields);
    }
  }
  reader.leave(end);
  return {
    traceParent,
    traceState,
    attributes,
  };
}
