/** What a value can violate; the names are the codes of validation errors. */
export type ValueConstraint =
  | 'nullable'
  | 'type'
  | 'minValue'
  | 'maxValue'
  | 'minLength'
  | 'maxLength'
  | 'pattern'
  | 'enum'
  | 'picklist'
  | 'minItems'
  | 'maxItems'
  | 'itemType'
  | 'readOnly';

/** Why a value was refused. `message` is a sentence with the field, the value and what is expected. */
export class ValueProblem {
  readonly constraint: ValueConstraint;
  readonly message: string;
  /** Keys within the value of the field that lead to what is wrong. */
  readonly path: readonly string[];

  constructor(constraint: ValueConstraint, message: string, path: readonly string[] = []) {
    this.constraint = constraint;
    this.message = message;
    this.path = path;
  }
}

/**
 * A checked value as it is stored: JSON that PostgreSQL reads into the column of the field, and that stands in a JSONB document as
 * it is. Numbers beyond the precision of a double are decimal texts.
 */
export type StoredValue = null | string | number | boolean | readonly unknown[] | Readonly<Record<string, unknown>>;

/** Reads one JSON value of a type. The message of a problem is the part of the sentence after the name of the field. */
export type ReadValue = (value: unknown) => StoredValue | ValueProblem;

/** Shows a value in a message, cut to what a reader needs to find it. */
export function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 60 ? `${text.slice(0, 59)}…` : text;
}

export const mistyped = (expected: string, value: unknown): ValueProblem =>
  new ValueProblem('type', `must be ${expected}, not ${shown(value)}`);
