// Generated from proto/ by src/generator/main.ts (npm run generate -w @drover/function-rpc). Do not edit.

import { writeStringMap } from '../codec/map-entries.js';
import type { ProtoWriter } from '../codec/writer.js';
import type { TypedDataInit, RpcHttpInit } from './typed-data.js';
import { writeCollectionString } from './collection-string.js';
import { writeCollectionBytes } from './collection-bytes.js';
import { writeCollectionDouble } from './collection-double.js';
import { writeCollectionSInt64 } from './collection-sint64.js';
import { writeRpcHttpCookie } from './rpc-http-cookie.js';
import { writeModelBindingData } from './model-binding-data.js';
import { writeCollectionModelBindingData } from './collection-model-binding-data.js';
import { writeRpcClaimsIdentity } from './rpc-claims-identity.js';
import { writeNullableString } from './nullable-string.js';

/** Writes the fields of a TypedData. */
export function writeTypedData(writer: ProtoWriter, message: TypedDataInit): void {
  if (message.string != null) {
    writer.string(10, message.string);
  } else if (message.json != null) {
    writer.string(18, message.json);
  } else if (message.bytes != null) {
    writer.bytes(26, message.bytes);
  } else if (message.stream != null) {
    writer.bytes(34, message.stream);
  } else if (message.http != null) {
    const start = writer.open(42, 60);
    writeRpcHttp(writer, message.http);
    writer.close(start, 60);
  } else if (message.int != null) {
    writer.sint64(48, message.int);
  } else if (message.double != null) {
    writer.double(57, message.double);
  } else if (message.collectionBytes != null) {
    const start = writer.open(66, 61);
    writeCollectionBytes(writer, message.collectionBytes);
    writer.close(start, 61);
  } else if (message.collectionString != null) {
    const start = writer.open(74, 62);
    writeCollectionString(writer, message.collectionString);
    writer.close(start, 62);
  } else if (message.collectionDouble != null) {
    const start = writer.open(82, 63);
    writeCollectionDouble(writer, message.collectionDouble);
    writer.close(start, 63);
  } else if (message.collectionSint64 != null) {
    const start = writer.open(90, 64);
    writeCollectionSInt64(writer, message.collectionSint64);
    writer.close(start, 64);
  } else if (message.modelBindingData != null) {
    const start = writer.open(98, 65);
    writeModelBindingData(writer, message.modelBindingData);
    writer.close(start, 65);
  } else if (message.collectionModelBindingData != null) {
    const start = writer.open(106, 66);
    writeCollectionModelBindingData(writer, message.collectionModelBindingData);
    writer.close(start, 66);
  }
}

/** Writes the fields of a RpcHttp. */
export function writeRpcHttp(writer: ProtoWriter, message: RpcHttpInit): void {
  if (message.method) writer.string(10, message.method);
  if (message.url) writer.string(18, message.url);
  if (message.headers != null) {
    writeStringMap(writer, 26, message.headers, 80);
  }
  if (message.body != null) {
    const start = writer.open(34, 81);
    writeTypedData(writer, message.body);
    writer.close(start, 81);
  }
  if (message.params != null) {
    writeStringMap(writer, 82, message.params, 82);
  }
  if (message.statusCode) writer.string(98, message.statusCode);
  if (message.query != null) {
    writeStringMap(writer, 122, message.query, 83);
  }
  if (message.enableContentNegotiation) writer.bool(128, message.enableContentNegotiation);
  if (message.rawBody != null) {
    const start = writer.open(138, 84);
    writeTypedData(writer, message.rawBody);
    writer.close(start, 84);
  }
  if (message.identities != null) {
    for (const item of message.identities) {
      const start = writer.open(146, 85);
      writeRpcClaimsIdentity(writer, item);
      writer.close(start, 85);
    }
  }
  if (message.cookies != null) {
    for (const item of message.cookies) {
      const start = writer.open(154, 86);
      writeRpcHttpCookie(writer, item);
      writer.close(start, 86);
    }
  }
  if (message.nullableHeaders != null) {
    for (const key of Object.keys(message.nullableHeaders)) {
      const item = message.nullableHeaders[key];
      if (item == null) continue;
      const start = writer.open(162, 87);
      writer.string(10, key);
      const inner = writer.open(18, 87);
      writeNullableString(writer, item);
      writer.close(inner, 87);
      writer.close(start, 87);
    }
  }
  if (message.nullableParams != null) {
    for (const key of Object.keys(message.nullableParams)) {
      const item = message.nullableParams[key];
      if (item == null) continue;
      const start = writer.open(170, 88);
      writer.string(10, key);
      const inner = writer.open(18, 88);
      writeNullableString(writer, item);
      writer.close(inner, 88);
      writer.close(start, 88);
    }
  }
  if (message.nullableQuery != null) {
    for (const key of Object.keys(message.nullableQuery)) {
      const item = message.nullableQuery[key];
      if (item == null) continue;
      const start = writer.open(178, 89);
      writer.string(10, key);
      const inner = writer.open(18, 89);
      writeNullableString(writer, item);
      writer.close(inner, 89);
      writer.close(start, 89);
    }
  }
}
