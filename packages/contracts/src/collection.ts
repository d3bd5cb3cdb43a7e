import Type, { type Static } from 'typebox';
import { literalUnion } from './literal-union.js';

/** Types of fields. The API also accepts them in lower case, `number` for DOUBLE, `object` for JSON and `reference` for LOOKUP. */
export const fieldTypes = [
  'STRING',
  'TEXT',
  'RICH_TEXT',
  'INTEGER',
  'LONG',
  'DOUBLE',
  'BOOLEAN',
  'DATE',
  'DATETIME',
  'JSON',
  'ARRAY',
  'LOOKUP',
  'MASTER_DETAIL',
  'PICKLIST',
  'MULTI_PICKLIST',
  'CURRENCY',
  'PERCENT',
  'AUTO_NUMBER',
  'PHONE',
  'EMAIL',
  'URL',
  'ENCRYPTED',
  'EXTERNAL_ID',
  'GEOLOCATION',
  'FORMULA',
  'ROLLUP_SUMMARY',
] as const;
export type FieldType = (typeof fieldTypes)[number];

export const storageModes = ['PHYSICAL_TABLE', 'JSONB'] as const;
export type StorageMode = (typeof storageModes)[number];

/** Any letters and marks of any script: names are always quoted in SQL. PostgreSQL cuts identifiers after 63 bytes. */
export const collectionNamePattern = '[\\p{L}_][\\p{L}\\p{M}\\p{N}_-]*';

const nameText = (description: string) =>
  Type.String({
    minLength: 1,
    maxLength: 63,
    pattern: `^${collectionNamePattern}$`,
    description,
  });

export const CollectionName = nameText(
  'Part of the URL: a letter or underscore, then letters, digits, underscores and hyphens; at most 63 bytes',
);
export const FieldName = nameText(
  'A letter or underscore, then letters, digits, underscores and hyphens; at most 63 bytes',
);

const displayName = Type.Optional(Type.String({ maxLength: 200, description: 'Name for people; any text' }));
const description = Type.Optional(Type.String({ maxLength: 500 }));

export const FieldConstraints = Type.Object(
  {
    minValue: Type.Optional(Type.Number()),
    maxValue: Type.Optional(Type.Number()),
    minLength: Type.Optional(Type.Integer({ minimum: 0 })),
    maxLength: Type.Optional(Type.Integer({ minimum: 1 })),
    pattern: Type.Optional(
      Type.String({ maxLength: 1_000, description: 'Regular expression that the whole text matches' }),
    ),
    enum: Type.Optional(Type.Array(Type.Union([Type.String(), Type.Number()]), { minItems: 1, maxItems: 1_000 })),
    minItems: Type.Optional(Type.Integer({ minimum: 0 })),
    maxItems: Type.Optional(Type.Integer({ minimum: 0 })),
    itemType: Type.Optional(literalUnion(['string', 'number', 'boolean', 'object'])),
  },
  { additionalProperties: false, description: 'The names are the codes of validation errors' },
);
export type FieldConstraints = Static<typeof FieldConstraints>;

export const rollupFunctions = ['COUNT', 'SUM', 'MIN', 'MAX', 'AVG'] as const;
export type RollupFunction = (typeof rollupFunctions)[number];

const PicklistValues = Type.Array(Type.String({ minLength: 1, maxLength: 255 }), {
  minItems: 1,
  maxItems: 1_000,
  uniqueItems: true,
  description: 'Values of a picklist',
});

/** Values that fields of many collections share. */
export const PicklistDefinition = Type.Object(
  { name: nameText('Name of the picklist'), displayName, description, values: PicklistValues },
  { additionalProperties: false, $id: 'PicklistDefinition' },
);
export type PicklistDefinition = Static<typeof PicklistDefinition>;

