import { oneWordOf, readByRules, timeSpan, wholeNumber, type OptionRule } from '../options/option-rules.js';

/** The position of a consumer group that has no checkpoint yet. */
export type InitialOffset =
  | { readonly kind: 'start' }
  | { readonly kind: 'end' }
  | { readonly kind: 'time'; readonly enqueuedAtMs: number };

/** `clientRetryOptions`: only what was given. */
export interface ClientRetries {
  readonly tryTimeout?: number;
  readonly delay?: number;
  readonly maxDelay?: number;
  readonly maxRetries?: number;
}

export const hubText: OptionRule<string> = {
  allowed: 'text that is not empty',
  read: (value) => (typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined),
};

export const hubFlag: OptionRule<boolean> = {
  allowed: 'true or false',
  read(value) {
    if (typeof value === 'boolean') return value;
    const word = oneWordOf('true', 'false').read(value);
    return word === undefined ? undefined : word === 'true';
  },
};

const offsetRules = {
  type: oneWordOf('fromstart', 'fromend', 'fromenqueuedtime'),
  enqueuedTimeUtc: hubText,
};

export const initialOffset: OptionRule<InitialOffset> = {
  allowed:
    '{"type": "fromStart" or "fromEnd"}, or {"type": "fromEnqueuedTime", "enqueuedTimeUtc": "2030-01-31T12:00:00Z"}',
  read(value) {
    const { values, problems, unknownKeys } = readByRules(offsetRules, value);
    if (problems.length > 0 || unknownKeys.length > 0) return undefined;
    if (values.type === 'fromend') return { kind: 'end' };
    if (values.type !== 'fromenqueuedtime') return { kind: 'start' };
    const enqueuedAtMs = utc(values.enqueuedTimeUtc ?? '');
    return Number.isNaN(enqueuedAtMs) ? undefined : { kind: 'time', enqueuedAtMs };
  },
};

/** A time without a zone is UTC, as the name of the option says. */
function utc(time: string): number {
  return Date.parse(/(?:z|[+-]\d\d:?\d\d)$/i.test(time) || !time.includes('T') ? time : `${time}Z`);
}

const dayMs = 24 * 3_600_000;
const retryRules = {
  mode: oneWordOf('exponential', 'fixed'),
  tryTimeout: timeSpan(100, dayMs),
  delay: timeSpan(1, dayMs),
  maxDelay: timeSpan(1, dayMs),
  maxRetries: wholeNumber(0, 100),
};

export const clientRetries: OptionRule<ClientRetries> = {
  allowed: 'an object with mode, tryTimeout, delay, maxDelay and maxRetries',
  read(value) {
    const { values, problems, unknownKeys } = readByRules(retryRules, value);
    if (problems.length > 0 || unknownKeys.length > 0) return undefined;
    const { mode: _, ...kept } = values;
    return kept;
  },
};
