// Generated from proto/ by src/generator/main.ts (npm run generate -w @drover/function-rpc). Do not edit.

import type { ProtoReader } from '../codec/reader.js';
import type { ProtoWriter } from '../codec/writer.js';

/** Several numbers. */
export interface CollectionDouble {
  readonly double: readonly number[];
}

/** CollectionDouble for writing. Omitted fields have their defaults. */
export interface CollectionDoubleInit {
  readonly double?: readonly number[] | null | undefined;
}

/** Writes the fields of a CollectionDouble. */
export function writeCollectionDouble(writer: ProtoWriter, message: CollectionDoubleInit): void {
  if (message.double?.length) writer.packedDouble(10, message.double, 67);
}

const collectionDoubleFields: readonly number[] = [1];

/** Reads a CollectionDouble that ends at `end`. */
export function readCollectionDouble(reader: ProtoReader, end: number): CollectionDouble {
  const double: number[] = [];
  while (reader.position < end) {
    const tag = reader.tag();
    switch (tag) {
      case 10: {
        const stop = reader.delimited(end);
        while (reader.position < stop) double.push(reader.double());
        break;
      }
      case 9:
        double.push(reader.double());
        break;
      default:
        reader.skip(tag, end, collectionDoubleFields);
    }
  }
  reader.leave(end);
  return {
    double,
  };
}
