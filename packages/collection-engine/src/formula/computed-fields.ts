import { hasCode } from '@drover/contracts';
import type { CollectionModel, FieldModel, FindCollection } from '../model/collection-model.js';
import type { RecordAccess } from '../request/record-context.js';
import { sql, type Sql } from '../sql/sql.js';
import { compileFormulaField } from './compile-formula.js';
import { formulaSql } from './formula-sql.js';
import { rollupSql } from './rollup-sql.js';

/** Expressions of computed fields over a row, by name of the field. */
type Expressions = ReadonlyMap<string, (alias: Sql) => Sql>;

/** Expressions of collections whose computed fields read no other collection. */
const compiled = new WeakMap<CollectionModel, Expressions>();

/**
 * Returns the expressions of all formulas and rollups of a collection: NUMERIC, TEXT, BOOLEAN, DATE or TIMESTAMPTZ in both storage
 * modes. Rollups read other collections, which it finds. Without the right to read such a collection its rollups have no value, nor
 * what formulas make of them: a total tells about the records that it adds up.
 */
export async function computedFields(
  collection: CollectionModel,
  find: FindCollection,
  access: Pick<RecordAccess, 'mayRead'>,
): Promise<Expressions> {
  const known = compiled.get(collection);
  if (known) return known;
  const fields = [...collection.fields.values()].filter(({ traits }) => traits.column === undefined);
  const children = await rolledUpCollections(collection, find);
  const readable = new Map(children.filter((child) => access.mayRead(child)).map((child) => [child.name, child]));
  const rollup = (field: FieldModel, alias: Sql): Sql =>
    rollupSql(field, readable.get(field.definition.rollup?.collection ?? ''), alias);
  const expressions = new Map(
    fields.map((field) => [
      field.name,
      field.type === 'FORMULA' ? formulaOver(collection, field, rollup) : (alias: Sql): Sql => rollup(field, alias),
    ]),
  );
  if (fields.every(({ definition }) => !definition.rollup)) compiled.set(collection, expressions);
  return expressions;
}

/** Returns the collections that rollups of a collection read. One that was removed is left out: its rollups have no value. */
export async function rolledUpCollections(
  { tenantId, fields }: CollectionModel,
  find: FindCollection,
): Promise<CollectionModel[]> {
  const names = new Set([...fields.values()].flatMap(({ definition }) => definition.rollup?.collection ?? []));
  const found = await Promise.all(
    [...names].map((name) =>
      find(tenantId, name).catch((error: unknown) => {
        if (hasCode(error, 'COLLECTION_UNKNOWN')) return undefined;
        throw error;
      }),
    ),
  );
  return found.flatMap((child) => child ?? []);
}

/** A formula was checked with its definition; one that no longer compiles has no value. */
function formulaOver(
  collection: CollectionModel,
  field: FieldModel,
  rollup: (field: FieldModel, alias: Sql) => Sql,
): (alias: Sql) => Sql {
  const expression = compileFormulaField(collection, field);
  if ('problem' in expression) return () => sql`null::text`;
  return (alias) => {
    const value = formulaSql(expression, { collection, alias, rollup });
    return expression.type === 'number' ? sql`trim_scale(${value})` : value;
  };
}
