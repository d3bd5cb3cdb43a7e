import { changeJson, defaultRecordLimits } from '@drover/collection-engine';
import {
  constraintKinds,
  defaultPageSize,
  fieldSchema,
  fieldTraits,
  isAlwaysIndexed,
  operatorIndexes,
  operatorsOf,
  testCollection,
  type JsonSchema,
} from '@drover/collection-engine/testing';
import {
  CollectionDefinition,
  FieldConstraints,
  FieldDefinition,
  fieldTypes,
  ValidationRule,
  type FieldType,
} from '@drover/contracts';

/** As much of a schema as the tables show. */
interface Schema {
  readonly type?: string;
  readonly const?: unknown;
  readonly description?: string;
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly maxItems?: number;
}

/** Returns the paragraphs of the reference of collections, made from the schemas and tables that the engine works with. */
export function collectionsPage(): readonly string[] {
  return [
    'What a definition may say, which values fields have, and what requests may ask. [collections.md](collections.md) shows it by example.',
    '## Collection',
    propertiesTable(CollectionDefinition),
    'A rule of `validationRules`:',
    propertiesTable(ValidationRule),
    '## Field',
    propertiesTable(FieldDefinition),
    '## Types of fields',
    'Names are accepted in lower case, too. *Filters* are the operators of `filter`; a type that is *sorted* can be the key of `sort`. Types with an index have one unless `"indexed": false`.',
    typesTable(),
    '## Constraints',
    'A value that violates one is refused with 400; its name is the `code` of the error. `"enum"` lists the values that are allowed.',
    constraintsTable(),
    ...nullRules,
    '## Operators and indexes',
    'A filter whose field has what the table names looks records up; any other reads every record of the collection, unless another condition of the request has an index. PostgreSQL decides by its statistics which index it uses. A test explains each of them over 100,000 records, in both storage modes.',
    operatorsTable(),
    ...indexNotes,
    '## Pages and limits',
    limitsTable(),
    '## Changes and webhooks',
    ...changes(),
  ];
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), `|${head.map(() => '---').join('|')}|`, ...rows.map(line)].join('\n');
}

const code = (text: string): string => `\`${text}\``;

function propertiesTable(schema: object): string {
  const rows = propertyRows(schema, '');
  return table(['property', 'value', 'what it is'], rows);
}

function propertyRows({ properties = {}, required = [] }: Schema, prefix: string): string[][] {
  return Object.entries(properties).flatMap(([name, schema]) => {
    const about = [required.includes(name) ? 'Required.' : '', schema.description ?? ''].filter(Boolean).join(' ');
    return [[code(prefix + name), valueOf(schema), about || '–'], ...propertyRows(schema, `${prefix}${name}.`)];
  });
}

function valueOf(schema: Schema): string {
  const { type, anyOf, items, minimum, maximum, maxLength, maxItems } = schema;
  if (anyOf?.every((choice) => 'const' in choice))
    return anyOf.length > 8 ? 'a type' : anyOf.map((choice) => code(String(choice.const))).join(', ');
  if (anyOf) return anyOf.map(valueOf).join(' or ');
  if (type === 'array')
    return `list of ${items ? valueOf(items) : 'values'}${maxItems === undefined ? '' : `, at most ${maxItems}`}`;
  const bounds = [minimum === undefined ? '' : `from ${minimum}`, maximum === undefined ? '' : `to ${maximum}`].filter(
    Boolean,
  );
  const length = maxLength === undefined ? [] : [`at most ${maxLength} characters`];
  return [type === 'string' ? 'text' : (type ?? 'any value'), ...bounds, ...length].join(', ');
}

function typesTable(): string {
  const rows = fieldTypes.map((type) => {
    const traits = fieldTraits[type];
    const isStored = traits.column !== undefined;
    const kind = traits.kind === 'reference' ? 'uuid' : type === 'ENCRYPTED' ? 'sealed' : traits.kind;
    const operators = type === 'FORMULA' ? 'those of the type that it returns' : operatorsOf[kind].map(code).join(' ');
    const indexed = isAlwaysIndexed.has(type) ? 'yes' : '–';
    return [
      code(type),
      jsonOf(type),
      isStored ? code(traits.column ?? '') : 'computed',
      traits.isOrdered || type === 'ROLLUP_SUMMARY' ? 'yes' : '–',
      indexed,
      operators,
    ];
  });
  return table(['type', 'JSON', 'column', 'sorted', 'index', 'filters'], rows);
}

function jsonOf(type: FieldType): string {
  if (type === 'FORMULA') return 'that of `returns`';
  const { type: json, format, items, properties }: JsonSchema = fieldSchema({ name: 'x', type, required: true });
  if (json === undefined) return 'any value';
  const inner = items ? ` of ${String(items.type ?? 'any value')}` : '';
  const of = properties ? ` {${Object.keys(properties).join(', ')}}` : '';
  return `${String(json)}${inner}${of}${format === undefined ? '' : ` (${format})`}`;
}

function constraintsTable(): string {
  const { properties = {} } = FieldConstraints as unknown as Schema; // TypeBox types hide the keywords
  const rows = Object.entries(constraintKinds).map(([name, kinds]) => {
    const types = fieldTypes.filter((type) => fieldTraits[type].isWritable && kinds.includes(fieldTraits[type].kind));
    const { [name]: schema } = properties;
    return [code(name), schema ? valueOf(schema) : '', types.map(code).join(' '), schema?.description ?? '–'];
  });
  return table(['constraint', 'value', 'types', 'what it is'], rows);
}

