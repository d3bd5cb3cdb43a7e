/** A value of a SQL filter: a 64-bit integer is a bigint, a double is a number. `undefined` is SQL's UNKNOWN. */
export type SqlValue = string | bigint | number | boolean | Date | null;
export type SqlResult = SqlValue | undefined;

/** The broker properties that a filter can read as `sys.<name>`, in lower case. */
export const systemProperties = [
  'messageid',
  'correlationid',
  'sessionid',
  'replyto',
  'replytosessionid',
  'to',
  'label',
  'contenttype',
  'partitionkey',
  'scheduledenqueuetimeutc',
] as const;
export type SystemProperty = (typeof systemProperties)[number];

/** The part of a message that filters and actions see. */
export interface FilterSubject {
  system(name: SystemProperty): SqlResult;
  /** Finds an application property; names are compared without regard to case. */
  user(name: string): SqlResult;
}

/** What an action or a settlement changes. A user property that maps to `undefined` is removed. */
export interface PropertyChanges {
  readonly system: ReadonlyMap<SystemProperty, string | null>;
  readonly user: ReadonlyMap<string, SqlResult>;
}

/** A filter or an action that cannot be parsed, or that fails on one message. */
export class SqlError extends Error {
  override readonly name = 'SqlError';
}

/** Orders two values, or returns undefined where SQL has no answer: a null, an unknown, or types that do not compare. */
export function compareSql(left: SqlResult, right: SqlResult): number | undefined {
  if (left === undefined || right === undefined || left === null || right === null) return undefined;
  if (left instanceof Date || right instanceof Date) {
    if (!(left instanceof Date && right instanceof Date)) return undefined;
    return left.getTime() - right.getTime();
  }
  const numeric = isNumber(left) && isNumber(right);
  if (!numeric && typeof left !== typeof right) return undefined;
  if (Number.isNaN(left) || Number.isNaN(right)) return undefined;
  return left < right ? -1 : left > right ? 1 : 0;
}

export function isNumber(value: SqlResult): value is bigint | number {
  return typeof value === 'bigint' || typeof value === 'number';
}
