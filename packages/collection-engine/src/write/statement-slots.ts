import type { Queryable } from '@drover/database';
import type { PreparedStatements } from '../sql/prepared-statements.js';
import { parameter, type Sql } from '../sql/sql.js';

/**
 * Values that a statement of writes takes. The text of such a statement depends only on the definition and the shape of the
 * request, so it is built once per shape with slots in place of values, and each request fills them.
 */
export interface SlotValues {
  readonly tenant: string;
  readonly actor: string;
  /** The records as JSON: one object or an array of them, see `inputRows`. */
  readonly rows: string;
  readonly id: string;
  readonly ids: readonly string[];
  readonly key: string;
  readonly fingerprint: string;
  readonly limit: number;
  readonly version: number | null;
  readonly at: string;
  readonly parent: string;
}

type SlotName = keyof SlotValues;

class Slot {
  readonly name: SlotName;

  constructor(name: SlotName) {
    this.name = name;
  }
}

export const slot = (name: SlotName): Sql => parameter(new Slot(name));

/** Replaces the slots among the values of a rendered statement; other values stay. */
export function fillSlots(values: readonly unknown[], filling: Partial<SlotValues>): unknown[] {
  return values.map((value) => (value instanceof Slot ? filling[value.name] : value));
}

/** Runs a statement with slots. For one that is built anew each time; `saveRecords` keeps the text of its statements. */
export function runSlots<R extends object>(
  statements: PreparedStatements,
  target: Queryable,
  statement: Sql,
  filling: Partial<SlotValues>,
): Promise<R[]> {
  const { text, values } = statement.render();
  return statements.runText<R>(target, text, fillSlots(values, filling));
}
