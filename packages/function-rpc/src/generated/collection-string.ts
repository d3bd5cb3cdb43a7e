// Generated from proto/ by src/generator/main.ts (npm run generate -w @drover/function-rpc). Do not edit.

import type { ProtoReader } from '../codec/reader.js';
import type { ProtoWriter } from '../codec/writer.js';

/** Several strings. */
export interface CollectionString {
  readonly string: readonly string[];
}

/** CollectionString for writing. Omitted fields have their defaults. */
export interface CollectionStringInit {
  readonly string?: readonly string[] | null | undefined;
}

/** Writes the fields of a CollectionString. */
export function writeCollectionString(writer: ProtoWriter, message: CollectionStringInit): void {
  if (message.string != null) {
    for (const item of message.string) {
      writer.string(10, item);
    }
  }
}

const collectionStringFields: readonly number[] = [1];

/** Reads a CollectionString that ends at `end`. */
export function readCollectionString(reader: ProtoReader, end: number): CollectionString {
  const string: string[] = [];
  while (reader.position < end) {
    const tag = reader.tag();
    switch (tag) {
      case 10:
        string.push(reader.string(end));
        break;
      default:
        reader.skip(tag, end, collectionStringFields);
    }
  }
  reader.leave(end);
  return {
    string,
  };
}
