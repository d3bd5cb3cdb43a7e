import { systemColumns, type CollectionModel, type FieldModel } from '../model/collection-model.js';
import { identifier, join, sql, type Sql } from '../sql/sql.js';
import { storedJson, systemValue } from '../storage/field-expression.js';

/** Fields with a stored value, in the order of the definition. */
export const storedFields = ({ fields }: CollectionModel): FieldModel[] =>
  [...fields.values()].filter(({ traits }) => traits.column !== undefined);

/** Fields of a new record that get their value from the request. */
export const givenFields = (collection: CollectionModel): FieldModel[] =>
  storedFields(collection).filter(({ type }) => type !== 'AUTO_NUMBER');

/**
 * Returns the record of the row `alias` as it stands in events and in the history: flat, all stored fields by name, and nothing
 * that is computed. Encrypted values stay encrypted.
 */
export function storedRecordJson(collection: CollectionModel, alias: Sql): Sql {
  const system = Object.entries({ version: 'version', ...systemColumns })
    .filter(([name]) => name !== 'deletedAt' || collection.isSoftDelete)
    .map(([name, column]) => sql`${systemValue(column, alias)} as ${identifier(name)}`);
  const fields = storedFields(collection).map(
    (field) => sql`${storedJson(collection, field, alias)} as ${identifier(field.name)}`,
  );
  return sql`(select to_jsonb(${record}) from (select ${join([sql`${alias}.id`, ...fields, ...system], sql`, `)}) as ${record})`;
}

/** No field has this name, which would stand for its value then, and not for the row. */
const record = identifier('#record');
