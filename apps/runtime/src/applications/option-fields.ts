import { parseTimeSpan, timeSpanRule } from '@drover/trigger-sources';

/** One option: its allowed values and its default. */
export interface OptionField<Value> {
  readonly kind: 'value';
  /** For error messages: "a whole number from 1 to 32". */
  readonly expects: string;
  readonly fallback: Value;
  /** Returns undefined if the value is invalid. Accepts strings too, since overrides come from environment variables. */
  readonly read: (raw: unknown) => ReadValue<Value> | undefined;
  readonly isUnused?: boolean;
}

interface ReadValue<Value> {
  readonly value: Value;
  /** How a surprising value was understood, for a warning. */
  readonly note?: string;
}

/** A duration. It is read as milliseconds, under its name with the suffix `Ms`. */
export interface DurationField<Value extends number | undefined = number | undefined> extends OptionField<Value> {
  readonly unit: 'ms';
}

/** A section of options. */
export interface OptionSection<Fields extends OptionFields = OptionFields> {
  readonly kind: 'section';
  readonly fields: Fields;
  readonly isUnused?: boolean;
}

/** A section that a trigger source reads: its rules are defined there, and only there. */
export interface ExternalSection<Values> {
  readonly kind: 'external';
  readonly names: readonly string[];
  readonly read: (raw: unknown) => {
    readonly values: Values;
    /** `key` is empty for a problem of the whole section. */
    readonly problems: readonly { readonly key: string; readonly problem: string }[];
    readonly warnings: readonly { readonly key: string; readonly problem: string }[];
    readonly unknownKeys: readonly string[];
  };
  readonly isUnused?: boolean;
}

export type OptionFields = { readonly [name: string]: OptionField<unknown> | OptionSection | ExternalSection<unknown> };

/** The values of fields once they were read: every option has one. */
export type Options<Fields extends OptionFields> = {
  readonly [Name in keyof Fields as Fields[Name] extends DurationField ? `${Name & string}Ms` : Name]: OptionsOf<
    Fields[Name]
  >;
};

type OptionsOf<Field> =
  Field extends OptionSection<infer Fields>
    ? Options<Fields>
    : Field extends OptionField<infer Value>
      ? Value
      : Field extends ExternalSection<infer Values>
        ? Values
        : never;

export function section<Fields extends OptionFields>(fields: Fields): OptionSection<Fields> {
  return { kind: 'section', fields };
}

/** Marks an option or a section on which nothing here depends: an invalid value is a warning, not an error. */
export function unused<Field extends OptionFields[string]>(option: Field): Field {
  return { ...option, isUnused: true };
}

export function external<Values>(
  names: readonly string[],
  read: ExternalSection<Values>['read'],
): ExternalSection<Values> {
  return { kind: 'external', names, read };
}

export function field<Value>(
  expects: string,
  fallback: Value,
  read: (raw: unknown) => ReadValue<Value> | undefined,
): OptionField<Value> {
  return { kind: 'value', expects, fallback, read };
}

interface WholeLimits {
  readonly min: number;
  readonly max?: number;
}

export function whole(fallback: number, limits: WholeLimits): OptionField<number> {
  return field(wholeRule(limits), fallback, (raw) => {
    const value = toWhole(raw, limits);
    return value === undefined ? undefined : { value };
  });
}

/** An optional whole number. The number `unbounded` stands for no limit. */
export function optionalWhole(limits: WholeLimits & { readonly unbounded?: number }): OptionField<number | undefined> {
  const { unbounded } = limits;
  const expects = `${wholeRule(limits)}${unbounded === undefined ? '' : `, or ${unbounded} for no limit`}`;
  return field<number | undefined>(expects, undefined, (raw) => {
    if (unbounded !== undefined && toText(raw)?.trim() === String(unbounded)) return { value: undefined };
    const value = toWhole(raw, limits);
    return value === undefined ? undefined : { value };
  });
}

const largestWhole = 2 ** 31 - 1;

function wholeRule({ min, max }: WholeLimits): string {
  return `a whole number ${max === undefined ? `of at least ${min}` : `from ${min} to ${max}`}`;
}

function toWhole(raw: unknown, { min, max = largestWhole }: WholeLimits): number | undefined {
  const value = typeof raw === 'string' && /^\s*-?\d{1,15}\s*$/.test(raw) ? Number(raw) : raw;
  if (typeof value !== 'number' || !Number.isSafeInteger(value)) return undefined;
  return value >= min && value <= max ? value : undefined;
}

