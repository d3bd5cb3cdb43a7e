/** A change of a record, as a function gets it. */
export interface RecordChange {
  /** Grows with every change of any record. */
  readonly position: number;
  readonly kind: 'created' | 'updated' | 'deleted' | 'restored';
  readonly recordId: string;
  readonly atMs: number;
  /** JSON: position, kind, collection, id, version, actor, at, before and after. */
  readonly json: string;
}

export interface RecordChangeBatch {
  readonly changes: readonly RecordChange[];
  /** All changes of the collection up to this position are in this batch or one before. */
  readonly upTo: number;
  /** Whether changes were removed before they were read, because the reader was away for longer than they are kept. */
  readonly isTrimmed: boolean;
}

/** A function and the collection of its trigger. */
export interface TriggerOfCollection {
  readonly application: string;
  readonly functionName: string;
  readonly collection: string;
}

export interface ChangeFailure {
  readonly reason: string;
  readonly deliveries: number;
}

/** The collections of the tenant of an application. Rejects with coded errors; COLLECTION_UNKNOWN if there is no such collection. */
export interface CollectionRecords {
  readonly tenantId: string;
  /** Resolves with a position: all changes after it are yet to come. */
  position(signal: AbortSignal): Promise<number>;
  /** Yields changes after a position, in order and without end. */
  follow(collection: string, after: number, signal: AbortSignal): AsyncIterable<RecordChangeBatch>;
  /** Counts changes after a position, up to `limit`; with the time of the first. */
  count(
    collection: string,
    after: number,
    limit: number,
    signal: AbortSignal,
  ): Promise<{ readonly changes: number; readonly oldestAtMs: number | undefined }>;
  /** Stores changes that a function gave up. Resolves when they are durable, or the collection was removed. */
  storeFailed(of: TriggerOfCollection, changes: readonly RecordChange[], failure: ChangeFailure): Promise<void>;
  /** Yields failed changes that are to be delivered again, without end. The caller settles all of them before it asks for more. */
  replays(of: TriggerOfCollection, signal: AbortSignal): AsyncIterable<readonly RecordChange[]>;
  /** Counts failed changes that are to be delivered again, up to `limit`. */
  countReplays(of: TriggerOfCollection, limit: number, signal: AbortSignal): Promise<number>;
  /** Removes a failed change that its function has run for. */
  removeFailed(of: TriggerOfCollection, change: RecordChange): Promise<void>;
  /** Resolves with the JSON of a record; undefined if there is none. */
  get(collection: string, id: string): Promise<string | undefined>;
  /** Resolves with a JSON array of records. The query is that of the records API: `filter[status][eq]=open&sort=-placedAt`. */
  list(collection: string, query: string): Promise<string>;
  /** Writes records, all or none. */
  write(request: RecordWrite): Promise<void>;
}

export interface RecordWrite {
  readonly functionName: string;
  readonly collection: string;
  readonly operation: 'create' | 'upsert' | 'update' | 'delete';
  /** For `upsert`: the unique field by which a record is found. */
  readonly key: string | undefined;
  /** JSON of each record. */
  readonly records: readonly string[];
}
