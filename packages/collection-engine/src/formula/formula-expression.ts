import type { FieldModel } from '../model/collection-model.js';
import type { OperationName } from './operations.js';

export type FormulaType = 'number' | 'text' | 'boolean' | 'date' | 'datetime';

/** Attributes of the platform that formulas of fields can read. */
export type SystemAttribute = 'id' | 'version' | 'createdAt' | 'updatedAt' | 'createdBy' | 'updatedBy';

/** A checked formula: every operation knows its types, formulas of other fields are written out. Plain data. */
export type FormulaExpression =
  /** A number is a decimal text, a date and a time are as they are stored. */
  | { readonly kind: 'literal'; readonly type: FormulaType; readonly value: string | boolean | null }
  | { readonly kind: 'field'; readonly type: FormulaType | 'other'; readonly field: FieldModel }
  | { readonly kind: 'attribute'; readonly type: FormulaType; readonly name: SystemAttribute }
  | {
      readonly kind: 'operation';
      readonly type: FormulaType;
      readonly name: OperationName;
      readonly operands: readonly FormulaExpression[];
      /** Of REGEX and ROUND: a pattern, a number of digits. */
      readonly setting?: string | undefined;
    };
