import { amqpValue } from '../../amqp/values.js';
import { BrokerError } from '../broker/broker-error.js';
import type { CorrelationField, RuleFilter, RuleOptions } from '../filters/rule.js';
import type { SqlValue } from '../filters/sql-values.js';
import { toSqlValue } from './settlement.js';

const descriptors = {
  rule: 0x0000_0137_0000_0004,
  trueFilter: 0x0000_0013_7000_0007,
  falseFilter: 0x0000_0013_7000_0008,
  sqlFilter: 0x0000_0013_7000_0006,
  correlationFilter: 0x0000_0013_7000_0009,
  emptyAction: 0x0000_0137_0000_0005,
  sqlAction: 0x0000_0137_0000_0006,
} as const;

/** Names of the correlation fields in `add-rule`, in the order of the described list of `enumerate-rules`. */
const wireNames: readonly (readonly [CorrelationField, string])[] = [
  ['correlationId', 'correlation-id'],
  ['messageId', 'message-id'],
  ['to', 'to'],
  ['replyTo', 'reply-to'],
  ['subject', 'label'],
  ['sessionId', 'session-id'],
  ['replyToSessionId', 'reply-to-session-id'],
  ['contentType', 'content-type'],
];

type WireMap = Readonly<Record<string, unknown>>;

/** Reads the body of `add-rule`. Throws `invalid-argument`. */
export function readRule(body: WireMap): RuleOptions {
  const description = mapOf(body['rule-description']);
  const name = body['rule-name'];
  if (typeof name !== 'string' || description === undefined) {
    throw new BrokerError('invalid-argument', 'The request names no rule. Send rule-name and rule-description.');
  }
  const action = mapOf(description['sql-rule-action'])?.['expression'];
  return {
    name,
    filter: readFilter(description),
    ...(typeof action === 'string' && action !== '' && { action: { expression: action } }),
  };
}

function readFilter(description: WireMap): RuleFilter {
  if (description['true-filter'] !== undefined) return { kind: 'true' };
  if (description['false-filter'] !== undefined) return { kind: 'false' };
  const sql = mapOf(description['sql-filter'])?.['expression'];
  if (typeof sql === 'string') return { kind: 'sql', expression: sql };
  const correlation = mapOf(description['correlation-filter']);
  if (correlation === undefined)
    throw new BrokerError('invalid-argument', 'The rule has no filter. Send an SQL or a correlation filter.');
  const system: Partial<Record<CorrelationField, string>> = {};
  for (const [field, wireName] of wireNames) {
    const value = correlation[wireName];
    if (typeof value === 'string') system[field] = value;
  }
  const user: Record<string, SqlValue> = {};
  for (const [key, value] of Object.entries(mapOf(correlation['properties']) ?? {}))
    user[key] = toSqlValue(value) ?? null;
  return { kind: 'correlation', system, user };
}

/** A rule as `enumerate-rules` returns it: a described list of filter, action and name. */
export function encodeRule({ name, filter, action }: RuleOptions): unknown {
  const encodedAction =
    action === undefined
      ? amqpValue.describedList(descriptors.emptyAction, [])
      : amqpValue.describedList(descriptors.sqlAction, [action.expression]);
  return amqpValue.describedList(descriptors.rule, [encodeFilter(filter), encodedAction, name]);
}

function encodeFilter(filter: RuleFilter): unknown {
  switch (filter.kind) {
    case 'true':
      return amqpValue.describedList(descriptors.trueFilter, []);
    case 'false':
      return amqpValue.describedList(descriptors.falseFilter, []);
    case 'sql':
      return amqpValue.describedList(descriptors.sqlFilter, [filter.expression]);
    case 'correlation': {
      const fields = wireNames.map(([field]) => filter.system[field] ?? null);
      const user = Object.fromEntries(Object.entries(filter.user).map(([key, value]) => [key, encodeProperty(value)]));
      return amqpValue.describedList(descriptors.correlationFilter, [...fields, user]);
    }
  }
}

function encodeProperty(value: SqlValue): unknown {
  if (typeof value === 'bigint') return amqpValue.long(value);
  return value instanceof Date ? amqpValue.timestamp(value.getTime()) : value;
}

function mapOf(value: unknown): WireMap | undefined {
  return typeof value === 'object' && value !== null && !Buffer.isBuffer(value) ? (value as WireMap) : undefined;
}
