import type { Database, Queryable } from '@drover/database';
import type { Clock, Randomness } from '@drover/service-kit';
import type { CollectionModel, FieldModel, FindCollection, FindReferrers } from '../model/collection-model.js';
import type { PreparedStatements } from '../sql/prepared-statements.js';
import type { FieldCipher } from '../values/field-cipher.js';
import type { RecordAnswer, RecordContext } from './record-context.js';

/** A request for records without its connection: all that an operation reads of HTTP. */
export interface RecordRequest {
  /** Path as it was sent, without the query; for links. */
  readonly path: string;
  /** Query string as it was sent, without the question mark; '' if there is none. */
  readonly query: string;
  /** By name in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** Id in the path, decoded but not checked; undefined if the request is about the collection. */
  readonly id: string | undefined;
  /** The version in `/{id}/versions/{version}`, not checked. */
  readonly version: string | undefined;
  /** Set for `/api/{parent}/{id}/{child}`: the request is about the children of one record. */
  readonly parent: ParentRecord | undefined;
  /** The whole body, within the limit `bodyBytes`; empty if there is none, or if it is streamed. */
  readonly body: Buffer;
  /** The body as it arrives, for operations that the route table marks as streamed. */
  readonly upload: AsyncIterable<Buffer> | undefined;
  /** Aborts when the client has left, and for endless responses also when the process drains. A streamed body must end then. */
  readonly signal: AbortSignal;
}

/** A record that a request about its children names. */
export interface ParentRecord {
  readonly collection: CollectionModel;
  /** Not checked. */
  readonly id: string;
  /** Field of the children that references it: reads see only children with this value, new records get it. */
  readonly field: FieldModel;
}

/** The database of one request, whose statements are cancelled when its client leaves. */
export interface RecordDatabase extends Queryable, Pick<Database, 'transaction'> {
  /** For statements that serve several requests; undefined if this database does. */
  readonly shared?: RecordDatabase;
  /** Returns a result of `shared`, and counts the time until it is there as time of this request. */
  readonly waitFor?: <T>(result: Promise<T>) => Promise<T>;
}

/** What operations use beside their input. The collection worker makes it once; an operation that needs more adds it here. */
export interface OperationDependencies {
  readonly database: RecordDatabase;
  readonly find: FindCollection;
  readonly findReferrers: FindReferrers;
  readonly statements: PreparedStatements;
  /** Encrypts values of requests, and opens them in responses. */
  readonly cipher: FieldCipher;
  readonly clock: Clock;
  readonly randomness: Randomness;
}

/** An operation on one collection. Rejects with a coded error; `details.source` and `details.problems` become JSON:API errors. */
export type RecordOperation = (
  context: RecordContext,
  collection: CollectionModel,
  request: RecordRequest,
  dependencies: OperationDependencies,
) => Promise<RecordAnswer>;

/** An operation on all collections of a tenant. */
export type TenantOperation = (
  context: RecordContext,
  request: RecordRequest,
  dependencies: OperationDependencies,
) => Promise<RecordAnswer>;

/** Operations on one collection, by the name that the route table of the collection worker has for them. */
export interface CollectionOperations {
  // GET, POST, PATCH, PUT and DELETE /api/{collection}
  readonly listRecords: RecordOperation;
  readonly createRecords: RecordOperation;
  readonly updateRecords: RecordOperation;
  readonly replaceRecords: RecordOperation;
  readonly deleteRecords: RecordOperation;
  // GET, PATCH, PUT and DELETE /api/{collection}/{id}
  readonly getRecord: RecordOperation;
  readonly updateRecord: RecordOperation;
  readonly replaceRecord: RecordOperation;
  readonly deleteRecord: RecordOperation;
  /** POST /api/{collection}/{id}/restore */
  readonly restoreRecord: RecordOperation;
  /** GET /api/{collection}/{id}/versions */
  readonly listRecordVersions: RecordOperation;
  /** GET /api/{collection}/{id}/versions/{version} */
  readonly getRecordVersion: RecordOperation;
  /** POST /api/{collection}/{id}/versions/{version}/restore */
  readonly restoreRecordVersion: RecordOperation;
  /** GET /api/{collection}/aggregate */
  readonly aggregateRecords: RecordOperation;
  /** GET /api/{collection}/_changes */
  readonly listChanges: RecordOperation;
  /** GET /api/{collection}/stream */
  readonly streamChanges: RecordOperation;
  /** POST /api/{collection}/import, streamed */
  readonly importRecords: RecordOperation;
  /** GET /api/{collection}/export */
  readonly exportRecords: RecordOperation;
}

/** Operations on all collections of a tenant. */
export interface TenantOperations {
  /** POST /api/operations */
  readonly runOperations: TenantOperation;
  /** GET /api/_search */
  readonly searchTenant: TenantOperation;
  /** GET /api/openapi.json */
  readonly describeApi: TenantOperation;
}

/** The records API. */
export interface RecordService extends CollectionOperations, TenantOperations {}
