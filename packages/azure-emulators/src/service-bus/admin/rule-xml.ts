import { BrokerError } from '../broker/broker-error.js';
import { correlationFields, type CorrelationField, type RuleFilter, type RuleOptions } from '../filters/rule.js';
import type { SqlValue } from '../filters/sql-values.js';
import { serviceBusNamespace } from './entity-xml.js';
import { attributeOf, childOf, escapeXml, type XmlElement } from '../../xml/xml.js';

const instanceNamespace = 'http://www.w3.org/2001/XMLSchema-instance';
const schemaNamespace = 'http://www.w3.org/2001/XMLSchema';
const pairElement = 'KeyValueOfstringanyType';

/** Element of each correlation field. */
const fieldElements: Readonly<Record<CorrelationField, string>> = {
  correlationId: 'CorrelationId',
  messageId: 'MessageId',
  to: 'To',
  replyTo: 'ReplyTo',
  subject: 'Label',
  sessionId: 'SessionId',
  replyToSessionId: 'ReplyToSessionId',
  contentType: 'ContentType',
};

/** Reads a rule description. `name` is that of the address; the default rule of a new subscription brings its own. */
export function readRuleXml(description: XmlElement, name?: string): RuleOptions {
  const action = childOf(description, 'Action');
  const expression = childOf(action, 'SqlExpression')?.text;
  const parameters = readPairs(childOf(action, 'Parameters'));
  return {
    name: name ?? childOf(description, 'Name')?.text ?? '$Default',
    filter: readFilter(childOf(description, 'Filter')),
    ...(expression !== undefined && { action: { expression, ...(parameters !== undefined && { parameters }) } }),
  };
}

function readFilter(filter: XmlElement | undefined): RuleFilter {
  switch (attributeOf(filter, 'type')) {
    case undefined:
    case 'TrueFilter':
      return { kind: 'true' };
    case 'FalseFilter':
      return { kind: 'false' };
    case 'SqlFilter': {
      const parameters = readPairs(childOf(filter, 'Parameters'));
      const expression = childOf(filter, 'SqlExpression')?.text ?? '';
      return { kind: 'sql', expression, ...(parameters !== undefined && { parameters }) };
    }
    case 'CorrelationFilter': {
      const fields = Object.keys(correlationFields) as CorrelationField[];
      const present = fields.flatMap((field) => {
        const element = childOf(filter, fieldElements[field]);
        return element === undefined ? [] : [[field, element.text] as const];
      });
      return {
        kind: 'correlation',
        system: Object.fromEntries(present),
        user: readPairs(childOf(filter, 'Properties')) ?? {},
      };
    }
    default:
      throw new BrokerError('invalid-argument', `The filter type "${attributeOf(filter, 'type')}" does not exist.`);
  }
}

function readPairs(element: XmlElement | undefined): Record<string, SqlValue> | undefined {
  if (element === undefined) return undefined;
  const pairs: Record<string, SqlValue> = {};
  for (const pair of element.children) {
    const value = childOf(pair, 'Value');
    pairs[childOf(pair, 'Key')?.text ?? ''] = readValue(attributeOf(value, 'type') ?? '', value?.text ?? '');
  }
  return pairs;
}

function readValue(type: string, text: string): SqlValue {
  switch (type.slice(type.indexOf(':') + 1)) {
    case 'int':
    case 'long':
    case 'short':
    case 'byte':
      return BigInt(text.trim());
    case 'double':
    case 'float':
    case 'decimal':
      return Number(text);
    case 'boolean':
      return text.trim() === 'true';
    case 'dateTime':
      return new Date(text);
    default:
      return text;
  }
}

export function describeRule({ name, filter, action }: RuleOptions, createdAtMs: number): string {
  const actionXml =
    action === undefined
      ? '<Action i:type="EmptyRuleAction"/>'
      : `<Action i:type="SqlRuleAction"><SqlExpression>${escapeXml(action.expression)}</SqlExpression>${pairsXml('Parameters', action.parameters)}</Action>`;
  const created = new Date(createdAtMs).toISOString();
  return `<RuleDescription xmlns="${serviceBusNamespace}" xmlns:i="${instanceNamespace}">${filterXml(filter)}${actionXml}<CreatedAt>${created}</CreatedAt><Name>${escapeXml(name)}</Name></RuleDescription>`;
}

function filterXml(filter: RuleFilter): string {
  switch (filter.kind) {
    case 'true':
      return '<Filter i:type="TrueFilter"><SqlExpression>1=1</SqlExpression></Filter>';
    case 'false':
      return '<Filter i:type="FalseFilter"><SqlExpression>1=0</SqlExpression></Filter>';
    case 'sql':
      return `<Filter i:type="SqlFilter"><SqlExpression>${escapeXml(filter.expression)}</SqlExpression>${pairsXml('Parameters', filter.parameters)}</Filter>`;
    case 'correlation': {
      const fields = Object.entries(filter.system).map(([field, value]) => {
        const element = fieldElements[field as CorrelationField];
        return `<${element}>${escapeXml(value)}</${element}>`;
      });
      return `<Filter i:type="CorrelationFilter">${fields.join('')}${pairsXml('Properties', filter.user)}</Filter>`;
    }
  }
}

function pairsXml(element: string, pairs: Readonly<Record<string, SqlValue>> | undefined): string {
  const entries = Object.entries(pairs ?? {});
  if (entries.length === 0) return '';
  const items = entries.map(([key, value]) => {
    const { type, text } = typedText(value);
    return `<${pairElement}><Key>${escapeXml(key)}</Key><Value i:type="d6p1:${type}" xmlns:d6p1="${schemaNamespace}">${escapeXml(text)}</Value></${pairElement}>`;
  });
  return `<${element}>${items.join('')}</${element}>`;
}

/** The SDK reads int, double, string, boolean and dateTime only. */
function typedText(value: SqlValue): { type: string; text: string } {
  if (typeof value === 'bigint') return { type: 'int', text: value.toString() };
  if (typeof value === 'number') return { type: 'double', text: String(value) };
  if (typeof value === 'boolean') return { type: 'boolean', text: String(value) };
  if (value instanceof Date) return { type: 'dateTime', text: value.toISOString() };
  return { type: 'string', text: value ?? '' };
}
