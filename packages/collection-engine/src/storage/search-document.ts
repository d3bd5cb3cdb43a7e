import type { CollectionModel, FieldModel } from '../model/collection-model.js';
import { join, sql, type Sql } from '../sql/sql.js';
import { fieldExpression } from './field-expression.js';

/**
 * Returns the `tsvector` that full-text search looks at: the searchable fields of a collection. Undefined if it has none. The index is
 * made over the same expression. Its fields are ordered by column, so that a renamed or moved field does not change it.
 *
 * PostgreSQL refuses a vector of more than a megabyte, so only the start of very long texts can be found.
 */
export function searchDocument(collection: CollectionModel, alias: Sql): Sql | undefined {
  const fields = [...collection.fields.values()]
    .filter(isSearchable)
    .toSorted((a, b) => (a.column < b.column ? -1 : 1));
  if (fields.length === 0) return undefined;
  const texts = fields.map((field) => sql`coalesce(${searchedText(fieldExpression(collection, field, alias))}, '')`);
  return sql`to_tsvector('simple'::regconfig, ${join(texts, sql` || ' ' || `)})`;
}

/** Whether the document has the words of a field. */
export const isSearchable = ({ definition, traits, type }: FieldModel): boolean =>
  definition.searchable === true && traits.kind === 'text' && traits.column !== undefined && type !== 'ENCRYPTED';

/** Returns the part of a text that can be found. */
export const searchedText = (text: Sql): Sql => sql`left(${text}, 100000)`;
