import type { FieldType } from '@drover/contracts';

/** How values of a type behave: what JSON they are, how PostgreSQL stores and compares them. */
export interface FieldTraits {
  /** Kind of the value in JSON and of comparisons. */
  readonly kind: 'text' | 'integer' | 'number' | 'boolean' | 'date' | 'datetime' | 'json' | 'list' | 'reference';
  /** Type of the column of a physical table; undefined if the value is computed and not stored. */
  readonly column: string | undefined;
  /** Whether records can be ordered by it, and compared with `gt`, `lt` and `between`. */
  readonly isOrdered: boolean;
  /** Whether clients may set it. */
  readonly isWritable: boolean;
}

const text = (column = 'text'): FieldTraits => ({ kind: 'text', column, isOrdered: true, isWritable: true });
const number = (kind: 'integer' | 'number', column: string): FieldTraits => ({
  kind,
  column,
  isOrdered: true,
  isWritable: true,
});
const reference: FieldTraits = { kind: 'reference', column: 'uuid', isOrdered: false, isWritable: true };
const json = (kind: 'json' | 'list', column = 'jsonb'): FieldTraits => ({
  kind,
  column,
  isOrdered: false,
  isWritable: true,
});

export const fieldTraits: Readonly<Record<FieldType, FieldTraits>> = {
  STRING: text(),
  TEXT: text(),
  RICH_TEXT: text(),
  INTEGER: number('integer', 'integer'),
  LONG: number('integer', 'bigint'),
  DOUBLE: number('number', 'double precision'),
  BOOLEAN: { kind: 'boolean', column: 'boolean', isOrdered: true, isWritable: true },
  DATE: { kind: 'date', column: 'date', isOrdered: true, isWritable: true },
  DATETIME: { kind: 'datetime', column: 'timestamptz', isOrdered: true, isWritable: true },
  JSON: json('json'),
  ARRAY: json('list'),
  LOOKUP: reference,
  MASTER_DETAIL: reference,
  PICKLIST: text(),
  MULTI_PICKLIST: json('list', 'text[]'),
  CURRENCY: number('number', 'numeric(18,2)'),
  PERCENT: number('number', 'numeric(8,4)'),
  AUTO_NUMBER: { ...text(), isWritable: false },
  PHONE: text(),
  EMAIL: text(),
  URL: text(),
  ENCRYPTED: { kind: 'text', column: 'bytea', isOrdered: false, isWritable: true },
  EXTERNAL_ID: text(),
  GEOLOCATION: json('json'),
  FORMULA: { kind: 'text', column: undefined, isOrdered: false, isWritable: false }, // the kind is that of its result
  ROLLUP_SUMMARY: { kind: 'number', column: undefined, isOrdered: false, isWritable: false },
};
