// Generated from proto/ by src/generator/main.ts (npm run generate -w @drover/function-rpc). Do not edit.

import type { ProtoReader } from '../codec/reader.js';
import type { ProtoWriter } from '../codec/writer.js';

/** One claim about a caller. */
export interface RpcClaim {
  readonly value: string;
  readonly type: string;
}

/** RpcClaim for writing. Omitted fields have their defaults. */
export interface RpcClaimInit {
  readonly value?: string | null | undefined;
  readonly type?: string | null | undefined;
}

/** Writes the fields of a RpcClaim. */
export function writeRpcClaim(writer: ProtoWriter, message: RpcClaimInit): void {
  if (message.value) writer.string(10, message.value);
  if (message.type) writer.string(18, message.type);
}

const rpcClaimFields: readonly number[] = [1, 2];

/** Reads a RpcClaim that ends at `end`. */
export function readRpcClaim(reader: ProtoReader, end: number): RpcClaim {
  let value = '';
  let type = '';
  while (reader.position < end) {
    const tag = reader.tag();
    switch (tag) {
      case 10:
        value = reader.string(end);
        break;
      case 18:
        type = reader.string(end);
        break;
      default:
        reader.skip(tag, end, rpcClaimFields);
    }
  }
  reader.leave(end);
  return {
    value,
    type,
  };
}
