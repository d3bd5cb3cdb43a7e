import type { FieldConstraints } from '@drover/contracts';
import type { FieldModel } from '../model/collection-model.js';
import { compileFieldPattern } from '../pattern/compile-field-pattern.js';
import { outOfBounds } from './number-values.js';
import { arrayProblem } from './structured-values.js';
import { shown, ValueProblem, type StoredValue } from './value-problem.js';

type Check = (value: StoredValue) => ValueProblem | undefined;

/** Returns the checks of a value whose type is right. */
export function checksOf({ traits, definition }: FieldModel, maxBytes: number | undefined): readonly Check[] {
  const { constraints = {} } = definition;
  const checks: Check[] = [];
  if (traits.kind === 'text') checks.push(...textChecks(constraints, maxBytes));
  if (constraints.minValue !== undefined || constraints.maxValue !== undefined) {
    checks.push((value) => outOfBounds(value, constraints));
  }
  if (constraints.enum) checks.push(enumCheck(constraints.enum));
  if (traits.kind === 'list') {
    checks.push((value) => arrayProblem(Array.isArray(value) ? value : [], constraints));
  }
  return checks;
}

function textChecks({ minLength, maxLength, pattern }: FieldConstraints, maxBytes: number | undefined): Check[] {
  const checks: Check[] = [];
  if (minLength !== undefined || maxLength !== undefined) {
    checks.push((value) => lengthProblem(asText(value), minLength ?? 0, maxLength ?? Infinity));
  }
  if (maxBytes !== undefined) {
    checks.push((value) =>
      Buffer.byteLength(asText(value)) > maxBytes
        ? new ValueProblem('maxLength', `must have at most ${maxBytes} bytes, because an index holds it`)
        : undefined,
    );
  }
  const matcher = pattern === undefined ? undefined : compileFieldPattern(pattern);
  if (matcher && 'matches' in matcher) {
    checks.push((value) =>
      matcher.matches(asText(value))
        ? undefined
        : new ValueProblem('pattern', `must match the pattern ${pattern}, not ${shown(value)}`),
    );
  }
  return checks;
}

const asText = (value: StoredValue): string => (typeof value === 'string' ? value : '');

/** Counts characters, not UTF-16 units: it counts only where the two can differ in the outcome. */
function lengthProblem(text: string, min: number, max: number): ValueProblem | undefined {
  if (text.length >= min * 2 && text.length <= max) return undefined;
  const length = Array.from(text).length;
  if (length < min) return new ValueProblem('minLength', `must have at least ${min} characters, not ${length}`);
  if (length > max) return new ValueProblem('maxLength', `must have at most ${max} characters, not ${length}`);
  return undefined;
}

function enumCheck(allowed: readonly (string | number)[]): Check {
  const known = new Set<unknown>(allowed);
  return (value) =>
    known.has(value)
      ? undefined
      : new ValueProblem('enum', `must be one of ${allowed.slice(0, 20).join(', ')}, not ${shown(value)}`);
}
