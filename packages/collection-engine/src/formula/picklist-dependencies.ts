import type { CollectionModel, FieldModel } from '../model/collection-model.js';
import { constant, join, sql, type Sql } from '../sql/sql.js';
import { fieldExpression } from '../storage/field-expression.js';

/** A picklist whose values are limited by the value of another one, in both languages. */
export interface PicklistDependency {
  readonly field: FieldModel;
  /** For records that are known in Node: whether their values, by column, fit each other. */
  readonly allows: (values: Readonly<Record<string, unknown>>) => boolean;
  /** For rows: a condition that is never null. */
  readonly isAllowed: (alias: Sql) => Sql;
}

const compiled = new WeakMap<CollectionModel, readonly PicklistDependency[]>();

/** Returns the dependencies between picklists of a collection, compiled once per model. */
export function picklistDependencies(collection: CollectionModel): readonly PicklistDependency[] {
  const known = compiled.get(collection);
  if (known) return known;
  const dependencies = [...collection.fields.values()].flatMap((field) => {
    const controlling = collection.fields.get(field.definition.dependsOn?.field ?? '');
    return controlling ? [dependencyOf(collection, field, controlling)] : [];
  });
  compiled.set(collection, dependencies);
  return dependencies;
}

function dependencyOf(collection: CollectionModel, field: FieldModel, controlling: FieldModel): PicklistDependency {
  const allowed = new Map(Object.entries(field.definition.dependsOn?.values ?? {}));
  return {
    field,
    allows: (values) => {
      const given = values[field.column] ?? null;
      if (given === null) return true;
      const control = values[controlling.column];
      const fits = (typeof control === 'string' ? allowed.get(control) : undefined) ?? [];
      return (Array.isArray(given) ? given : [given]).every((one: unknown) => fits.includes(String(one)));
    },
    isAllowed: (alias) => {
      const value = fieldExpression(collection, field, alias);
      const control = fieldExpression(collection, controlling, alias);
      const cases = [...allowed].map(
        ([wanted, values]) => sql`when ${constant(wanted)} then ${isAmong(collection, field, value, values)}`,
      );
      const fits = cases.length === 0 ? sql`false` : sql`case ${control} ${join(cases, sql` `)} else false end`;
      const isEmpty = isAmong(collection, field, value, []);
      return sql`(${value} is null or coalesce(${fits}, false) or coalesce(${isEmpty}, false))`;
    },
  };
}

/** Whether a value, or every value of a list, is one of these. */
function isAmong({ storageMode }: CollectionModel, { type }: FieldModel, value: Sql, values: readonly string[]): Sql {
  if (type === 'MULTI_PICKLIST' && storageMode === 'JSONB') {
    return sql`${value} <@ ${constant(JSON.stringify(values))}::jsonb`;
  }
  const list = join(
    values.map((one) => constant(one)),
    sql`, `,
  );
  if (type === 'MULTI_PICKLIST') return sql`${value} <@ array[${list}]::text[]`;
  return values.length === 0 ? sql`false` : sql`${value} in (${list})`;
}
