import type { CollectionModel, FindCollection } from '../model/collection-model.js';
import type { ComputedFields } from '../respond/record-json.js';
import { sql } from '../sql/sql.js';

const none: ComputedFields = new Map();

/** Returns the expressions of formulas and rollups of a collection. Rollups read other collections, which it finds. */
export async function computedFields(collection: CollectionModel, _find: FindCollection): Promise<ComputedFields> {
  const computed = [...collection.fields.values()].filter(({ traits }) => traits.column === undefined);
  if (computed.length === 0) return none;
  return new Map(computed.map(({ name }) => [name, () => sql`null::text`]));
}
