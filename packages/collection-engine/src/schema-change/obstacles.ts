import type { Queryable } from '@drover/database';
import type { CollectionModel } from '../model/collection-model.js';
import { identifier, join, sql, type Sql } from '../sql/sql.js';
import type { CollectionIndex } from '../storage/collection-indexes.js';
import { fieldExpression, tableOf } from '../storage/field-expression.js';
import type { ChangeRefusal } from './change-plan.js';
import type { Gate } from './gates.js';
import type { PlannedChange } from './plan-change.js';
import { countUnreadable, mustBeRead } from './unreadable-values.js';

/** Something that records may do against a change. */
interface Obstacle {
  /** Statement that returns the number of records as `records`. */
  readonly count: Sql;
  readonly refusal: (records: number) => ChangeRefusal;
}

/** Counts what stands in the way of a change before it starts. The constraints and indexes of the change find what is written later. */
export async function countObstacles(target: Queryable, change: PlannedChange): Promise<readonly ChangeRefusal[]> {
  const refusals: ChangeRefusal[] = [];
  for (const { count, refusal } of obstaclesOf(change)) {
    const records = await countRecords(target, count);
    if (records > 0) refusals.push(refusal(records));
  }
  for (const field of change.after.fields.values()) {
    if (!mustBeRead(change.origins.get(field.name), field)) continue;
    const records = await countUnreadable(target, change.after, field);
    const property = change.origins.get(field.name)?.type === field.type ? 'pattern' : 'format';
    if (records > 0) refusals.push(valueRefusal(change, { field, property }, records));
  }
  return refusals;
}

export async function refuseGate(target: Queryable, change: PlannedChange, gate: Gate): Promise<ChangeRefusal> {
  return valueRefusal(change, gate, await countRecords(target, countUnlike(change.after, gate.condition)));
}

export async function refuseIndex(
  target: Queryable,
  change: PlannedChange,
  index: CollectionIndex,
): Promise<ChangeRefusal> {
  return indexRefusal(change, index, await countRecords(target, countDuplicates(change.after, index)));
}

async function countRecords(target: Queryable, statement: Sql): Promise<number> {
  const [row] = await target.query<{ records: number }>(statement.render().text);
  return row?.records ?? 0;
}

function obstaclesOf(change: PlannedChange): readonly Obstacle[] {
  const { before, after, retypeGates, gates, indexes } = change;
  const stored = new Set([...before.fields.values()].map(({ column }) => column));
  const filled = new Set(change.bridge.filled.map(({ name }) => name));
  const isChecked = ({ field, property }: Gate): boolean =>
    property === 'required' ? !filled.has(field.name) : stored.has(field.column);
  const uniqueIndexes = indexes.filter(
    ({ isUnique, fields }) => isUnique && fields.every((name) => stored.has(after.fields.get(name)?.column ?? '')),
  );
  return [
    ...retypeGates.map((gate) => ({
      count: countUnlike(after, gate.condition),
      refusal: (records: number) => valueRefusal(change, gate, records),
    })),
    ...gates.filter(isChecked).map((gate) => ({
      count: gate.property === 'required' ? countMissing(change, gate) : countUnlike(after, gate.condition),
      refusal: (records: number) => valueRefusal(change, gate, records),
    })),
    ...uniqueIndexes.map((index) => ({
      count: countDuplicates(after, index),
      refusal: (records: number) => indexRefusal(change, index, records),
    })),
  ];
}

function countUnlike(collection: CollectionModel, condition: Sql): Sql {
  return sql`select count(*) as records from ${tableOf(collection)} where not (${condition})`;
}

/** Records without a value in the column that the field has now. */
function countMissing({ before, after, origins }: PlannedChange, { field }: Gate): Sql {
  const origin = origins.get(field.name);
  const live = sql`select count(*) as records from ${tableOf(after)} where deleted_at is null`;
  if (origin?.traits.column === undefined) return live;
  return sql`${live} and ${fieldExpression(before, origin, identifier(before.table))} is null`;
}

function countDuplicates(collection: CollectionModel, { fields }: CollectionIndex): Sql {
  const values = fields.flatMap((name) => {
    const field = collection.fields.get(name);
    return field ? [fieldExpression(collection, field, identifier(collection.table))] : [];
  });
  const present = join(
    values.map((value) => sql`${value} is not null`),
    sql` and `,
  );
  return sql`select coalesce(sum(records), 0)::bigint as records from (
    select count(*) as records from ${tableOf(collection)} where deleted_at is null and ${present}
    group by ${join(values, sql`, `)} having count(*) > 1) as duplicates`;
}

function valueRefusal(
  { after, origins }: PlannedChange,
  { field, property }: Pick<Gate, 'field' | 'property'>,
  records: number,
): ChangeRefusal {
  const path = `${pathOf(after, field.name)}/${pathWithin(property)}`;
  const before = origins.get(field.name);
  const have = `${records} ${records === 1 ? 'record has' : 'records have'}`;
  const fix = 'Change or delete these records first.';
  switch (property) {
    case 'required':
      return {
        path,
        records,
        message: `Field "${field.name}" is required, but ${have} no value. Give the field a default, or fill the records first.`,
      };
    case 'type':
      return {
        path,
        records,
        message: `Field "${field.name}" cannot change from ${typeName(before)} to ${typeName(field)}: ${have} a value that would be lost. ${fix}`,
      };
    case 'indexed':
      return {
        path,
        records,
        message: `Field "${field.name}" cannot get an index: ${have} a text that is too long for one. Shorten these texts first.`,
      };
    case 'format':
      return {
        path,
        records,
        message: `Field "${field.name}" cannot change from ${typeName(before)} to ${typeName(field)}: ${have} a value of another format. ${fix}`,
      };
    default:
      return {
        path,
        records,
        message: `Field "${field.name}" cannot get this "${property}": ${have} a value that it does not allow. ${fix}`,
      };
  }
}

type NamedType = {
  readonly type: string;
  readonly definition: { readonly references?: { readonly collection: string } };
};

const typeName = (field: NamedType | undefined): string =>
  field?.definition.references
    ? `${field.type} to "${field.definition.references.collection}"`
    : (field?.type ?? 'nothing');

function indexRefusal({ after }: PlannedChange, { fields }: CollectionIndex, records: number): ChangeRefusal {
  const [only] = fields;
  const isField = fields.length === 1 && only !== undefined && after.fields.get(only)?.isUnique === true;
  const names = fields.map((name) => `"${name}"`).join(', ');
  return {
    path: isField ? `${pathOf(after, only)}/unique` : '/uniqueSets',
    records,
    message: `${names} cannot be unique: ${records} records have a value that another one has, too. Change or delete these records first.`,
  };
}

function pathOf({ definition }: CollectionModel, name: string): string {
  return `/fields/${definition.fields.findIndex((field) => field.name === name)}`;
}

function pathWithin(property: string): string {
  if (property === 'format') return 'type';
  return ['required', 'type', 'values', 'indexed', 'dependsOn'].includes(property)
    ? property
    : `constraints/${property}`;
}
