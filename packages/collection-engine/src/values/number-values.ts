import { NumberLiteral } from './number-literal.js';
import { mistyped, ValueProblem, type ReadValue } from './value-problem.js';

export const readInteger: ReadValue = (value) => {
  if (typeof value !== 'number' || !Number.isInteger(value)) return mistyped('an integer', value);
  if (value < -2_147_483_648 || value > 2_147_483_647) {
    return mistyped('an integer between -2147483648 and 2147483647; a LONG field holds larger ones', value);
  }
  return value === 0 ? 0 : value; // no negative zero
};

const digits = /^-?[0-9]{1,19}$/;
const longLimit = 2n ** 63n;

/** Accepts a decimal text too, for clients whose numbers are doubles. */
export const readLong: ReadValue = (given) => {
  const value = given instanceof NumberLiteral ? digitsOf(given) : given;
  if (typeof value === 'string' && digits.test(value)) {
    const exact = BigInt(value);
    const number = Number(exact);
    if (Number.isSafeInteger(number)) return number;
    if (exact < longLimit && exact >= -longLimit) return String(exact);
  }
  if (typeof value === 'number' && Number.isSafeInteger(value)) return value === 0 ? 0 : value;
  return mistyped('an integer of 64 bits; send one beyond ±9007199254740991 as a text', value);
};

/** Returns the double that a number equals, unless JavaScript counts in larger steps there; else its digits. */
function digitsOf({ isExact, text }: NumberLiteral): number | string {
  const value = Number(text);
  return isExact && (Number.isSafeInteger(value) || !Number.isInteger(value)) ? value : text;
}

export const readDouble: ReadValue = (value) =>
  typeof value === 'number' && Number.isFinite(value) ? (value === 0 ? 0 : value) : mistyped('a number', value);

const decimal = /^(-?)0*([0-9]*)(?:\.([0-9]*?)0*)?$/;
/** A double keeps every decimal of so many digits. */
const exactDigits = 15;

/** Reads a decimal of NUMERIC(precision, scale), given as a number or a text. More decimals are refused, never rounded. */
export function decimalReader(precision: number, scale: number): ReadValue {
  const whole = precision - scale;
  const unit = 10 ** scale;
  const plainLimit = 10 ** (exactDigits - scale - 1);
  return (given) => {
    const value = given instanceof NumberLiteral ? digitsOf(given) : given;
    // Most values: their decimals are known to be few without writing them out.
    if (typeof value === 'number' && Math.abs(value) < Math.min(plainLimit, 10 ** whole)) {
      if (Math.round(value * unit) / unit === value) return value + 0;
    }
    const text = decimalText(value);
    const [, sign = '', integer = '', fraction = ''] = (text !== undefined && decimal.exec(text)) || [];
    if (text === undefined || !decimal.test(text) || !/[0-9]/.test(text)) return mistyped('a number', value);
    if (fraction.length > scale) return mistyped(`a number with at most ${scale} decimals`, value);
    if (integer.length > whole) return mistyped(`a number with at most ${whole} digits before the point`, value);
    if (integer.length + scale <= exactDigits) return Number(text) + 0;
    return `${sign}${integer || '0'}${fraction && `.${fraction}`}`;
  };
}

function decimalText(value: unknown): string | undefined {
  if (typeof value === 'string') return value.length <= 40 ? value : undefined;
  if (typeof value !== 'number' || !Number.isFinite(value)) return undefined;
  const text = String(value);
  if (!text.includes('e')) return text;
  return Math.abs(value) < 1 ? value.toFixed(20) : BigInt(value).toString();
}

/** Checks the bounds of a number; a decimal text is compared as a double, which is exact enough for bounds that are doubles. */
export function outOfBounds(
  value: unknown,
  { minValue, maxValue }: { readonly minValue?: number; readonly maxValue?: number },
): ValueProblem | undefined {
  const number = Number(value);
  if (minValue !== undefined && number < minValue) {
    return new ValueProblem('minValue', `must be at least ${minValue}, not ${String(value)}`);
  }
  if (maxValue !== undefined && number > maxValue) {
    return new ValueProblem('maxValue', `must be at most ${maxValue}, not ${String(value)}`);
  }
  return undefined;
}
