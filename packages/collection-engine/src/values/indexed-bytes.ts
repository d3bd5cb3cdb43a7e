import type { CollectionModel, FieldModel } from '../model/collection-model.js';

/** An entry of a B-tree index of PostgreSQL has at most 2,704 bytes; some of them are its header and columns of fixed size. */
const maxEntryBytes = 2_600;

/** Returns how many bytes a text of this field may have so that its indexes can hold it; undefined if none does. */
export function indexedBytes(collection: CollectionModel, field: FieldModel): number | undefined {
  if (field.traits.kind !== 'text' || field.traits.column === undefined) return undefined;
  const sets = [
    ...(field.isIndexed || field.isUnique ? [[field.name]] : []),
    ...collection.uniqueSets,
    ...(collection.definition.indexes ?? []).map((names) => names.map((name) => name.replace(/^-/, ''))),
  ].filter((names) => names.includes(field.name));
  const texts = sets.map((names) => names.filter((name) => collection.fields.get(name)?.traits.kind === 'text').length);
  return texts.length === 0 ? undefined : Math.floor(maxEntryBytes / Math.max(...texts));
}
