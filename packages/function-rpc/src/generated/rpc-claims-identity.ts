// Generated from proto/ by src/generator/main.ts (npm run generate -w @drover/function-rpc). Do not edit.

import type { ProtoReader } from '../codec/reader.js';
import type { ProtoWriter } from '../codec/writer.js';
import { type RpcClaim, type RpcClaimInit, readRpcClaim, writeRpcClaim } from './rpc-claim.js';
import {
  type NullableString,
  type NullableStringInit,
  readNullableString,
  writeNullableString,
} from './nullable-string.js';

/** One identity of an HTTP caller, from the authentication of the request. */
export interface RpcClaimsIdentity {
  readonly authenticationType?: NullableString | undefined;
  readonly nameClaimType?: NullableString | undefined;
  readonly roleClaimType?: NullableString | undefined;
  readonly claims: readonly RpcClaim[];
}

/** RpcClaimsIdentity for writing. Omitted fields have their defaults. */
export interface RpcClaimsIdentityInit {
  readonly authenticationType?: NullableStringInit | null | undefined;
  readonly nameClaimType?: NullableStringInit | null | undefined;
  readonly roleClaimType?: NullableStringInit | null | undefined;
  readonly claims?: readonly RpcClaimInit[] | null | undefined;
}

/** Writes the fields of a RpcClaimsIdentity. */
export function writeRpcClaimsIdentity(writer: ProtoWriter, message: RpcClaimsIdentityInit): void {
  if (message.authenticationType != null) {
    const start = writer.open(10, 94);
    writeNullableString(writer, message.authenticationType);
    writer.close(start, 94);
  }
  if (message.nameClaimType != null) {
    const start = writer.open(18, 95);
    writeNullableString(writer, message.nameClaimType);
    writer.close(start, 95);
  }
  if (message.roleClaimType != null) {
    const start = writer.open(26, 96);
    writeNullableString(writer, message.roleClaimType);
    writer.close(start, 96);
  }
  if (message.claims != null) {
    for (const item of message.claims) {
      const start = writer.open(34, 97);
      writeRpcClaim(writer, item);
      writer.close(start, 97);
    }
  }
}

const rpcClaimsIdentityFields: readonly number[] = [1, 2, 3, 4];

/** Reads a RpcClaimsIdentity that ends at `end`. */
export function readRpcClaimsIdentity(reader: ProtoReader, end: number): RpcClaimsIdentity {
  let authenticationType: NullableString | undefined;
  let nameClaimType: NullableString | undefined;
  let roleClaimType: NullableString | undefined;
  const claims: RpcClaim[] = [];
  while (reader.position < end) {
    const tag = reader.tag();
    switch (tag) {
      case 10:
        authenticationType = readNullableString(reader, reader.nested(end));
        break;
      case 18:
        nameClaimType = readNullableString(reader, reader.nested(end));
        break;
      case 26:
        roleClaimType = readNullableString(reader, reader.nested(end));
        break;
      case 34:
        claims.push(readRpcClaim(reader, reader.nested(end)));
        break;
      default:
        reader.skip(tag, end, rpcClaimsIdentityFields);
    }
  }
  reader.leave(end);
  return {
    authenticationType,
    nameClaimType,
    roleClaimType,
    claims,
  };
}
