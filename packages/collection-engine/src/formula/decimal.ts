/**
 * Numbers of formulas: decimals with 12 digits after the point, computed exactly, so that Node and PostgreSQL agree and money has no
 * binary fractions. A decimal is a bigint in units of 10^-12. What reaches 10^30 is no value.
 */
export type Decimal = bigint;

export const scale = 12;
const one = 10n ** BigInt(scale);
const bound = 10n ** 30n * one;

export const limitDecimal = (value: Decimal): Decimal | null => (value < bound && value > -bound ? value : null);

const written = /^([+-]?)([0-9]*)(?:\.([0-9]*))?(?:e([+-]?[0-9]+))?$/i;

/** Reads a decimal text, rounded half away from zero. Returns null for what is no number or too large. */
export function toDecimal(text: string): Decimal | null {
  const [, sign = '', integer = '', fraction = '', exponent = '0'] = written.exec(text) ?? [];
  if (integer + fraction === '') return null;
  const shift = Number(exponent) + scale - fraction.length;
  if (shift > 400) return /[1-9]/.test(integer + fraction) ? null : 0n;
  const digits = BigInt(integer + fraction);
  const value =
    shift >= 0 ? digits * 10n ** BigInt(shift) : divideRounded(digits, 10n ** BigInt(Math.min(-shift, 800)));
  return limitDecimal(sign === '-' ? -value : value);
}

/** Converts a double as PostgreSQL converts one to NUMERIC: to 15 significant digits, halves to even. */
export function doubleToDecimal(value: number): Decimal | null {
  const rounded = value.toPrecision(15);
  // oxlint-disable-next-line oxc/number-arg-out-of-range -- the limit is 100 digits since ECMAScript 2018
  const exact = value.toPrecision(60).replace(/0+$|0+(?=e)/, '');
  const digits = exact.replaceAll(/[-.]|e.*$/g, '').replaceAll(/^0+|0+$/g, '');
  const isHalf = digits.length === 16 && digits.endsWith('5');
  if (!isHalf || Number(digits[14]) % 2 === 1) return toDecimal(rounded);
  return toDecimal(exact.replace(/5(?=[0.]*(?:$|e))/, '0'));
}

/** Shortest text of a decimal. */
export function textOfDecimal(value: Decimal): string {
  const digits = (value < 0n ? -value : value).toString().padStart(scale + 1, '0');
  const fraction = digits.slice(-scale).replace(/0+$/, '');
  return `${value < 0n ? '-' : ''}${digits.slice(0, -scale)}${fraction && `.${fraction}`}`;
}

export const multiply = (left: Decimal, right: Decimal): Decimal | null =>
  limitDecimal(divideRounded(left * right, one));

export const divide = (left: Decimal, right: Decimal): Decimal | null =>
  right === 0n ? null : limitDecimal(divideRounded(left * one, right));

/** Rounds to `digits` after the point; negative ones round before it. */
export function roundDecimal(value: Decimal, digits: number): Decimal | null {
  if (digits >= scale) return value;
  const unit = 10n ** BigInt(scale - digits);
  return limitDecimal(divideRounded(value, unit) * unit);
}

/** Cuts what is after the point. */
export const wholeOf = (value: Decimal): number => Number(value / one);

export const decimalOf = (whole: number): Decimal => BigInt(whole) * one;

/** Half away from zero, as PostgreSQL rounds NUMERIC. */
function divideRounded(dividend: bigint, divisor: bigint): bigint {
  const isNegative = dividend < 0n !== divisor < 0n;
  const [top, bottom] = [dividend < 0n ? -dividend : dividend, divisor < 0n ? -divisor : divisor];
  const rounded = (top * 2n + bottom) / (bottom * 2n);
  return isNegative ? -rounded : rounded;
}
