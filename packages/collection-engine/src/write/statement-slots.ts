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
  /** The records as one array per column, see `inputFromColumns`. */
  readonly columns: readonly string[];
  readonly id: string;
  readonly ids: readonly string[];
  readonly key: string;
  readonly fingerprint: string;
  readonly limit: number;
  readonly version: number | null;
  readonly at: string;
  readonly parent: string;
}

class Slot {
  readonly valueIn: (filling: Partial<SlotValues>) => unknown;

  constructor(valueIn: (filling: Partial<SlotValues>) => unknown) {
    this.valueIn = valueIn;
  }
}

export const slot = (name: Exclude<keyof SlotValues, 'columns'>): Sql =>
  parameter(new Slot((filling) => filling[name]));
export const columnSlot = (at: number): Sql => parameter(new Slot(({ columns }) => columns?.[at]));

/** Replaces the slots among the values of a rendered statement; other values stay. */
export function fillSlots(values: readonly unknown[], filling: Partial<SlotValues>): unknown[] {
  return values.map((value) => (value instanceof Slot ? value.valueIn(filling) : value));
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
