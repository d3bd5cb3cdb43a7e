import type { CollectionDefinition } from '@drover/contracts';
import type { JsonSchema } from './field-schema.js';
import { object, schemaReference, type DescribedCollection } from './record-schemas.js';

type PathItem = Readonly<Record<string, object>>;
type Switch = 'list' | 'get' | 'create' | 'update' | 'delete';

interface OperationParts {
  readonly summary: string;
  readonly scope: 'records:read' | 'records:write';
  readonly parameters?: readonly object[];
  readonly body?: object;
  readonly responses: Readonly<Record<string, object>>;
}

/** The paths of one collection: what its definition switches off is left out. */
export function recordPaths(collection: DescribedCollection): Readonly<Record<string, PathItem>> {
  const { name } = collection.definition;
  const root = `/api/${encodeURIComponent(name)}`;
  const paths: [string, PathItem][] = [
    [root, listItem(collection)],
    [`${root}/{id}`, recordItem(collection)],
    [`${root}/aggregate`, aggregateItem(collection)],
    [`${root}/export`, exportItem(collection)],
    [`${root}/import`, importItem(collection)],
    [`${root}/_changes`, changesItem(collection)],
    [`${root}/stream`, streamItem(collection)],
    [`${root}/{id}/restore`, restoreItem(collection)],
    [`${root}/{id}/versions`, versionsItem(collection)],
    [`${root}/{id}/versions/{version}`, versionItem(collection)],
    [`${root}/{id}/versions/{version}/restore`, versionRestoreItem(collection)],
  ];
  return Object.fromEntries(paths.filter(([, item]) => Object.keys(item).length > 0));
}

function listItem(collection: DescribedCollection): PathItem {
  const { definition, key } = collection;
  const { name } = definition;
  return {
    ...offered(definition, 'list', {
      get: operation(collection, 'list', {
        summary: `Lists records of ${name}`,
        scope: 'records:read',
        parameters: [...filterParameters, search, ...pageParameters, ...viewParameters],
        responses: { 200: document('One page', `${key}_list`) },
      }),
    }),
    ...offered(definition, 'create', {
      post: operation(collection, 'create', {
        summary: `Creates records of ${name}; with \`on_conflict\` it changes those that exist`,
        scope: 'records:write',
        parameters: [
          query(
            'on_conflict',
            { type: 'string' },
            'Unique field, or fields of a unique set, by which existing records are found',
          ),
          header('Idempotency-Key', { type: 'string', maxLength: 255 }, 'Repeated requests with it have one effect'),
          ...preferParameters,
        ],
        body: requestBody(`${key}_new`),
        responses: { 201: document('The created records', `${key}_document`), 204: { description: 'With `Prefer`' } },
      }),
    }),
    ...offered(definition, 'update', {
      patch: operation(collection, 'updateMany', {
        summary: `Changes the records of ${name} that a filter selects`,
        scope: 'records:write',
        parameters: [...filterParameters, maxAffected, ...preferParameters],
        body: requestBody(`${key}_change`),
        responses: { 200: document('The changed records', `${key}_list`), 204: { description: 'With `Prefer`' } },
      }),
      put: operation(collection, 'replaceMany', {
        summary: `Replaces records of ${name}, each with its id`,
        scope: 'records:write',
        parameters: preferParameters,
        body: requestBody(`${key}_change`),
        responses: { 200: document('The records', `${key}_list`), 204: { description: 'With `Prefer`' } },
      }),
    }),
    ...offered(definition, 'delete', {
      delete: operation(collection, 'deleteMany', {
        summary: `Deletes the records of ${name} that a filter selects`,
        scope: 'records:write',
        parameters: [...filterParameters, maxAffected],
        responses: { 200: { description: 'The number of deleted records' }, 204: { description: 'Deleted' } },
      }),
    }),
  };
}

function recordItem(collection: DescribedCollection): PathItem {
  const { definition, key } = collection;
  const { name } = definition;
  const changed = { 200: document('The record', `${key}_document`), 204: { description: 'With `Prefer`' } };
  return {
    ...offered(definition, 'get', {
      get: operation(collection, 'get', {
        summary: `Returns a record of ${name}`,
        scope: 'records:read',
        parameters: [idParameter, ...viewParameters],
        responses: { 200: document('The record; its version is the ETag', `${key}_document`) },
      }),
    }),
    ...offered(definition, 'update', {
      patch: operation(collection, 'update', {
        summary: `Changes the given fields of a record of ${name}`,
        scope: 'records:write',
        parameters: [idParameter, ifMatch, ...preferParameters],
        body: requestBody(`${key}_change`),
        responses: changed,
      }),
      put: operation(collection, 'replace', {
        summary: `Replaces a record of ${name}: fields that are absent lose their value`,
        scope: 'records:write',
        parameters: [idParameter, ifMatch, ...preferParameters],
        body: requestBody(`${key}_new`),
        responses: changed,
      }),
    }),
    ...offered(definition, 'delete', {
      delete: operation(collection, 'delete', {
        summary: `Deletes a record of ${name}`,
        scope: 'records:write',
        parameters: [idParameter, ifMatch],
        responses: { 204: { description: 'The record is deleted' } },
      }),
    }),
  };
}

