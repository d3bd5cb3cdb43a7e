// Generated from proto/ by src/generator/main.ts (npm run generate -w @drover/function-rpc). Do not edit.

import type { ProtoReader } from '../codec/reader.js';
import type { ProtoWriter } from '../codec/writer.js';
import {
  type ModelBindingData,
  type ModelBindingDataInit,
  readModelBindingData,
  writeModelBindingData,
} from './model-binding-data.js';

/** Several ModelBindingData. */
export interface CollectionModelBindingData {
  readonly modelBindingData: readonly ModelBindingData[];
}

/** CollectionModelBindingData for writing. Omitted fields have their defaults. */
export interface CollectionModelBindingDataInit {
  readonly modelBindingData?: readonly ModelBindingDataInit[] | null | undefined;
}

/** Writes the fields of a CollectionModelBindingData. */
export function writeCollectionModelBindingData(writer: ProtoWriter, message: CollectionModelBindingDataInit): void {
  if (message.modelBindingData != null) {
    for (const item of message.modelBindingData) {
      const start = writer.open(10, 90);
      writeModelBindingData(writer, item);
      writer.close(start, 90);
    }
  }
}

const collectionModelBindingDataFields: readonly number[] = [1];

/** Reads a CollectionModelBindingData that ends at `end`. */
export function readCollectionModelBindingData(reader: ProtoReader, end: number): CollectionModelBindingData {
  const modelBindingData: ModelBindingData[] = [];
  while (reader.position < end) {
    const tag = reader.tag();
    switch (tag) {
      case 10:
        modelBindingData.push(readModelBindingData(reader, reader.nested(end)));
        break;
      default:
        reader.skip(tag, end, collectionModelBindingDataFields);
    }
  }
  reader.leave(end);
  return {
    modelBindingData,
  };
}
