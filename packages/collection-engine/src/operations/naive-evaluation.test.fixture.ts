import type { RandomFilter, RandomQuery, RandomRecord, RandomWorld, Value } from './random-queries.test.fixture.js';

/** Returns the ids that the query must find, in order. */
export function naiveResult(world: RandomWorld, query: RandomQuery): string[] {
  const found = world[query.root].records.filter((record) => !query.filter || meets(world, record, query.filter));
  const last = query.sort.at(-1)?.isDescending ?? false;
  return found
    .toSorted((a, b) => {
      for (const { field, isDescending } of query.sort) {
        const compared = compareNullsLast(
          a.values[field.definition.name] ?? null,
          b.values[field.definition.name] ?? null,
          isDescending,
        );
        if (compared !== 0) return compared;
      }
      return (a.id < b.id ? -1 : 1) * (last ? -1 : 1);
    })
    .map(({ id }) => id);
}

function meets(world: RandomWorld, record: RandomRecord, filter: RandomFilter): boolean {
  switch (filter.kind) {
    case 'and':
      return filter.parts.every((part) => meets(world, record, part));
    case 'or':
      return filter.parts.some((part) => meets(world, record, part));
    case 'not':
      return !meets(world, record, filter.part);
    case 'condition': {
      const [step] = filter.path;
      const isRelated = filter.path.length > (filter.field.kind === 'json' ? 3 : 1);
      if (!isRelated) return compares(record, filter);
      const related =
        step === 'link'
          ? world.to.records.filter(({ id }) => id === record.values['link'])
          : world.from.records.filter(({ values }) => values['link'] === record.id);
      // Behind a relation a negative condition finds what `not` finds.
      const opposite = oppositeOf(filter);
      return opposite
        ? !related.some((each) => compares(each, opposite))
        : related.some((each) => compares(each, filter));
    }
  }
}

type RandomCondition = RandomFilter & { kind: 'condition' };

function oppositeOf(condition: RandomCondition): RandomCondition | undefined {
  if (condition.operator === 'neq') return { ...condition, operator: 'eq' };
  if (condition.operator === 'nin') return { ...condition, operator: 'in' };
  return condition.operator === 'isnull' && condition.values[0] === true
    ? { ...condition, values: [false] }
    : undefined;
}

/** The decision for one value; what is not true of no value is false. */
function compares(record: RandomRecord, { field, operator, values }: RandomCondition): boolean {
  const stored = record.values[field.definition.name] ?? null;
  const value = field.kind === 'json' ? textAt(stored, ['a', 'b']) : stored;
  const [first = null, second = null] = values;
  const equals = (other: Value): boolean => value !== null && compare(value, other) === 0;
  const text = (test: (own: string, other: string) => boolean): boolean =>
    typeof value === 'string' && test(value, String(first));
  const items = Array.isArray(value) ? (value as readonly Value[]) : undefined;
  switch (operator) {
    case 'isnull':
      return (value === null) === first;
    case 'eq':
      return equals(first);
    case 'neq':
      return !equals(first);
    case 'in':
      return values.some(equals);
    case 'nin':
      return !values.some(equals);
    case 'gt':
    case 'gte':
    case 'lt':
    case 'lte':
      return field.kind === 'json'
        ? jsonOrder(stored, operator, String(first))
        : value !== null && ordered(operator, compare(value, first));
    case 'between':
      return value !== null && compare(value, first) >= 0 && compare(value, second) <= 0;
    case 'contains':
      return text((own, other) => own.includes(other));
    case 'starts':
      return text((own, other) => own.startsWith(other));
    case 'ends':
      return text((own, other) => own.endsWith(other));
    case 'icontains':
      return text((own, other) => own.toLowerCase().includes(other.toLowerCase()));
    case 'istarts':
      return text((own, other) => own.toLowerCase().startsWith(other.toLowerCase()));
    case 'iends':
      return text((own, other) => own.toLowerCase().endsWith(other.toLowerCase()));
    case 'ieq':
      return text((own, other) => own.toLowerCase() === other.toLowerCase());
    case 'has':
    case 'hasAll':
      return items !== undefined && values.every((each) => items.includes(each));
    case 'hasAny':
      return items !== undefined && values.some((each) => items.includes(each));
    default:
      throw new Error(`The evaluation does not know ${operator}`);
  }
}

const ordered = (operator: 'gt' | 'gte' | 'lt' | 'lte', compared: number): boolean =>
  operator === 'gt'
    ? compared > 0
    : operator === 'gte'
      ? compared >= 0
      : operator === 'lt'
        ? compared < 0
        : compared <= 0;

function at(value: Value, keys: readonly string[]): Value {
  return keys.reduce<Value>((inner, key) => {
    if (typeof inner !== 'object' || inner === null || Array.isArray(inner)) return null;
    return (inner as Readonly<Record<string, Value>>)[key] ?? null;
  }, value);
}

function textAt(value: Value, keys: readonly string[]): string | null {
  const found = at(value, keys);
  return found === null ? null : typeof found === 'string' ? found : JSON.stringify(found);
}

/** A number in the filter is compared with numbers only, a text with texts only. */
function jsonOrder(stored: Value, operator: 'gt' | 'gte' | 'lt' | 'lte', given: string): boolean {
  const found = at(stored, ['a', 'b']);
  if (/^\d+$/.test(given)) return typeof found === 'number' && ordered(operator, found - Number(given));
  return typeof found === 'string' && ordered(operator, compare(found, given));
}

/** Texts by code point, as PostgreSQL compares them in the locale of the platform. */
function compare(one: Value, other: Value): number {
  if (typeof one === 'string' && typeof other === 'string') return Buffer.compare(Buffer.from(one), Buffer.from(other));
  return Number(one) - Number(other);
}

function compareNullsLast(one: Value, other: Value, isDescending: boolean): number {
  if (one === null || other === null) return one === other ? 0 : one === null ? 1 : -1;
  return isDescending ? compare(other, one) : compare(one, other);
}
