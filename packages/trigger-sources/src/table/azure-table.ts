import type * as Sdk from '@azure/data-tables';
import type { TableClient, TransactionAction } from '@azure/data-tables';
import { sdkCall } from '../storage/sdk-call.js';
import type { StorageConnection } from '../storage/storage-connection.js';
import { classifyStorageError, type StorageFailure } from '../storage/storage-failure.js';
import { entityToJson, type NewEntity } from './table-entity.js';

/**
 * - table-missing: the table does not exist
 * - entity-missing: the entity does not exist
 * - exists: an entity with the same keys exists
 * - changed: the entity has another version
 */
export type TableFailure = StorageFailure | 'table-missing' | 'entity-missing' | 'exists' | 'changed';

const failuresByCode: Readonly<Record<string, TableFailure>> = {
  TableNotFound: 'table-missing',
  TableBeingDeleted: 'unavailable',
  ResourceNotFound: 'entity-missing',
  EntityNotFound: 'entity-missing',
  EntityAlreadyExists: 'exists',
  UpdateConditionNotSatisfied: 'changed',
};

export function tableFailureOf(error: unknown): TableFailure {
  const { code, statusCode, details } = (typeof error === 'object' && error !== null ? error : {}) as Readonly<
    Record<'code' | 'statusCode' | 'details', unknown>
  >; // absent ones read as undefined
  const known = odataCode(details) ?? code;
  return classifyStorageError({ code: known, statusCode }, failuresByCode);
}

/** The SDK has the code of single requests in the parsed body only. */
function odataCode(details: unknown): unknown {
  const { odataError } = (typeof details === 'object' && details !== null ? details : {}) as {
    readonly odataError?: { readonly code?: unknown };
  }; // absent ones read as undefined
  return odataError?.code;
}

/** One table through the Azure SDK, which is loaded at the first call. No method retries. */
export class AzureTable {
  readonly name: string;
  readonly setting: string;
  readonly #connection: StorageConnection;
  #client: Promise<TableClient> | undefined;

  constructor(name: string, connection: StorageConnection) {
    this.name = name;
    this.setting = connection.setting;
    this.#connection = connection;
  }

  /** Resolves with the JSON of an entity. */
  get(partitionKey: string, rowKey: string, signal: AbortSignal): Promise<string> {
    return this.#call(signal, async (client) =>
      entityToJson(await client.getEntity(partitionKey, rowKey, { abortSignal: signal, disableTypeConversion: true })),
    );
  }

  /** Resolves with the JSON of each entity, `take` of them at most. Rejects beyond `maxLength` characters. */
  query(
    request: { readonly filter: string | undefined; readonly take: number | undefined; readonly maxLength: number },
    signal: AbortSignal,
  ): Promise<readonly string[]> {
    const { filter, take = Number.POSITIVE_INFINITY, maxLength } = request;
    return this.#call(signal, async (client) => {
      const pages = client
        .listEntities({
          abortSignal: signal,
          disableTypeConversion: true,
          ...(filter !== undefined && { queryOptions: { filter } }),
        })
        .byPage({ maxPageSize: Math.min(take, 1_000) });
      const found: string[] = [];
      let length = 0;
      for await (const page of pages)
        for (const entity of page) {
          const json = entityToJson(entity);
          length += json.length + 1;
          if (length > maxLength) throw new TableResultTooLarge(found.length);
          found.push(json);
          if (found.length >= take) return found;
        }
      return found;
    });
  }

  /** Writes entities of one partition, all or none of them. Row keys must be unique. */
  write(entities: readonly NewEntity[], signal: AbortSignal): Promise<void> {
    return this.#call(signal, async (client) => {
      await client.submitTransaction(entities.map(toAction), { abortSignal: signal });
    });
  }

  /** Succeeds if the table exists. */
  create(signal: AbortSignal): Promise<void> {
    return this.#call(signal, async (client) => {
      await client.createTable({ abortSignal: signal });
    });
  }

  async #call<T>(signal: AbortSignal, act: (client: TableClient) => Promise<T>): Promise<T> {
    this.#client ??= import('@azure/data-tables').then((sdk) => connect(sdk, this.name, this.#connection));
    const client = await this.#client;
    return await sdkCall(signal, () => act(client));
  }
}

/** The entities of a query are more than a function worker takes. */
export class TableResultTooLarge extends Error {
  constructor(entities: number) {
    super(`more than ${entities} entities match, which is more than a function worker takes; use filter or take`);
  }
}

function connect(sdk: typeof Sdk, name: string, connection: StorageConnection): TableClient {
  const options = {
    allowInsecureConnection: connection.endpoint.startsWith('http:'),
    // One attempt: the callers retry with their own deadlines and observations.
    retryOptions: { maxRetries: 0 },
  };
  const credential =
    connection.kind === 'shared-key'
      ? new sdk.AzureNamedKeyCredential(connection.account, connection.key.reveal())
      : (connection.credential ?? new sdk.AzureSASCredential(connection.query.reveal()));
  // The overloads of the constructor do not take the union.
  return new sdk.TableClient(connection.endpoint, name, credential as Sdk.NamedKeyCredential, options);
}

function toAction({ partitionKey, rowKey, etag, properties }: NewEntity): TransactionAction {
  const entity = { partitionKey, rowKey, ...properties };
  if (etag === undefined) return ['create', entity];
  if (etag === '*') return ['upsert', entity, 'Replace'];
  return ['update', entity, 'Replace', { etag }];
}