export function fraction(fallback: number): OptionField<number> {
  return field('a number from 0 to 1', fallback, (raw) => {
    const value = typeof raw === 'string' && raw.trim() !== '' ? Number(raw) : raw;
    return typeof value === 'number' && value >= 0 && value <= 1 ? { value } : undefined;
  });
}

export function flag(fallback: boolean): OptionField<boolean> {
  return field('true or false', fallback, (raw) => {
    if (typeof raw === 'boolean') return { value: raw };
    const text = typeof raw === 'string' ? raw.trim().toLowerCase() : '';
    return text === 'true' || text === 'false' ? { value: text === 'true' } : undefined;
  });
}

/** A string. A number or a flag is read as its text, as in Azure. */
export function words<Fallback extends string | undefined>(fallback: Fallback): OptionField<string | Fallback> {
  return field<string | Fallback>('text', fallback, (raw) => {
    const value = toText(raw);
    return value === undefined ? undefined : { value };
  });
}

/** Overrides represent a list as an object with the keys "0", "1" … As in Azure, a single value in place of a list is ignored. */
export function list(): OptionField<readonly string[] | undefined> {
  return field<readonly string[] | undefined>('a list of strings', undefined, (raw) => {
    if (toText(raw) !== undefined) return { value: undefined, note: 'must be a list and is ignored' };
    const items = Object.values(raw as object).map(toText);
    return items.every((item) => item !== undefined) ? { value: items } : undefined;
  });
}

function toText(raw: unknown): string | undefined {
  return typeof raw === 'string' ? raw : typeof raw === 'number' || typeof raw === 'boolean' ? String(raw) : undefined;
}

// oxlint-disable-next-line no-control-regex -- control characters are searched for
const badHeaderValue = /[^\t\u0020-\u007e\u0080-\u00ff]/;

/** HTTP headers by name. */
export function headers(): OptionField<Readonly<Record<string, string>>> {
  return field('an object of valid HTTP header names and values', {}, (raw) => {
    if (typeof raw !== 'object' || raw === null || Array.isArray(raw)) return undefined;
    const entries = Object.entries(raw as Record<string, unknown>);
    const isGood = entries.every(
      (entry): entry is [string, string] =>
        /^[\w!#$%&'*+.^`|~-]+$/.test(entry[0]) && typeof entry[1] === 'string' && !badHeaderValue.test(entry[1]),
    );
    return isGood ? { value: Object.fromEntries(entries) } : undefined;
  });
}

/** A value that the runtime does not interpret. */
export function anything(): OptionField<unknown> {
  return field<unknown>('anything', undefined, (value) => ({ value }));
}

interface DurationLimits {
  readonly minMs?: number;
  readonly maxMs?: number;
}

export function duration(fallbackMs: number, limits: DurationLimits = {}): DurationField<number> {
  return {
    ...field(durationRule(limits), fallbackMs, (raw) => readDuration(raw, limits)),
    unit: 'ms',
  };
}

/** An optional duration. The string `unbounded` stands for no limit. */
export function optionalDuration(
  fallbackMs: number | undefined,
  limits: DurationLimits & { readonly unbounded?: string } = {},
): DurationField {
  const { unbounded } = limits;
  const expects = `${durationRule(limits)}${unbounded === undefined ? '' : `, or "${unbounded}" for no limit`}`;
  return {
    ...field<number | undefined>(expects, fallbackMs, (raw) => {
      if (unbounded !== undefined && toText(raw)?.trim() === unbounded) return { value: undefined };
      return readDuration(raw, limits);
    }),
    unit: 'ms',
  };
}

function durationRule({ minMs = 0, maxMs }: DurationLimits): string {
  const least = minMs > 0 ? ` of at least ${minMs} ms` : '';
  return `${timeSpanRule}${least}${maxMs === undefined ? '' : ` of at most ${maxMs} ms`}`;
}

/** A bare number counts days, as in every time span of .NET, which is rarely what was meant. */
function readDuration(
  raw: unknown,
  { minMs = 0, maxMs = Number.POSITIVE_INFINITY }: DurationLimits,
): ReadValue<number> | undefined {
  const text = toText(raw);
  const value = text === undefined ? undefined : parseTimeSpan(text);
  if (value === undefined || value < minMs || value > maxMs) return undefined;
  return typeof raw === 'number'
    ? { value, note: `is read as ${text} days: write a duration as "hh:mm:ss"` }
    : { value };
}
