import type { Database } from '@drover/database';
import { nearestName, Secret, systemClock, systemRandomness } from '@drover/service-kit';
import { collectionUnknown } from '../errors.js';
import type { CollectionModel } from '../model/collection-model.js';
import { defaultRecordLimits, type RecordAnswer, type RecordContext } from '../request/record-context.js';
import type { OperationDependencies, RecordOperation, RecordRequest } from '../request/record-operation.js';
import { PreparedStatements } from '../sql/prepared-statements.js';
import { FieldCipher } from '../values/field-cipher.js';

/** What operations use, over the collections of a test. */
export function testDependencies(database: Database, collections: readonly CollectionModel[]): OperationDependencies {
  return {
    database,
    statements: new PreparedStatements(),
    cipher: new FieldCipher(new Secret('a key for the tests of encrypted fields'), systemRandomness),
    clock: systemClock,
    randomness: systemRandomness,
    find: (tenantId, name) => {
      const own = collections.filter((each) => each.tenantId === tenantId);
      const found = own.find((each) => each.name === name);
      if (found) return Promise.resolve(found);
      const similar = nearestName(
        name,
        own.map((each) => each.name),
      );
      return Promise.reject(collectionUnknown({ collection: name, similar }));
    },
    findReferrers: (tenantId, name) =>
      Promise.resolve(
        collections.filter(
          (each) =>
            each.tenantId === tenantId &&
            each.definition.fields.some(({ references }) => references?.collection === name),
        ),
      ),
  };
}

export function testContext(context: Partial<RecordContext> = {}): RecordContext {
  return {
    tenantId: 'acme',
    actor: 'key',
    access: { mayRead: () => true, mayWrite: () => true },
    limits: defaultRecordLimits,
    shape: 'jsonapi',
    ...context,
  };
}

export function testRequest(request: Partial<RecordRequest> = {}): RecordRequest {
  return {
    path: '/api/test',
    query: '',
    headers: {},
    id: undefined,
    version: undefined,
    parent: undefined,
    body: Buffer.alloc(0),
    upload: undefined,
    signal: new AbortController().signal,
    ...request,
  };
}

/** Calls an operation as the collection worker does, and returns its body as JSON. */
export async function callOperation(
  operation: RecordOperation,
  collection: CollectionModel,
  dependencies: OperationDependencies,
  { context, ...request }: Partial<RecordRequest> & { readonly context?: Partial<RecordContext> } = {},
): Promise<Omit<RecordAnswer, 'body'> & { readonly body: unknown }> {
  const answer = await operation(testContext(context), collection, testRequest(request), dependencies);
  return { ...answer, body: typeof answer.body === 'string' ? (JSON.parse(answer.body) as unknown) : answer.body };
}
