import { systemColumns, type CollectionModel } from '../model/collection-model.js';
import type { ComputedFields } from '../respond/record-json.js';
import { constant, identifier, sql, type Sql } from '../sql/sql.js';
import { fieldExpression } from '../storage/field-expression.js';
import { NumberLiteral } from '../values/number-literal.js';
import { readDatetime } from '../values/time-values.js';
import { ValueProblem } from '../values/value-problem.js';
import { inputColumns } from './input-rows.js';

/*
 * Values that the platform sets and a client has sent, usually because it writes back what it has read. The write goes on if the record
 * has them, and changes nothing about them.
 */

/** An attribute that no client sets: how values of it are compared, and its value over a row. */
export interface ClaimedAttribute {
  readonly name: string;
  readonly kind: 'number' | 'datetime' | 'other';
  readonly expression: (alias: Sql) => Sql;
}

const systemKinds: Readonly<Record<keyof typeof systemColumns, ClaimedAttribute['kind']>> = {
  createdAt: 'datetime',
  updatedAt: 'datetime',
  deletedAt: 'datetime',
  createdBy: 'other',
  updatedBy: 'other',
};

const isSystem = (name: string): name is keyof typeof systemColumns => Object.hasOwn(systemColumns, name);

function kindOf({ fields }: CollectionModel, name: string): ClaimedAttribute['kind'] | undefined {
  if (isSystem(name)) return systemKinds[name];
  const field = fields.get(name);
  if (!field || field.traits.isWritable) return undefined;
  const { kind } = field.traits;
  return kind === 'number' || kind === 'integer' ? 'number' : kind === 'datetime' ? 'datetime' : 'other';
}

/** Returns the value as the statement compares it; undefined if the platform has no such attribute, or never such a value. */
export function toClaim(collection: CollectionModel, name: string, value: unknown): unknown {
  const kind = kindOf(collection, name);
  if (kind === undefined || value === null) return kind && null;
  if (kind === 'number') {
    const number = value instanceof NumberLiteral ? Number(value.text) : value;
    return typeof number === 'number' && Number.isFinite(number) ? number : undefined;
  }
  if (kind === 'datetime') return isTime(value) ? value : undefined;
  return typeof value === 'string' || typeof value === 'boolean' ? value : undefined;
}

/** Answers have the offset; PostgreSQL would read a time without one in the zone of the session. */
const isTime = (value: unknown): boolean =>
  typeof value === 'string' && /(?:Z|[+-]\d\d:?\d\d)$/i.test(value) && !(readDatetime(value) instanceof ValueProblem);

/** Returns the attributes of these names, over rows of the collection. */
export function claimedAttributes(
  collection: CollectionModel,
  names: Iterable<string>,
  computed: ComputedFields,
): ClaimedAttribute[] {
  return [...names].flatMap((name): ClaimedAttribute[] => {
    const kind = kindOf(collection, name);
    if (kind === undefined) return [];
    if (isSystem(name))
      return [{ name, kind, expression: (alias) => sql`${alias}.${identifier(systemColumns[name])}` }];
    const field = collection.fields.get(name);
    const stored = field && ((alias: Sql): Sql => fieldExpression(collection, field, alias));
    const expression = computed.get(name) ?? stored;
    return expression ? [{ name, kind, expression }] : [];
  });
}

const input = identifier('input');

/**
 * Returns the condition that the row `alias` has another value than a record of `input` says. Numbers are equal as doubles, which most
 * clients read them as, and times as milliseconds.
 */
export function differsFromClaim({ name, kind, expression }: ClaimedAttribute, alias: Sql): Sql {
  const claims = sql`${input}.${inputColumns.claims}`;
  const key = constant(name);
  const own = expression(alias);
  const text = sql`(${claims} ->> ${key})`;
  const isEqual =
    kind === 'number'
      ? sql`(${own})::double precision is not distinct from ${text}::double precision`
      : kind === 'datetime'
        ? sql`date_trunc('milliseconds', (${own})::timestamptz) is not distinct from date_trunc('milliseconds', ${text}::timestamptz)`
        : sql`to_jsonb(${own}) is not distinct from nullif(${claims} -> ${key}, 'null'::jsonb)`;
  return sql`${claims} ? ${key} and not (${isEqual})`;
}
