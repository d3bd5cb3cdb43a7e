// Generated from proto/ by src/generator/main.ts (npm run generate -w @drover/function-rpc). Do not edit.

import type { ProtoReader } from '../codec/reader.js';
import type { ProtoWriter } from '../codec/writer.js';

/** Several byte arrays. */
export interface CollectionBytes {
  readonly bytes: readonly Uint8Array[];
}

/** CollectionBytes for writing. Omitted fields have their defaults. */
export interface CollectionBytesInit {
  readonly bytes?: readonly Uint8Array[] | null | undefined;
}

/** Writes the fields of a CollectionBytes. */
export function writeCollectionBytes(writer: ProtoWriter, message: CollectionBytesInit): void {
  if (message.bytes != null) {
    for (const item of message.bytes) {
      writer.bytes(10, item);
    }
  }
}

const collectionBytesFields: readonly number[] = [1];

/** Reads a CollectionBytes that ends at `end`. */
export function readCollectionBytes(reader: ProtoReader, end: number): CollectionBytes {
  const bytes: Uint8Array[] = [];
  while (reader.position < end) {
    const tag = reader.tag();
    switch (tag) {
      case 10:
        bytes.push(reader.bytes(end));
        break;
      default:
        reader.skip(tag, end, collectionBytesFields);
    }
  }
  reader.leave(end);
  return {
    bytes,
  };
}