function aggregateItem(collection: DescribedCollection): PathItem {
  const agg = query('agg', { type: 'object' }, '`agg[field]=sum`: count, sum, min, max, avg; `agg[*]=count`');
  return offered(collection.definition, 'list', {
    get: operation(collection, 'aggregate', {
      summary: `Groups and aggregates records of ${collection.definition.name}`,
      scope: 'records:read',
      parameters: [
        query('group', { type: 'string' }, 'Fields, separated by commas'),
        deepObject(agg),
        query('having', { type: 'object' }, '`having[total][gt]=10`: conditions on aggregates'),
        query('sort', { type: 'string' }, 'Fields of the groups or aggregates; `-` sorts downwards'),
        ...filterParameters,
      ],
      responses: { 200: { description: 'One entry for each group' } },
    }),
  });
}

function exportItem(collection: DescribedCollection): PathItem {
  return offered(collection.definition, 'list', {
    get: operation(collection, 'export', {
      summary: `Streams records of ${collection.definition.name} as CSV or JSON lines`,
      scope: 'records:read',
      parameters: [...filterParameters],
      responses: { 200: { description: 'The records', content: bulkContent } },
    }),
  });
}

function importItem(collection: DescribedCollection): PathItem {
  return offered(collection.definition, 'create', {
    post: operation(collection, 'import', {
      summary: `Imports records of ${collection.definition.name} from CSV or JSON lines`,
      scope: 'records:write',
      body: { required: true, content: bulkContent },
      responses: { 200: { description: 'Progress and result' } },
    }),
  });
}

function changesItem(collection: DescribedCollection): PathItem {
  if (collection.definition.events === false) return {};
  return offered(collection.definition, 'list', {
    get: operation(collection, 'changes', {
      summary: `Lists changes of records of ${collection.definition.name} since a position`,
      scope: 'records:read',
      parameters: [query('since', { type: 'string' }, 'Position of the last change that was read')],
      responses: { 200: { description: 'Changes, and the position after them' } },
    }),
  });
}

function streamItem(collection: DescribedCollection): PathItem {
  if (collection.definition.events === false) return {};
  return offered(collection.definition, 'list', {
    get: operation(collection, 'stream', {
      summary: `Sends changes of records of ${collection.definition.name} as they happen`,
      scope: 'records:read',
      parameters: [...filterParameters, header('Last-Event-ID', { type: 'string' }, 'Continues after this event')],
      responses: { 200: { description: 'Server-sent events', content: { 'text/event-stream': {} } } },
    }),
  });
}

function restoreItem(collection: DescribedCollection): PathItem {
  const { definition, key } = collection;
  if (!definition.softDelete) return {};
  return offered(definition, 'delete', {
    post: operation(collection, 'restore', {
      summary: `Restores a deleted record of ${definition.name}`,
      scope: 'records:write',
      parameters: [idParameter],
      responses: { 200: document('The record', `${key}_document`) },
    }),
  });
}

function versionsItem(collection: DescribedCollection): PathItem {
  if (!collection.definition.history) return {};
  return offered(collection.definition, 'get', {
    get: operation(collection, 'versions', {
      summary: `Lists the versions of a record of ${collection.definition.name}`,
      scope: 'records:read',
      parameters: [idParameter],
      responses: { 200: { description: 'The versions, newest first' } },
    }),
  });
}

function versionItem(collection: DescribedCollection): PathItem {
  const { definition, key } = collection;
  if (!definition.history) return {};
  return offered(definition, 'get', {
    get: operation(collection, 'version', {
      summary: `Returns a record of ${definition.name} as it was in a version`,
      scope: 'records:read',
      parameters: [idParameter, versionParameter],
      responses: { 200: document('The record', `${key}_document`) },
    }),
  });
}

function versionRestoreItem(collection: DescribedCollection): PathItem {
  const { definition, key } = collection;
  if (!definition.history) return {};
  return offered(definition, 'update', {
    post: operation(collection, 'restoreVersion', {
      summary: `Gives a record of ${definition.name} the values that it had in a version`,
      scope: 'records:write',
      parameters: [idParameter, versionParameter],
      responses: { 200: document('The record', `${key}_document`) },
    }),
  });
}

