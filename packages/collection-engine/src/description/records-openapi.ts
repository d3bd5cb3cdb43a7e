import type { CollectionDefinition } from '@drover/contracts';
import { atomicOperations, describeOperation, recordPaths, searchOperation } from './record-paths.js';
import { object, recordSchemas, schemaReference, type DescribedCollection } from './record-schemas.js';

/** Returns the OpenAPI 3.1 document of the records of these collections. */
export function recordsOpenApi(definitions: readonly CollectionDefinition[], version: string): object {
  const collections = withKeys(definitions);
  return {
    openapi: '3.1.0',
    info: {
      title: 'Records',
      version,
      description: 'The records of your collections. Definitions are under `/control/collections`.',
    },
    tags: definitions.map(({ name, displayName, description }) => ({
      name,
      ...((displayName ?? description) && { description: [displayName, description].filter(Boolean).join(': ') }),
    })),
    paths: {
      ...Object.assign({}, ...collections.map(recordPaths)),
      '/api/_search': { get: searchOperation },
      '/api/operations': {
        post: {
          operationId: 'operations',
          ...describeOperation({
            summary: 'Creates, changes and deletes records of several collections in one transaction',
            scope: 'records:write',
            body: { required: true, content: { [atomicType]: { schema: atomicOperations } } },
            responses: { 200: { description: 'The results, in the order of the operations' } },
          }),
        },
      },
    },
    components: {
      schemas: { ...Object.assign({}, ...collections.map(recordSchemas)), errors },
      responses: {
        Error: {
          description: 'What is wrong, and where',
          content: { 'application/vnd.api+json': { schema: schemaReference('errors') } },
        },
      },
      securitySchemes: { apiKey: { type: 'http', scheme: 'bearer', description: 'API key: drv_<id>_<secret>' } },
    },
  };
}

const atomicType = 'application/vnd.api+json;ext="https://jsonapi.org/ext/atomic"';

/** Names of components are ASCII: other characters of a name are written as their code, and equal results are numbered. */
function withKeys(definitions: readonly CollectionDefinition[]): DescribedCollection[] {
  const taken = new Set(['errors']);
  return definitions.map((definition) => {
    const ascii = definition.name.replaceAll(/[^A-Za-z0-9_]/gu, (one) => `_${one.codePointAt(0)?.toString(16)}`);
    const suffixes = ['', '_new', '_change', '_document', '_list'];
    let key = ascii;
    for (let n = 2; suffixes.some((suffix) => taken.has(`${key}${suffix}`)); n += 1) key = `${ascii}_${n}`;
    for (const suffix of suffixes) taken.add(`${key}${suffix}`);
    return { definition, key };
  });
}

const errors = object(
  {
    errors: {
      type: 'array',
      items: object(
        {
          status: { type: 'string' },
          code: { type: 'string', description: 'Listed in docs/errors.md, or the name of a constraint' },
          title: { type: 'string' },
          detail: { type: 'string', description: 'What is wrong, and what to do' },
          source: object({ pointer: { type: 'string' }, parameter: { type: 'string' } }, []),
          meta: object({ requestId: { type: 'string' } }, []),
        },
        ['status', 'code', 'detail'],
      ),
    },
  },
  ['errors'],
);
