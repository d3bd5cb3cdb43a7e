import type { CollectionModel } from '../model/collection-model.js';

/** The caller of a request, and its limits. */
export interface RecordContext {
  readonly tenantId: string;
  /** Id of the API key; recorded as `createdBy` and `updatedBy`. */
  readonly actor: string;
  readonly access: RecordAccess;
  readonly limits: RecordLimits;
  /** JSON:API documents, or plain objects. */
  readonly shape: 'jsonapi' | 'flat';
}

/** What the caller may do. The plan stage asks it for every collection that a request touches; row rules will join here. */
export interface RecordAccess {
  mayRead(collection: CollectionModel): boolean;
  mayWrite(collection: CollectionModel): boolean;
}

export interface RecordLimits {
  readonly pageSize: number;
  readonly includeDepth: number;
  /** Most included records of one response. */
  readonly included: number;
  /** Most conditions of a filter. */
  readonly conditions: number;
  /** Most values of one `in`. */
  readonly listValues: number;
  readonly operations: number;
  readonly bulkRows: number;
  readonly bodyBytes: number;
  readonly statementTimeoutMs: number;
}

export const defaultRecordLimits: RecordLimits = {
  pageSize: 1_000,
  includeDepth: 3,
  included: 10_000,
  conditions: 50,
  listValues: 200,
  operations: 500,
  bulkRows: 10_000,
  bodyBytes: 10 * 1_024 * 1_024,
  statementTimeoutMs: 10_000,
};

/** What an operation answers: the respond stage has made the whole body, or makes it while it is read. */
export interface RecordAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer | AsyncIterable<string> | undefined;
}