const nullRules = [
  '## No value',
  [
    '- A field that is not `required` may be null, and is if a new record does not name it and it has no `default`. `required` fields refuse null (code `nullable`); an empty text is a value.',
    '- `PATCH` with null removes the value; a field that it does not name stays. `PUT` gives fields that it does not name their default, or null.',
    '- `eq` with `null` is `isnull`. `neq`, `nin` and `not` find records without a value; all other operators do not.',
    '- Records without a value come last in every order, also downwards. Records without a value are equal to no other for `unique`.',
    '- JSON null inside of a `JSON` field is kept; the field as a whole has no value if it is null.',
    '- Sums and averages pass over records without a value; `count` of a field counts values, and of `*` records.',
  ].join('\n'),
];

function operatorsTable(): string {
  const rows = Object.entries(operatorIndexes).map(([operator, index]) => [
    code(operator),
    index ?? 'reads every record',
  ]);
  return table(['operator', 'looked up if the field is'], rows);
}

const indexNotes = [
  [
    '- `sort` by a field follows its index, one page costs as much as another; so does `sort` by an `indexed` field of a related record (`customer.country`), except for the last page, which has the records without a value.',
    '- `createdAt` and `updatedAt` have an index if `indexes` of the definition has one: `["createdAt"]`, `["-updatedAt"]`, `["status", "-createdAt"]`. One of `updatedAt` makes every update of a record dearer.',
    '- `indexes` with several fields serve filters by the first ones and the order of the next one.',
    '- A condition on a related record (`customer.country`) uses the index of that field and of the relation, also as one of the alternatives of `or`.',
    '- Inside of a JSON field, `eq`, `in` and `has` are looked up, unless a part of the path is a number; ranges and patterns are not.',
    '- `search` with a word that must be absent (`-word`) in one field reads every record; `search=` over all searchable fields never does.',
    '- `patternIndexed` needs the extension `pg_trgm` of PostgreSQL, which the platform creates if it may: the PostgreSQL of `drover up` has it. Its index is larger than others and makes writes of the field dearer.',
    '- Indexes are built while the collection is used.',
  ].join('\n'),
];

function limitsTable(): string {
  const {
    pageSize,
    includeDepth,
    included,
    conditions,
    listValues,
    operations,
    bulkRows,
    bodyBytes,
    statementTimeoutMs,
  } = defaultRecordLimits;
  return table(
    ['what', 'limit', 'variable'],
    [
      [
        'records of a page',
        `${defaultPageSize} unless \`page[size]\` says otherwise, at most ${pageSize}`,
        'DROVER_RECORDS_MAX_PAGE_SIZE',
      ],
      [
        'relations in a path of `include`, `filter` and `sort`',
        String(includeDepth),
        'DROVER_RECORDS_MAX_INCLUDE_DEPTH',
      ],
      ['included records of an answer', String(included), 'DROVER_RECORDS_MAX_INCLUDED'],
      ['conditions of a filter', String(conditions), 'DROVER_RECORDS_MAX_CONDITIONS'],
      ['values of `in`', String(listValues), 'DROVER_RECORDS_MAX_LIST_VALUES'],
      ['operations of an atomic request', String(operations), 'DROVER_RECORDS_MAX_OPERATIONS'],
      ['records that a request writes', String(bulkRows), 'DROVER_RECORDS_MAX_BULK_ROWS'],
      ['bytes of a body, imports aside', String(bodyBytes), 'DROVER_RECORDS_BODY_LIMIT_BYTES'],
      ['milliseconds of a statement', String(statementTimeoutMs), 'DROVER_RECORDS_STATEMENT_TIMEOUT_MS'],
    ].map(([what = '', limit = '', name = '']) => [what, limit, code(name)]),
  );
}

function changes(): readonly string[] {
  const orders = testCollection({ name: 'orders', fields: [{ name: 'number', type: 'STRING' }] });
  const id = '01a2b3c4-0000-7000-8000-000000000001';
  const json = changeJson(orders, {
    id: 42,
    tenantId: 'default',
    collectionId: orders.id,
    recordId: id,
    version: 2,
    kind: 'updated',
    before: '{"number":"A-1","status":"open"}',
    after: '{"number":"A-1","status":"paid"}',
    actor: 'key-1',
    at: new Date('2026-01-31T12:00:00Z'),
  });
  return [
    'A webhook is a `POST` of one change as JSON; `_changes` and the stream have the same. `kind` is `created`, `updated`, `deleted` or `restored`; `before` is null for a new record, and `after` for one that is gone. Both have the fields of the record without encrypted ones.',
    `\`\`\`json\n${JSON.stringify(JSON.parse(json), undefined, 2)}\n\`\`\``,
    'Its headers are those of [Standard Webhooks](https://www.standardwebhooks.com): `webhook-id` (the same for each attempt), `webhook-timestamp` in seconds, and `webhook-signature`, which is `v1,` and the HMAC-SHA256 of `id.timestamp.body` in base64, one for each valid secret. An answer other than 2xx, or none, is tried again later. Changes of one record arrive in their order.',
  ];
}
