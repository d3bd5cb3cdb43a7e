/** The types of a generated client that are the same for all collections. */
export const clientTypes = `export interface ClientOptions {
  /** Address of the platform: http://127.0.0.1:7070 */
  readonly url: string;
  readonly apiKey: string;
  readonly fetch?: typeof fetch;
}

/** An answer other than success. */
export class RecordsError extends Error {
  readonly status: number;
  /** Every problem: its code, what is wrong, and the place in the request. */
  readonly errors: readonly { readonly code: string; readonly detail?: string; readonly source?: Readonly<Record<string, string>> }[];

  constructor(status: number, errors: RecordsError['errors']) {
    super(errors.map(({ code, detail }) => detail ?? code).join(' ') || \`The platform answered with status \${status}.\`);
    this.name = 'RecordsError';
    this.status = status;
    this.errors = errors;
  }
}

export interface CollectionTypes {
  readonly record: object;
  readonly input: object;
  readonly related: object;
}

/** What a value is compared with; several operators must all hold. */
export interface Condition<Value> {
  readonly eq?: Value;
  readonly neq?: Value;
  readonly gt?: Value;
  readonly gte?: Value;
  readonly lt?: Value;
  readonly lte?: Value;
  readonly between?: readonly [Value, Value];
  readonly in?: readonly Value[];
  readonly nin?: readonly Value[];
  readonly isnull?: boolean;
  readonly contains?: string;
  readonly starts?: string;
  readonly ends?: string;
  readonly icontains?: string;
  readonly istarts?: string;
  readonly iends?: string;
  readonly ieq?: string;
  readonly like?: string;
  readonly ilike?: string;
  readonly regex?: string;
  readonly has?: unknown;
  readonly hasAny?: readonly unknown[];
  readonly hasAll?: readonly unknown[];
  readonly search?: string;
}

/** Conditions by field; a path such as 'customer.country' leads through relations and into JSON. */
export type Filter<R> = { readonly [Field in keyof R]?: Condition<Exclude<R[Field], null>> } & {
  readonly [path: \`\${string}.\${string}\`]: Condition<unknown>;
} & { readonly and?: readonly Filter<R>[]; readonly or?: readonly Filter<R>[]; readonly not?: Filter<R> };

export interface View<C extends CollectionTypes, Name extends keyof C['related']> {
  readonly fields?: readonly (keyof C['record'] & string)[];
  readonly include?: readonly Name[];
}

export interface Query<C extends CollectionTypes, Name extends keyof C['related'] = never> extends View<C, Name> {
  readonly filter?: Filter<C['record']>;
  readonly sort?: readonly ((keyof C['record'] & string) | \`-\${keyof C['record'] & string}\`)[];
  readonly size?: number;
  readonly cursor?: string;
  readonly count?: 'exact' | 'planned' | 'none';
  readonly deleted?: 'only' | 'with';
  /** Words that searchable fields contain; the best records come first unless \`sort\` says otherwise. */
  readonly search?: string;
}

export type AggregateName = 'count' | 'countDistinct' | 'sum' | 'avg' | 'min' | 'max';
export type GroupUnit = 'hour' | 'day' | 'week' | 'month' | 'quarter' | 'year';

/** What is computed for each group: a function over a field, or 'count' of all records. */
export type Aggregate<C extends CollectionTypes> =
  | 'count'
  | { readonly [Name in AggregateName]?: keyof C['record'] & string };

export interface AggregateQuery<
  C extends CollectionTypes,
  Values extends Readonly<Record<string, Aggregate<C>>>,
  Group extends keyof C['record'] & string,
> {
  /** By the name that each value has in the answer, in \`having\` and in \`sort\`. */
  readonly values: Values;
  readonly group?: readonly (Group | \`\${Group}:\${GroupUnit}\`)[];
  readonly filter?: Filter<C['record']>;
  readonly search?: string;
  readonly having?: { readonly [Name in keyof Values]?: Condition<number | string> };
  readonly sort?: readonly ((keyof Values & string) | Group | \`-\${(keyof Values & string) | Group}\`)[];
  /** Most groups of the answer, for instance the ten largest with \`sort\`; all groups without it. */
  readonly size?: number;
  readonly deleted?: 'only' | 'with';
}

/** The fields of the group and the values that were asked for. */
export type AggregateRow<C extends CollectionTypes, Values, Group extends keyof C['record'] & string> = Partial<
  Pick<C['record'], Group>
> & { readonly [Name in keyof Values]: number | string | null };

/** A version of a record, with the record as it was. */
export interface RecordVersion<R> {
  readonly version: number;
  readonly kind: 'created' | 'updated' | 'deleted' | 'restored';
  /** Id of the API key. */
  readonly actor: string;
  readonly at: string;
  readonly record: Partial<R> | null;
}

/** A change of a record. Fields may be missing that the collection did not have at the time. */
export interface Change<R> {
  /** Continue a stream after this change with \`since\`. */
  readonly position: string;
  readonly kind: 'created' | 'updated' | 'deleted' | 'restored';
  readonly id: string;
  readonly version: number;
  readonly actor: string;
  readonly at: string;
  readonly before: Partial<R> | null;
  readonly after: Partial<R> | null;
}

export interface ChangeStreamOptions<R> {
  /** Position of the last change that was seen, a time, or 'now', which is the default. */
  readonly since?: string;
  /** Only changes of records that meet it before or after the change. */
  readonly filter?: Filter<R>;
  readonly signal?: AbortSignal;
  /** Called when changes were removed before they were read, because the client was away for too long. */
  readonly onReset?: () => void;
}

/** A record with the relations that were included. */
export type Included<C extends CollectionTypes, Name extends keyof C['related']> = Omit<C['record'], Name> &
  Pick<C['related'], Name>;

export interface Page<R> {
  readonly records: readonly R[];
  /** Cursor of the next page; undefined after the last one. */
  readonly next: string | undefined;
  /** With \`count\`. */
  readonly total: number | undefined;
}

export interface WriteOptions {
  /** The version that is changed; the write fails with 412 if the record has another one. */
  readonly version?: number;
}

export interface CollectionClient<C extends CollectionTypes> {
  list<const Name extends keyof C['related'] = never>(query?: Query<C, Name>): Promise<Page<Included<C, Name>>>;
  /** All records of all pages, one page at a time. */
  all<const Name extends keyof C['related'] = never>(query?: Query<C, Name>): AsyncGenerator<Included<C, Name>>;
  get<const Name extends keyof C['related'] = never>(id: string, view?: View<C, Name>): Promise<Included<C, Name>>;
  create(record: C['input'], options?: { readonly idempotencyKey?: string }): Promise<C['record']>;
  createAll(records: readonly C['input'][], options?: { readonly idempotencyKey?: string }): Promise<readonly C['record'][]>;
  /** Creates a record, or changes the one that has the same value of a unique field. */
  upsert(record: C['input'], by: keyof C['input'] & string): Promise<C['record']>;
  update(id: string, changes: Partial<C['input']>, options?: WriteOptions): Promise<C['record']>;
  replace(id: string, record: C['input'], options?: WriteOptions): Promise<C['record']>;
  delete(id: string, options?: WriteOptions): Promise<void>;
  /** Counts, sums and other values of groups of records. */
  aggregate<
    const Values extends Readonly<Record<string, Aggregate<C>>>,
    const Group extends keyof C['record'] & string = never,
  >(
    query: AggregateQuery<C, Values, Group>,
  ): Promise<readonly AggregateRow<C, Values, Group>[]>;
  /** Brings a deleted record back, in a collection with \`softDelete\`. */
  restore(id: string): Promise<C['record']>;
  /** The versions of a record, newest first, in a collection with \`history\`. */
  history(id: string): AsyncGenerator<RecordVersion<C['record']>>;
  /** Gives a record the values of an earlier version, as a new version. */
  restoreVersion(id: string, version: number): Promise<C['record']>;
  /** Changes as they happen, without end: connects again after a failure, and continues after the last change. */
  stream(options?: ChangeStreamOptions<C['record']>): AsyncGenerator<Change<C['record']>>;
}

/** A record that was found in some collection. */
export interface Found {
  readonly type: keyof Collections;
  readonly id: string;
  readonly display: string | null;
  readonly rank: number;
}

/** Finds records of all collections by the words in their searchable fields, the best first. */
export async function searchRecords(
  options: ClientOptions,
  words: string,
  { limit }: { readonly limit?: number } = {},
): Promise<readonly Found[]> {
  const parameters = { q: words, limit: limit === undefined ? undefined : String(limit) };
  const { data } = (await sendRequest(options, '_search', { parameters })) as ListAnswer;
  return data as readonly Found[];
}

export type RecordsClient = { readonly [Name in keyof Collections]: CollectionClient<Collections[Name]> };

/** Creates a client with one member for each collection. */
export function createRecordsClient(options: ClientOptions): RecordsClient {
  const clients = collectionNames.map((name) => [name, collectionClient(options, name)]);
  return Object.fromEntries(clients) as RecordsClient;
}
`;