export const FieldDefinition = Type.Object(
  {
    name: FieldName,
    type: literalUnion(fieldTypes),
    displayName,
    description,
    required: Type.Optional(Type.Boolean({ description: 'Whether every record has a value; false by default' })),
    unique: Type.Optional(Type.Boolean({ description: 'Whether no two records have the same value' })),
    indexed: Type.Optional(Type.Boolean({ description: 'Whether filters and sorting by this field use an index' })),
    patternIndexed: Type.Optional(
      Type.Boolean({
        description:
          'Whether filters by a part of the text, by a pattern or without regard to case use an index: contains, icontains, starts, istarts, ends, iends, ieq, like, ilike and regex, from three characters on. PostgreSQL needs the extension pg_trgm',
      }),
    ),
    searchable: Type.Optional(Type.Boolean({ description: 'Whether full-text search looks at this field' })),
    immutable: Type.Optional(Type.Boolean({ description: 'Whether the value stays as it was created' })),
    default: Type.Optional(Type.Unknown({ description: 'Value of new records without one' })),
    defaultFormula: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 4_000,
        description:
          'In place of `default`: formula over the other values of a new record, which gives the value that it lacks',
      }),
    ),
    constraints: Type.Optional(FieldConstraints),
    values: Type.Optional(PicklistValues),
    picklist: Type.Optional(
      nameText('Picklist of the tenant that `values` are taken from, also later when it changes; `values` are ignored'),
    ),
    dependsOn: Type.Optional(
      Type.Object(
        {
          field: nameText('PICKLIST field of the same record'),
          values: Type.Record(Type.String(), Type.Array(Type.String()), {
            description:
              'Values that are allowed, by the value of the other field; none for a value that is absent here',
          }),
        },
        { additionalProperties: false, description: 'Limits the values of a picklist by those of another one' },
      ),
    ),
    /** LOOKUP and MASTER_DETAIL. */
    references: Type.Optional(
      Type.Object(
        {
          collection: CollectionName,
          as: Type.Optional(
            nameText('Name of the reverse relation, for `include` of the target; by default that of the collection'),
          ),
        },
        { additionalProperties: false, description: 'Target of a relation' },
      ),
    ),
    autoNumber: Type.Optional(
      Type.Object(
        {
          prefix: Type.Optional(Type.String({ maxLength: 50 })),
          digits: Type.Optional(Type.Integer({ minimum: 1, maximum: 18, description: 'Padded with zeros' })),
          start: Type.Optional(Type.Integer({ minimum: 0 })),
        },
        { additionalProperties: false },
      ),
    ),
    currency: Type.Optional(
      Type.Object(
        {
          code: Type.Optional(
            Type.String({ pattern: '^[A-Z]{3}$', description: 'ISO 4217 code of all values: `EUR`' }),
          ),
          codeField: Type.Optional(nameText('STRING or PICKLIST field that holds the ISO 4217 code of each record')),
        },
        { additionalProperties: false, description: 'Currency of a CURRENCY field: one of `code` and `codeField`' },
      ),
    ),
    formula: Type.Optional(
      Type.Object(
        {
          expression: Type.String({ minLength: 1, maxLength: 4_000 }),
          returns: literalUnion(['STRING', 'DOUBLE', 'BOOLEAN', 'DATE', 'DATETIME']),
        },
        { additionalProperties: false },
      ),
    ),
    rollup: Type.Optional(
      Type.Object(
        {
          collection: CollectionName,
          via: nameText('Field of the child that references this collection'),
          function: literalUnion(rollupFunctions),
          field: Type.Optional(nameText('Field of the child; not for COUNT')),
          where: Type.Optional(
            Type.Record(Type.String(), Type.Unknown(), { description: 'Values that children have' }),
          ),
        },
        { additionalProperties: false },
      ),
    ),
    formerName: Type.Optional(nameText('Name of this field in the version before: the field is renamed, not replaced')),
  },
  { additionalProperties: false },
);
export type FieldDefinition = Static<typeof FieldDefinition>;

export const ValidationRule = Type.Object(
  {
    name: nameText('Name of the rule'),
    errorCondition: Type.String({
      minLength: 1,
      maxLength: 4_000,
      description: 'Formula; a write for which it is true fails',
    }),
    errorMessage: Type.String({ minLength: 1, maxLength: 500 }),
    errorField: Type.Optional(FieldName),
    evaluateOn: Type.Optional(literalUnion(['CREATE', 'UPDATE', 'CREATE_AND_UPDATE'])),
    active: Type.Optional(Type.Boolean()),
  },
  { additionalProperties: false },
);
export type ValidationRule = Static<typeof ValidationRule>;

/** A collection as users write it. Everything that is absent has the default of its type. */
export const CollectionDefinition = Type.Object(
  {
    name: CollectionName,
    displayName,
    description,
    storageMode: Type.Optional(
      literalUnion(storageModes, { description: 'PHYSICAL_TABLE by default; cannot be changed' }),
    ),
    fields: Type.Array(FieldDefinition, { maxItems: 500 }),
    uniqueSets: Type.Optional(
      Type.Array(Type.Array(FieldName, { minItems: 1, maxItems: 8, uniqueItems: true }), {
        maxItems: 50,
        description: 'Sets of fields that no two records have the same values of',
      }),
    ),
    indexes: Type.Optional(
      Type.Array(Type.Array(Type.String({ minLength: 1, maxLength: 64 }), { minItems: 1, maxItems: 8 }), {
        maxItems: 50,
        description: 'Indexes over several fields; `-name` sorts downwards',
      }),
    ),
    validationRules: Type.Optional(Type.Array(ValidationRule, { maxItems: 100 })),
    displayField: Type.Optional(FieldName),
    api: Type.Optional(
      Type.Object(
        {
          list: Type.Optional(Type.Boolean()),
          get: Type.Optional(Type.Boolean()),
          create: Type.Optional(Type.Boolean()),
          update: Type.Optional(Type.Boolean()),
          delete: Type.Optional(Type.Boolean()),
          clientIds: Type.Optional(Type.Boolean({ description: 'Whether clients may choose ids; false by default' })),
        },
        { additionalProperties: false, description: 'What the API offers; everything by default' },
      ),
    ),
    events: Type.Optional(Type.Boolean({ description: 'Whether changes of records are events; true by default' })),
    history: Type.Optional(Type.Boolean({ description: 'Whether all versions of records are kept; false by default' })),
    softDelete: Type.Optional(
      Type.Boolean({ description: 'Whether deleted records can be restored; false by default' }),
    ),
    formerName: Type.Optional(
      nameText('Name of this collection in the version before: it is renamed, with its records, and not created'),
    ),
  },
  { additionalProperties: false, $id: 'CollectionDefinition' },
);
export type CollectionDefinition = Static<typeof CollectionDefinition>;
