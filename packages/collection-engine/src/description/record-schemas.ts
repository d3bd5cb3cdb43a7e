import type { CollectionDefinition, FieldDefinition } from '@drover/contracts';
import { fieldSchema, isComputed, type JsonSchema } from './field-schema.js';

/** A collection with the name that its schemas have in a document. */
export interface DescribedCollection {
  readonly definition: CollectionDefinition;
  /** Letters, digits and underscores only, unique in the document. */
  readonly key: string;
}

const instant: JsonSchema = { type: 'string', format: 'date-time', readOnly: true };
const actor: JsonSchema = { type: 'string', readOnly: true, description: 'Id of an API key' };

/** Attributes that the platform sets. */
export function systemSchemas({ softDelete = false }: CollectionDefinition): Readonly<Record<string, JsonSchema>> {
  return {
    createdAt: instant,
    updatedAt: instant,
    createdBy: actor,
    updatedBy: actor,
    ...(softDelete && { deletedAt: { ...instant, type: ['string', 'null'] } }),
  };
}

export function isReference({ type }: FieldDefinition): boolean {
  return type === 'LOOKUP' || type === 'MASTER_DETAIL';
}

/** Whether a new record must have a value of the field. */
export function isNeeded(field: FieldDefinition): boolean {
  const { required = field.type === 'MASTER_DETAIL' } = field;
  return required && field.default === undefined && field.defaultFormula === undefined && !isComputed(field);
}

export const schemaReference = (name: string): JsonSchema => ({ $ref: `#/components/schemas/${name}` });

/** The schemas of one collection, by name: the record, new and changed records, and documents with them. */
export function recordSchemas({ definition, key }: DescribedCollection): Readonly<Record<string, JsonSchema>> {
  const { fields } = definition;
  const writable = fields.filter((field) => !isComputed(field));
  return {
    [key]: resource(definition, properties(fields, false), properties(fields, true), systemSchemas(definition)),
    [`${key}_new`]: requestDocument(definition, writable, true),
    [`${key}_change`]: requestDocument(definition, writable, false),
    [`${key}_document`]: object({ data: schemaReference(key), included }, ['data']),
    [`${key}_list`]: object(
      { data: { type: 'array', items: schemaReference(key) }, included, meta: pageMeta, links: pageLinks },
      ['data'],
    ),
  };
}

function properties(fields: readonly FieldDefinition[], references: boolean): Readonly<Record<string, JsonSchema>> {
  const chosen = fields.filter((field) => isReference(field) === references);
  return Object.fromEntries(
    chosen.map((field) => [field.name, references ? relationship(field) : fieldSchema(field)] as const),
  );
}

function relationship(field: FieldDefinition): JsonSchema {
  const { references, required = field.type === 'MASTER_DETAIL' } = field;
  const identifier = object({ type: { const: references?.collection ?? '' }, id: { type: 'string', format: 'uuid' } }, [
    'type',
    'id',
  ]);
  return object({ data: required ? identifier : { anyOf: [identifier, { type: 'null' }] } }, ['data']);
}

function resource(
  { name, description }: CollectionDefinition,
  attributes: Readonly<Record<string, JsonSchema>>,
  relationships: Readonly<Record<string, JsonSchema>>,
  system: Readonly<Record<string, JsonSchema>>,
): JsonSchema {
  return {
    ...object(
      {
        type: { const: name },
        id: { type: 'string', format: 'uuid' },
        attributes: object({ ...attributes, ...system }, []),
        ...(Object.keys(relationships).length > 0 && { relationships: object(relationships, []) }),
        meta: object({ version: { type: 'integer', minimum: 1 } }, ['version']),
      },
      ['type', 'id', 'attributes'],
    ),
    ...(description !== undefined && { description }),
  };
}

/** A request has one record or a list of them, each as a JSON:API resource or as a bare object. */
function requestDocument(
  { name, api }: CollectionDefinition,
  fields: readonly FieldDefinition[],
  isNew: boolean,
): JsonSchema {
  const needed = (references: boolean): string[] =>
    isNew ? fields.filter((field) => isReference(field) === references && isNeeded(field)).map((one) => one.name) : [];
  const id: JsonSchema = { type: 'string', format: 'uuid' };
  const ownId = !isNew || api?.clientIds === true ? { id } : {};
  const relationships = properties(fields, true);
  const asResource = object(
    {
      type: { const: name },
      ...ownId,
      attributes: closed(properties(fields, false), needed(false)),
      ...(Object.keys(relationships).length > 0 && { relationships: closed(relationships, needed(true)) }),
    },
    ['type'],
  );
  const all = Object.fromEntries(fields.map((field) => [field.name, fieldSchema(field)] as const));
  const bare = closed({ ...ownId, ...all }, [...needed(false), ...needed(true)]);
  const document = object({ data: { anyOf: [asResource, { type: 'array', items: asResource }] } }, ['data']);
  return { anyOf: [document, bare, { type: 'array', items: bare }] };
}

const included: JsonSchema = {
  type: 'array',
  description: 'Records that `include` names',
  items: { type: 'object' },
};
const pageMeta = object(
  {
    pageSize: { type: 'integer' },
    hasMore: { type: 'boolean' },
    nextCursor: { type: 'string', description: 'For `page[after]`; absent on the last page' },
    currentPage: { type: 'integer' },
    totalPages: { type: 'integer' },
    total: { type: 'integer', description: 'With `count`' },
    totalIsEstimate: { type: 'boolean' },
  },
  ['pageSize', 'hasMore'],
);
const link: JsonSchema = { type: 'string', format: 'uri-reference' };
const pageLinks = object({ self: link, first: link, prev: link, next: link }, []);

export function object(
  objectProperties: Readonly<Record<string, JsonSchema>>,
  required: readonly string[],
): JsonSchema {
  return { type: 'object', properties: objectProperties, ...(required.length > 0 && { required }) };
}

function closed(objectProperties: Readonly<Record<string, JsonSchema>>, required: readonly string[]): JsonSchema {
  return { ...object(objectProperties, required), additionalProperties: false };
}
