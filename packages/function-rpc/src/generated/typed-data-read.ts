// Generated from proto/ by src/generator/main.ts (npm run generate -w @drover/function-rpc). Do not edit.

import { entryFields, nullRecord, readStringEntry } from '../codec/map-entries.js';
import type { ProtoReader } from '../codec/reader.js';
import type { TypedData, RpcHttp } from './typed-data.js';
import { readCollectionString } from './collection-string.js';
import { readCollectionBytes } from './collection-bytes.js';
import { readCollectionDouble } from './collection-double.js';
import { readCollectionSInt64 } from './collection-sint64.js';
import { type RpcHttpCookie, readRpcHttpCookie } from './rpc-http-cookie.js';
import { readModelBindingData } from './model-binding-data.js';
import { readCollectionModelBindingData } from './collection-model-binding-data.js';
import { type RpcClaimsIdentity, readRpcClaimsIdentity } from './rpc-claims-identity.js';
import { type NullableString, readNullableStringEntry } from './nullable-string.js';

const typedDataFields: readonly number[] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13];

/** Reads a TypedData that ends at `end`. */
export function readTypedData(reader: ProtoReader, end: number): TypedData {
  let message: TypedData | undefined;
  while (reader.position < end) {
    const tag = reader.tag();
    switch (tag) {
      case 10:
        message = { string: reader.string(end) };
        break;
      case 18:
        message = { json: reader.string(end) };
        break;
      case 26:
        message = { bytes: reader.bytes(end) };
        break;
      case 34:
        message = { stream: reader.bytes(end) };
        break;
      case 42:
        message = { http: readRpcHttp(reader, reader.nested(end)) };
        break;
      case 48:
        message = { int: reader.sint64() };
        break;
      case 57:
        message = { double: reader.double() };
        break;
      case 66:
        message = { collectionBytes: readCollectionBytes(reader, reader.nested(end)) };
        break;
      case 74:
        message = { collectionString: readCollectionString(reader, reader.nested(end)) };
        break;
      case 82:
        message = { collectionDouble: readCollectionDouble(reader, reader.nested(end)) };
        break;
      case 90:
        message = { collectionSint64: readCollectionSInt64(reader, reader.nested(end)) };
        break;
      case 98:
        message = { modelBindingData: readModelBindingData(reader, reader.nested(end)) };
        break;
      case 106:
        message = { collectionModelBindingData: readCollectionModelBindingData(reader, reader.nested(end)) };
        break;
      default:
        reader.skip(tag, end, typedDataFields);
    }
  }
  reader.leave(end);
  return message ?? {};
}

/** Reads one entry of a map of TypedData into `into`. */
export function readTypedDataEntry(reader: ProtoReader, end: number, into: Record<string, TypedData>): void {
  let key = '';
  let value: TypedData | undefined;
  while (reader.position < end) {
    const tag = reader.tag();
    if (tag === 10) key = reader.string(end);
    else if (tag === 18) value = readTypedData(reader, reader.nested(end));
    else reader.skip(tag, end, entryFields);
  }
  reader.leave(end);
  into[key] = value ?? readTypedData(reader, reader.nothing());
}

const rpcHttpFields: readonly number[] = [1, 2, 3, 4, 10, 12, 15, 16, 17, 18, 19, 20, 21, 22];

/** Reads a RpcHttp that ends at `end`. */
export function readRpcHttp(reader: ProtoReader, end: number): RpcHttp {
  let method = '';
  let url = '';
  const headers = new nullRecord<string>();
  let body: TypedData | undefined;
  const params = new nullRecord<string>();
  let statusCode = '';
  const query = new nullRecord<string>();
  let enableContentNegotiation = false;
  let rawBody: TypedData | undefined;
  const identities: RpcClaimsIdentity[] = [];
  const cookies: RpcHttpCookie[] = [];
  const nullableHeaders = new nullRecord<NullableString>();
  const nullableParams = new nullRecord<NullableString>();
  const nullableQuery = new nullRecord<NullableString>();
  while (reader.position < end) {
    const tag = reader.tag();
    switch (tag) {
      case 10:
        method = reader.string(end);
        break;
      case 18:
        url = reader.string(end);
        break;
      case 26:
        readStringEntry(reader, reader.nested(end), headers);
        break;
      case 34:
        body = readTypedData(reader, reader.nested(end));
        break;
      case 82:
        readStringEntry(reader, reader.nested(end), params);
        break;
      case 98:
        statusCode = reader.string(end);
        break;
      case 122:
        readStringEntry(reader, reader.nested(end), query);
        break;
      case 128:
        enableContentNegotiation = reader.bool();
        break;
      case 138:
        rawBody = readTypedData(reader, reader.nested(end));
        break;
      case 146:
        identities.push(readRpcClaimsIdentity(reader, reader.nested(end)));
        break;
      case 154:
        cookies.push(readRpcHttpCookie(reader, reader.nested(end)));
        break;
      case 162:
        readNullableStringEntry(reader, reader.nested(end), nullableHeaders);
        break;
      case 170:
        readNullableStringEntry(reader, reader.nested(end), nullableParams);
        break;
      case 178:
        readNullableStringEntry(reader, reader.nested(end), nullableQuery);
        break;
      default:
        reader.skip(tag, end, rpcHttpFields);
    }
  }
  reader.leave(end);
  return {
    method,
    url,
    headers,
    body,
    params,
    statusCode,
    query,
    enableContentNegotiation,
    rawBody,
    identities,
    cookies,
    nullableHeaders,
    nullableParams,
    nullableQuery,
  };
}
