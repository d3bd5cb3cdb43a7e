// Generated from proto/ by src/generator/main.ts (npm run generate -w @drover/function-rpc). Do not edit.

import { entryFields, nullRecord, readStringEntry, writeStringMap } from '../codec/map-entries.js';
import type { ProtoReader } from '../codec/reader.js';
import type { ProtoWriter } from '../codec/writer.js';
import type { BindingInfoDirection, BindingInfoDataType } from './enums.js';

/** One binding of a function. Its name is the key in the map. */
export interface BindingInfo {
  readonly type: string;
  readonly direction: BindingInfoDirection;
  readonly dataType: BindingInfoDataType;
  readonly properties: Readonly<Record<string, string>>;
}

/** BindingInfo for writing. Omitted fields have their defaults. */
export interface BindingInfoInit {
  readonly type?: string | null | undefined;
  readonly direction?: BindingInfoDirection | null | undefined;
  readonly dataType?: BindingInfoDataType | null | undefined;
  readonly properties?: Readonly<Record<string, string>> | null | undefined;
}

/** Writes the fields of a BindingInfo. */
export function writeBindingInfo(writer: ProtoWriter, message: BindingInfoInit): void {
  if (message.type) writer.string(18, message.type);
  if (message.direction) writer.int32(24, message.direction);
  if (message.dataType) writer.int32(32, message.dataType);
  if (message.properties != null) {
    writeStringMap(writer, 42, message.properties, 71);
  }
}

const bindingInfoFields: readonly number[] = [2, 3, 4, 5];

/** Reads a BindingInfo that ends at `end`. */
export function readBindingInfo(reader: ProtoReader, end: number): BindingInfo {
  let type = '';
  let direction = 0;
  let dataType = 0;
  const properties = new nullRecord<string>();
  while (reader.position < end) {
    const tag = reader.tag();
    switch (tag) {
      case 18:
        type = reader.string(end);
        break;
      case 24:
        direction = reader.int32();
        break;
      case 32:
        dataType = reader.int32();
        break;
      case 42:
        readStringEntry(reader, reader.nested(end), properties);
        break;
      default:
        reader.skip(tag, end, bindingInfoFields);
    }
  }
  reader.leave(end);
  return {
    type,
    direction,
    dataType,
    properties,
  };
}

/** Reads one entry of a map of BindingInfo into `into`. */
export function readBindingInfoEntry(reader: ProtoReader, end: number, into: Record<string, BindingInfo>): void {
  let key = '';
  let value: BindingInfo | undefined;
  while (reader.position < end) {
    const tag = reader.tag();
    if (tag === 10) key = reader.string(end);
    else if (tag === 18) value = readBindingInfo(reader, reader.nested(end));
    else reader.skip(tag, end, entryFields);
  }
  reader.leave(end);
  into[key] = value ?? readBindingInfo(reader, reader.nothing());
}
