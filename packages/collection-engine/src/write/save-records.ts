import { BoundedMap } from '@drover/service-kit';
import type { Queryable } from '@drover/database';
import type { CollectionModel } from '../model/collection-model.js';
import type { PreparedStatements } from '../sql/prepared-statements.js';
import { isByColumn, toInputColumns, toInputRows, type RecordDocument } from './input-rows.js';
import { saveStatement, type SavedRow, type SaveShape } from './save-statement.js';
import { givenFields } from './stored-record-json.js';
import { fillSlots, type SlotValues } from './statement-slots.js';

/** A key under which a write happens once. */
interface IdempotencyKey {
  readonly key: string;
  readonly fingerprint: string;
  /** Whether no other statement has this key yet, so that a violated unique index has another cause. */
  readonly isNew?: boolean;
}

/** A write of records of one collection, checked and planned. */
export interface SavePlan
  extends Omit<SaveShape, 'fields' | 'isUniform' | 'isConditional' | 'isIdempotent' | 'answer'> {
  readonly documents: readonly RecordDocument[];
  /** What the answer shows of the records: names the shape, and makes the JSON of one. */
  readonly view: { readonly name: string; readonly json: SaveShape['answer'] };
  readonly idempotency?: IdempotencyKey | undefined;
  /** Names what the expressions of computed attributes in `claims` depend on. */
  readonly claimsOf?: string | undefined;
  /** Values of further slots. */
  readonly filling?: Partial<SlotValues>;
}

interface BuiltStatement {
  readonly text: string;
  readonly values: readonly unknown[];
}

/** Shapes of one collection; a patch has one for each set of fields. */
const maxShapes = 200;
const built = new WeakMap<CollectionModel, BoundedMap<string, BuiltStatement>>();

/** On whose behalf records are saved, and with which prepared statements. */
export interface SaveRunner {
  readonly tenantId: string;
  readonly actor: string;
  readonly statements: PreparedStatements;
}

/** Runs the statement of a write. The rows are those of the records, or problems; with a problem nothing was written. */
export function saveRecords(target: Queryable, plan: SavePlan, by: SaveRunner): Promise<SavedRow[]> {
  const { collection, documents, idempotency, isArray, kind } = plan;
  const { text, values } = statementOf(plan);
  const filling: Partial<SlotValues> = {
    tenant: by.tenantId,
    actor: by.actor,
    ...(isByColumn(plan)
      ? { columns: toInputColumns(documents, givenFields(collection)) }
      : { rows: toInputRows(collection, documents, { isArray, withGiven: kind !== 'create' }) }),
    id: documents[0]?.id ?? '',
    ...(idempotency && { key: idempotency.key, fingerprint: idempotency.fingerprint }),
    ...plan.filling,
  };
  return by.statements.runText<SavedRow>(target, text, fillSlots(values, filling));
}

/** Builds the statement once per model and shape: most of the time of a write in Node would go there. */
export function statementOf(plan: SavePlan): BuiltStatement {
  const { collection, kind, isArray, references, rules, key, view, idempotency, documents } = plan;
  const columns = kind === 'create' ? [] : columnsOf(documents); // a create sets all columns
  const isUniform = kind === 'update' && documents.every(({ values }) => Object.keys(values).length === columns.length);
  const isConditional = documents.some(({ expected }) => expected !== undefined);
  const name = [
    kind,
    isArray,
    isUniform,
    isConditional,
    idempotency !== undefined,
    key?.name,
    view.name,
    plan.isSilent,
    plan.parent?.column,
    plan.source !== undefined,
    columns.join(),
    references.map(({ field, target }) => `${field.column}:${target.table}`).join(),
    rules.map((rule) => rule.name).join(),
    plan.claims.length === 0 ? '' : `${plan.claims.map((claim) => claim.name).join()} ${plan.claimsOf}`,
  ].join('|');
  const shapes = built.get(collection) ?? new BoundedMap({ maxWeight: maxShapes, whenFull: 'evict-unused' });
  const known = plan.which ? undefined : shapes.get(name); // the values of a filter are part of its statement
  if (known) return known;
  const given = new Set(columns);
  const statement = saveStatement({
    ...plan,
    fields: [...collection.fields.values()].filter(({ column }) => given.has(column)),
    isUniform,
    isConditional,
    isIdempotent: idempotency !== undefined,
    answer: view.json,
  }).render();
  if (plan.which) return statement;
  built.set(collection, shapes);
  shapes.set(name, statement);
  return statement;
}

const columnsOf = (documents: readonly RecordDocument[]): string[] => {
  const columns = new Set<string>();
  for (const { values } of documents) for (const column in values) columns.add(column);
  return [...columns];
};
