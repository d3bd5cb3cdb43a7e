import type { CollectionModel } from '../model/collection-model.js';
import { computedFields } from '../formula/computed-fields.js';
import type { OperationDependencies } from '../request/record-operation.js';
import type { RecordContext } from '../request/record-context.js';
import { recordJson } from '../respond/record-json.js';
import type { Sql } from '../sql/sql.js';
import type { SavePlan } from '../write/save-records.js';

/** Returns how answers to writes show a record: with everything that a read shows. */
export async function recordView(
  collection: CollectionModel,
  shape: RecordContext['shape'],
  { find }: Pick<OperationDependencies, 'find'>,
): Promise<SavePlan['view']> {
  const computed = await computedFields(collection, find);
  const rollups = [...collection.fields.values()].flatMap(({ definition }) => definition.rollup?.collection ?? []);
  const children = await Promise.all(rollups.map((name) => find(collection.tenantId, name)));
  // The statement is kept under this name: it changes with the definitions of the collections that rollups read.
  const name = [shape, ...children.map(({ table, version }) => `${table}@${version}`)].join(' ');
  return { name, json: (alias: Sql) => recordJson(collection, alias, { shape, computed }) };
}
