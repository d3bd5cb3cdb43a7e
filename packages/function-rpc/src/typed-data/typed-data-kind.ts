import type { TypedData, TypedDataInit } from '../generated/typed-data.js';

/** Which member of a TypedData is there. */
export type TypedDataKind = keyof TypedData;

const kinds: readonly TypedDataKind[] = [
  'string',
  'json',
  'bytes',
  'http',
  'int',
  'double',
  'stream',
  'collectionString',
  'collectionBytes',
  'collectionDouble',
  'collectionSint64',
  'modelBindingData',
  'collectionModelBindingData',
];

/** The member that is there; undefined for null. */
export function typedDataKind(data: TypedDataInit): TypedDataKind | undefined {
  return kinds.find((kind) => data[kind] != null);
}
