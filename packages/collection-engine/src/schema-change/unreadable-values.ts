import type { Queryable } from '@drover/database';
import type { CollectionModel, FieldModel } from '../model/collection-model.js';
import { parameter, sql } from '../sql/sql.js';
import { fieldExpression, tableOf } from '../storage/field-expression.js';
import { fieldCodec } from '../values/field-codec.js';
import { ValueProblem } from '../values/value-problem.js';

const batchRows = 2_000;
const lowestId = '00000000-0000-0000-0000-000000000000';

/** Types whose texts have a format that PostgreSQL does not know. */
const formats: ReadonlySet<string> = new Set(['EMAIL', 'URL', 'PHONE', 'EXTERNAL_ID']);

/** Whether values that are stored have to be read like those of requests, to see whether the field still allows them. */
export function mustBeRead(before: FieldModel | undefined, after: FieldModel): before is FieldModel {
  if (!before || before.column !== after.column || after.traits.column === undefined) return false;
  const [was, is] = [before.definition.constraints ?? {}, after.definition.constraints ?? {}];
  const hasNewFormat = before.type !== after.type && formats.has(after.type);
  const hasNewPattern = is.pattern !== undefined && is.pattern !== was.pattern;
  return hasNewFormat || hasNewPattern || (is.itemType !== undefined && is.itemType !== was.itemType);
}

/** Counts the records with a value that a request could not write any more. */
export async function countUnreadable(
  target: Queryable,
  collection: CollectionModel,
  field: FieldModel,
): Promise<number> {
  const codec = fieldCodec(field);
  let unreadable = 0;
  for (let last: string | undefined = lowestId; last !== undefined; ) {
    const rows: readonly StoredText[] = await readBatch(target, collection, field, last);
    unreadable += rows.filter(({ value }) => codec.parse(value) instanceof ValueProblem).length;
    last = rows.length < batchRows ? undefined : rows.at(-1)?.id;
  }
  return unreadable;
}

interface StoredText {
  readonly id: string;
  readonly value: unknown;
}

function readBatch(
  target: Queryable,
  collection: CollectionModel,
  field: FieldModel,
  after: string,
): Promise<readonly StoredText[]> {
  const value = fieldExpression(collection, field, sql`t`);
  const { text, values } = sql`
    select t.id, to_jsonb(${value}) as value from ${tableOf(collection)} as t
    where t.id > ${parameter(after)} and t.deleted_at is null and ${value} is not null
    order by t.id limit ${parameter(batchRows)}`.render();
  return target.query<StoredText>(text, values);
}
