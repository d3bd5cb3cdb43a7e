import type { CollectionDefinition, FieldDefinition } from '@drover/contracts';
import { fieldSchema, isComputed, type JsonSchema } from './field-schema.js';
import { isNeeded, isReference, systemSchemas } from './record-schemas.js';
import { clientRuntime } from './records-client-runtime.js';
import { clientTypes } from './records-client-types.js';

interface NamedCollection {
  readonly definition: CollectionDefinition;
  /** Name of its types, unique in the module. */
  readonly typeName: string;
}

/**
 * Returns a TypeScript module with the types of the records of these collections and a client for them. It needs nothing but `fetch`
 * and compiles with the strictest options. The same definitions always give the same text.
 */
export function recordsClient(definitions: readonly CollectionDefinition[]): string {
  const collections = withTypeNames(definitions);
  const members = collections.map(({ definition, typeName }) => {
    const name = propertyName(definition.name);
    return `  readonly ${name}: { readonly record: ${typeName}; readonly input: New${typeName}; readonly related: ${typeName}Related };\n`;
  });
  return [
    '// Generated from the definitions of collections by "drover collections client". Changes are lost: generate it again.\n',
    ...collections.map((collection) => typesOf(collection, collections)),
    `/** The types of all collections, by name. */\nexport interface Collections {\n${members.join('')}}\n`,
    `const collectionNames: readonly (keyof Collections)[] = ${JSON.stringify(definitions.map(({ name }) => name))};\n`,
    clientTypes,
    clientRuntime,
  ].join('\n');
}

function typesOf({ definition, typeName }: NamedCollection, all: readonly NamedCollection[]): string {
  const { fields } = definition;
  const system = { id: { type: 'string' }, version: { type: 'integer' }, ...systemSchemas(definition) };
  const record = [
    ...Object.entries(system).map(([name, schema]) => property(name, schema, false)),
    ...fields.map((field) => property(field.name, fieldSchema(field), false)),
  ];
  const input = [
    ...(definition.api?.clientIds ? [property('id', { type: 'string' }, true)] : []),
    ...fields
      .filter((field) => !isComputed(field))
      .map((field) => property(field.name, withoutDefault(field), !isNeeded(field))),
  ];
  return [
    comment(definition),
    `export interface ${typeName} {\n${record.join('')}}\n\n`,
    `export interface New${typeName} {\n${input.join('')}}\n\n`,
    `/** What \`include\` can add, in place of the id or beside the fields. */\n`,
    `export interface ${typeName}Related {\n${relationsOf(definition, all).join('')}}\n`,
  ].join('');
}

/** Relations in both directions. A relation to a collection that is not described stays an id. */
function relationsOf(definition: CollectionDefinition, all: readonly NamedCollection[]): string[] {
  const own = definition.fields.filter(isReference).flatMap((field) => {
    const target = all.find((one) => one.definition.name === field.references?.collection);
    const { required = field.type === 'MASTER_DETAIL' } = field;
    return target ? [`  readonly ${propertyName(field.name)}: ${target.typeName}${required ? '' : ' | null'};\n`] : [];
  });
  const taken = new Set(definition.fields.map(({ name }) => name));
  const reverse = all.flatMap(({ definition: child, typeName }) =>
    child.fields.flatMap((field) => {
      const name = field.references?.as ?? child.name;
      if (!isReference(field) || field.references?.collection !== definition.name || taken.has(name)) return [];
      taken.add(name);
      return [`  readonly ${propertyName(name)}: readonly ${typeName}[];\n`];
    }),
  );
  return [...own, ...reverse];
}

function property(name: string, schema: JsonSchema, isOptional: boolean): string {
  const { description } = schema;
  const about = description === undefined ? '' : `  /** ${commentText(description)} */\n`;
  return `${about}  readonly ${propertyName(name)}${isOptional ? '?' : ''}: ${typeOf(schema)};\n`;
}

function withoutDefault(field: FieldDefinition): JsonSchema {
  const { default: _, ...schema } = fieldSchema(field);
  return schema;
}

/** Returns the type of the values that a schema describes. */
export function typeOf(schema: JsonSchema): string {
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
  if (schema.type === undefined) return 'unknown';
  return [schema.type]
    .flat()
    .map((type) => namedType(type, schema))
    .join(' | ');
}

function namedType(type: string, { items = {}, properties, required = [] }: JsonSchema): string {
  switch (type) {
    case 'integer':
      return 'number';
    case 'array':
      return `readonly (${typeOf(items)})[]`;
    case 'object':
      if (!properties) return 'Readonly<Record<string, unknown>>';
      return `{ ${Object.entries(properties)
        .map(([name, one]) => `readonly ${propertyName(name)}${required.includes(name) ? '' : '?'}: ${typeOf(one)}`)
        .join('; ')} }`;
    default:
      return type;
  }
}

function comment({ displayName, description }: CollectionDefinition): string {
  const about = [displayName, description].filter(Boolean).join(': ');
  return about === '' ? '' : `/** ${commentText(about)} */\n`;
}

/** A text of a user must not end the comment, nor begin a line that is code. */
function commentText(text: string): string {
  return text.replaceAll('*/', '* /').replaceAll(/\s+/gu, ' ');
}

function propertyName(name: string): string {
  return /^[A-Za-z_]\w*$/.test(name) ? name : JSON.stringify(name);
}

/** `order-lines` becomes `OrderLines`. Characters that no identifier may have are left out, and equal results are numbered. */
function withTypeNames(definitions: readonly CollectionDefinition[]): NamedCollection[] {
  const taken = new Set<string>(runtimeTypes);
  return definitions.map((definition) => {
    const words = definition.name.split(/[^\p{ID_Continue}]|_/u).filter(Boolean);
    const joined = words.map((word) => `${word.slice(0, 1).toUpperCase()}${word.slice(1)}`).join('');
    const base = /^\p{ID_Start}/u.test(joined) ? joined : `Collection${joined}`;
    const names = (typeName: string): string[] => [typeName, `New${typeName}`, `${typeName}Related`];
    let typeName = base;
    for (let n = 2; names(typeName).some((name) => taken.has(name)); n += 1) typeName = `${base}${n}`;
    for (const name of names(typeName)) taken.add(name);
    return { definition, typeName };
  });
}

/** Names of the module that no collection may have. */
const runtimeTypes = [
  'AbortSignal',
  'Aggregate',
  'AggregateName',
  'AggregateQuery',
  'AggregateRow',
  'Array',
  'AsyncGenerator',
  'Change',
  'ChangeStreamOptions',
  'ClientOptions',
  'CollectionClient',
  'CollectionTypes',
  'Collections',
  'Condition',
  'Error',
  'Exclude',
  'Filter',
  'Found',
  'GroupUnit',
  'Included',
  'JSON',
  'Map',
  'Object',
  'Omit',
  'Page',
  'Partial',
  'Pick',
  'Promise',
  'Query',
  'Readonly',
  'Record',
  'RecordVersion',
  'RecordsClient',
  'RecordsError',
  'Response',
  'String',
  'TextDecoderStream',
  'URL',
  'URLSearchParams',
  'View',
  'WriteOptions',
];