function offered({ api = {} }: CollectionDefinition, what: Switch, item: PathItem): PathItem {
  return api[what] === false ? {} : item;
}

function operation({ key, definition }: DescribedCollection, verb: string, parts: OperationParts): object {
  return { operationId: `${verb}_${key}`, tags: [definition.name], ...describeOperation(parts) };
}

export function describeOperation({ summary, scope, parameters = [], body, responses }: OperationParts): object {
  return {
    summary,
    security: [{ apiKey: [scope] }],
    ...(parameters.length > 0 && { parameters }),
    ...(body && { requestBody: body }),
    responses: { ...responses, default: { $ref: '#/components/responses/Error' } },
  };
}

const jsonApi = 'application/vnd.api+json';
const bulkContent = { 'text/csv': {}, 'application/x-ndjson': {} };

function document(description: string, schemaName: string): object {
  return { description, content: { [jsonApi]: { schema: schemaReference(schemaName) } } };
}

function requestBody(schemaName: string): object {
  const schema = schemaReference(schemaName);
  return { required: true, content: { [jsonApi]: { schema }, 'application/json': { schema } } };
}

function query(name: string, schema: JsonSchema, description: string): object {
  return { name, in: 'query', required: false, description, schema };
}

/** `filter[status][eq]=open`: OpenAPI has no style for two levels, so that clients take the JSON form in `filter`. */
const deepObject = (parameter: object): object => ({ ...parameter, style: 'deepObject', explode: true });

function header(name: string, schema: JsonSchema, description: string): object {
  return { name, in: 'header', required: false, description, schema };
}

const idParameter = { name: 'id', in: 'path', required: true, schema: { type: 'string', format: 'uuid' } };
const versionParameter = { name: 'version', in: 'path', required: true, schema: { type: 'integer', minimum: 1 } };
const ifMatch = header('If-Match', { type: 'string' }, 'The ETag of the version to change; another one gives 412');
const maxAffected = {
  ...query('max_affected', { type: 'integer', minimum: 1 }, 'The request is refused if it selects more records'),
  required: true,
};
const filterParameters = [
  deepObject(
    query(
      'filter',
      { type: 'object' },
      '`filter[field][operator]=value`, groups `filter[or][0][field][operator]=value`, or one JSON object `filter={"or":[…]}`',
    ),
  ),
];
const search = query('search', { type: 'string' }, 'Words that searchable fields contain');
const pageParameters = [
  query('sort', { type: 'string' }, 'Fields, separated by commas; `-` sorts downwards'),
  deepObject(
    query(
      'page',
      object(
        { size: { type: 'integer', minimum: 1 }, number: { type: 'integer', minimum: 1 }, cursor: { type: 'string' } },
        [],
      ),
      'Size, and number or cursor of the page',
    ),
  ),
  query('count', { type: 'string', enum: ['exact', 'planned', 'none'] }, 'Whether `meta.total` is given'),
  query('deleted', { type: 'string', enum: ['only', 'with'] }, 'Also or only deleted records'),
];
const viewParameters = [
  query('fields', { type: 'string' }, 'Fields to return, separated by commas'),
  query('include', { type: 'string' }, 'Relations to include, separated by commas; dots lead further'),
  query('shape', { type: 'string', enum: ['jsonapi', 'flat'] }, 'Documents of JSON:API, or plain objects'),
];
const preferParameters = [header('Prefer', { type: 'string' }, '`return=minimal` answers without the record')];

/** `GET /api/_search`. */
export const searchOperation = {
  operationId: 'search',
  ...describeOperation({
    summary: 'Finds records of all collections by the words in their searchable fields, the best first',
    scope: 'records:read',
    parameters: [
      { name: 'q', in: 'query', required: true, description: 'The words', schema: { type: 'string' } },
      query('limit', { type: 'integer', minimum: 1, maximum: 100 }, 'Most records; 20 unless given'),
    ],
    responses: { 200: { description: 'The records' } },
  }),
};

/** The schema of the body of `POST /api/operations`. */
export const atomicOperations: JsonSchema = object(
  {
    'atomic:operations': {
      type: 'array',
      minItems: 1,
      items: object(
        {
          op: { type: 'string', enum: ['add', 'update', 'remove'] },
          ref: object({ type: { type: 'string' }, id: { type: 'string' }, lid: { type: 'string' } }, []),
          data: { type: ['object', 'null'] },
          meta: {
            ...object({ version: { type: 'integer', minimum: 1 } }, ['version']),
            description: 'The version that the record must have, as If-Match of a request',
          },
        },
        ['op'],
      ),
    },
  },
  ['atomic:operations'],
);
