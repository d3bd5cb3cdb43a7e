// Generated from proto/ by src/generator/main.ts (npm run generate -w @drover/function-rpc). Do not edit.

import type { ProtoReader } from '../codec/reader.js';
import type { ProtoWriter } from '../codec/writer.js';
import type { RpcHttpCookieSameSite } from './enums.js';
import {
  type NullableString,
  type NullableStringInit,
  readNullableString,
  writeNullableString,
} from './nullable-string.js';
import {
  type NullableDouble,
  type NullableDoubleInit,
  readNullableDouble,
  writeNullableDouble,
} from './nullable-double.js';
import { type NullableBool, type NullableBoolInit, readNullableBool, writeNullableBool } from './nullable-bool.js';
import {
  type NullableTimestamp,
  type NullableTimestampInit,
  readNullableTimestamp,
  writeNullableTimestamp,
} from './nullable-timestamp.js';

/** A cookie that an HTTP response sets. */
export interface RpcHttpCookie {
  readonly name: string;
  readonly value: string;
  readonly domain?: NullableString | undefined;
  readonly path?: NullableString | undefined;
  readonly expires?: NullableTimestamp | undefined;
  readonly secure?: NullableBool | undefined;
  readonly httpOnly?: NullableBool | undefined;
  readonly sameSite: RpcHttpCookieSameSite;
  readonly maxAge?: NullableDouble | undefined;
}

/** RpcHttpCookie for writing. Omitted fields have their defaults. */
export interface RpcHttpCookieInit {
  readonly name?: string | null | undefined;
  readonly value?: string | null | undefined;
  readonly domain?: NullableStringInit | null | undefined;
  readonly path?: NullableStringInit | null | undefined;
  readonly expires?: NullableTimestampInit | null | undefined;
  readonly secure?: NullableBoolInit | null | undefined;
  readonly httpOnly?: NullableBoolInit | null | undefined;
  readonly sameSite?: RpcHttpCookieSameSite | null | undefined;
  readonly maxAge?: NullableDoubleInit | null | undefined;
}

/** Writes the fields of a RpcHttpCookie. */
export function writeRpcHttpCookie(writer: ProtoWriter, message: RpcHttpCookieInit): void {
  if (message.name) writer.string(10, message.name);
  if (message.value) writer.string(18, message.value);
  if (message.domain != null) {
    const start = writer.open(26, 74);
    writeNullableString(writer, message.domain);
    writer.close(start, 74);
  }
  if (message.path != null) {
    const start = writer.open(34, 75);
    writeNullableString(writer, message.path);
    writer.close(start, 75);
  }
  if (message.expires != null) {
    const start = writer.open(42, 76);
    writeNullableTimestamp(writer, message.expires);
    writer.close(start, 76);
  }
  if (message.secure != null) {
    const start = writer.open(50, 77);
    writeNullableBool(writer, message.secure);
    writer.close(start, 77);
  }
  if (message.httpOnly != null) {
    const start = writer.open(58, 78);
    writeNullableBool(writer, message.httpOnly);
    writer.close(start, 78);
  }
  if (message.sameSite) writer.int32(64, message.sameSite);
  if (message.maxAge != null) {
    const start = writer.open(74, 79);
    writeNullableDouble(writer, message.maxAge);
    writer.close(start, 79);
  }
}

const rpcHttpCookieFields: readonly number[] = [1, 2, 3, 4, 5, 6, 7, 8, 9];

/** Reads a RpcHttpCookie that ends at `end`. */
export function readRpcHttpCookie(reader: ProtoReader, end: number): RpcHttpCookie {
  let name = '';
  let value = '';
  let domain: NullableString | undefined;
  let path: NullableString | undefined;
  let expires: NullableTimestamp | undefined;
  let secure: NullableBool | undefined;
  let httpOnly: NullableBool | undefined;
  let sameSite = 0;
  let maxAge: NullableDouble | undefined;
  while (reader.position < end) {
    const tag = reader.tag();
    switch (tag) {
      case 10:
        name = reader.string(end);
        break;
      case 18:
        value = reader.string(end);
        break;
      case 26:
        domain = readNullableString(reader, reader.nested(end));
        break;
      case 34:
        path = readNullableString(reader, reader.nested(end));
        break;
      case 42:
        expires = readNullableTimestamp(reader, reader.nested(end));
        break;
      case 50:
        secure = readNullableBool(reader, reader.nested(end));
        break;
      case 58:
        httpOnly = readNullableBool(reader, reader.nested(end));
        break;
      case 64:
        sameSite = reader.int32();
        break;
      case 74:
        maxAge = readNullableDouble(reader, reader.nested(end));
        break;
      default:
        reader.skip(tag, end, rpcHttpCookieFields);
    }
  }
  reader.leave(end);
  return {
    name,
    value,
    domain,
    path,
    expires,
    secure,
    httpOnly,
    sameSite,
    maxAge,
  };
}
