// Generated from proto/ by src/generator/main.ts (npm run generate -w @drover/function-rpc). Do not edit.

import type { ProtoReader } from '../codec/reader.js';
import type { ProtoWriter } from '../codec/writer.js';

/** Several integers. */
export interface CollectionSInt64 {
  readonly sint64: readonly (number | bigint)[];
}

/** CollectionSInt64 for writing. Omitted fields have their defaults. */
export interface CollectionSInt64Init {
  readonly sint64?: readonly (number | bigint)[] | null | undefined;
}

/** Writes the fields of a CollectionSInt64. */
export function writeCollectionSInt64(writer: ProtoWriter, message: CollectionSInt64Init): void {
  if (message.sint64?.length) writer.packedSint64(10, message.sint64, 68);
}

const collectionSInt64Fields: readonly number[] = [1];

/** Reads a CollectionSInt64 that ends at `end`. */
export function readCollectionSInt64(reader: ProtoReader, end: number): CollectionSInt64 {
  const sint64: (number | bigint)[] = [];
  while (reader.position < end) {
    const tag = reader.tag();
    switch (tag) {
      case 10: {
        const stop = reader.delimited(end);
        while (reader.position < stop) sint64.push(reader.sint64());
        break;
      }
      case 8:
        sint64.push(reader.sint64());
        break;
      default:
        reader.skip(tag, end, collectionSInt64Fields);
    }
  }
  reader.leave(end);
  return {
    sint64,
  };
}
