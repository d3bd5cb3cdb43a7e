import type { FieldConstraints, FieldDefinition } from '@drover/contracts';

/** The part of JSON Schema 2020-12 that describes records. */
export interface JsonSchema {
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly format?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly items?: JsonSchema;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | JsonSchema;
  readonly anyOf?: readonly JsonSchema[];
  readonly readOnly?: boolean;
  readonly default?: unknown;
  readonly $ref?: string;
}

/** Returns the schema of the values that records have of a field; null is a value of every field that is not required. */
export function fieldSchema(field: FieldDefinition): JsonSchema {
  const { required = field.type === 'MASTER_DETAIL', displayName, description } = field;
  const about = [displayName, description].filter(Boolean).join(': ');
  const schema = valueSchema(field);
  return {
    ...(required || isAlwaysSet(field) ? schema : orNull(schema)),
    ...(about !== '' && { description: about }),
    ...(isComputed(field) && { readOnly: true }),
    ...(field.default !== undefined && { default: field.default }),
  };
}

/** Whether the platform sets the value and clients cannot. */
export function isComputed({ type }: FieldDefinition): boolean {
  return type === 'FORMULA' || type === 'ROLLUP_SUMMARY' || type === 'AUTO_NUMBER';
}

function isAlwaysSet({ type, rollup }: FieldDefinition): boolean {
  return type === 'AUTO_NUMBER' || (type === 'ROLLUP_SUMMARY' && rollup?.function === 'COUNT');
}

function orNull(schema: JsonSchema): JsonSchema {
  const { type, enum: values } = schema;
  if (type === undefined) return schema; // any value, null among them
  return { ...schema, type: [type, 'null'].flat(), ...(values && { enum: [...values, null] }) };
}

function valueSchema(field: FieldDefinition): JsonSchema {
  const { type, constraints = {}, values = [] } = field;
  switch (type) {
    case 'STRING':
    case 'TEXT':
    case 'RICH_TEXT':
    case 'PHONE':
    case 'EXTERNAL_ID':
    case 'AUTO_NUMBER':
    case 'ENCRYPTED':
      return { type: 'string', ...textBounds(constraints) };
    case 'EMAIL':
      return { type: 'string', format: 'email', ...textBounds(constraints) };
    case 'URL':
      return { type: 'string', format: 'uri', ...textBounds(constraints) };
    case 'INTEGER':
      return { type: 'integer', format: 'int32', ...numberBounds(constraints) };
    case 'LONG':
      return { type: 'integer', format: 'int64', ...numberBounds(constraints) };
    case 'DOUBLE':
    case 'CURRENCY':
    case 'PERCENT':
      return { type: 'number', ...numberBounds(constraints) };
    case 'ROLLUP_SUMMARY':
      return { type: field.rollup?.function === 'COUNT' ? 'integer' : 'number' };
    case 'BOOLEAN':
      return { type: 'boolean' };
    case 'DATE':
      return { type: 'string', format: 'date' };
    case 'DATETIME':
      return { type: 'string', format: 'date-time' };
    case 'JSON':
      return {};
    case 'ARRAY':
      return listSchema(constraints);
    case 'LOOKUP':
    case 'MASTER_DETAIL':
      return { type: 'string', format: 'uuid' };
    case 'PICKLIST':
      return { type: 'string', enum: values };
    case 'MULTI_PICKLIST':
      return { type: 'array', items: { type: 'string', enum: values } };
    case 'GEOLOCATION':
      return geolocation;
    case 'FORMULA':
      return valueSchema({ name: field.name, type: field.formula?.returns ?? 'STRING' });
  }
}

const geolocation: JsonSchema = {
  type: 'object',
  properties: {
    latitude: { type: 'number', minimum: -90, maximum: 90 },
    longitude: { type: 'number', minimum: -180, maximum: 180 },
  },
  required: ['latitude', 'longitude'],
  additionalProperties: false,
};

function textBounds({ minLength, maxLength, pattern, enum: values }: FieldConstraints): JsonSchema {
  return {
    ...(minLength !== undefined && { minLength }),
    ...(maxLength !== undefined && { maxLength }),
    ...(pattern !== undefined && { pattern: `^(?:${pattern})$` }),
    ...(values && { enum: values }),
  };
}

function numberBounds({ minValue, maxValue, enum: values }: FieldConstraints): JsonSchema {
  return {
    ...(minValue !== undefined && { minimum: minValue }),
    ...(maxValue !== undefined && { maximum: maxValue }),
    ...(values && { enum: values }),
  };
}

function listSchema({ minItems, maxItems, itemType }: FieldConstraints): JsonSchema {
  return {
    type: 'array',
    items: itemType === undefined ? {} : { type: itemType },
    ...(minItems !== undefined && { minItems }),
    ...(maxItems !== undefined && { maxItems }),
  };
}
