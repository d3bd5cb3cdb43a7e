import type { CollectionModel } from '../model/collection-model.js';
import { computedFields, rolledUpCollections } from '../formula/computed-fields.js';
import type { OperationDependencies } from '../request/record-operation.js';
import type { RecordContext } from '../request/record-context.js';
import { recordJson } from '../respond/record-json.js';
import type { Sql } from '../sql/sql.js';
import type { SavePlan } from '../write/save-records.js';

/** Returns how answers to writes show a record: with everything that a read shows. */
export async function recordView(
  collection: CollectionModel,
  { shape, access }: Pick<RecordContext, 'shape' | 'access'>,
  { find }: Pick<OperationDependencies, 'find'>,
): Promise<SavePlan['view']> {
  const computed = await computedFields(collection, find, access);
  const children = await rolledUpCollections(collection, find);
  // The statement is kept under this name: it changes with the definitions of the collections that rollups read, and with the access.
  const read = children.filter((child) => access.mayRead(child));
  const name = [shape, ...read.map(({ table, version }) => `${table}@${version}`)].join(' ');
  return { name, json: (alias: Sql) => recordJson(collection, alias, { shape, computed }) };
}
