/** The part of a generated client that is the same for all collections. */
export const clientRuntime = `export interface ClientOptions {
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
}

export type RecordsClient = { readonly [Name in keyof Collections]: CollectionClient<Collections[Name]> };

/** Creates a client with one member for each collection. */
export function createRecordsClient(options: ClientOptions): RecordsClient {
  const clients = collectionNames.map((name) => [name, collectionClient(options, name)]);
  return Object.fromEntries(clients) as RecordsClient;
}

interface Sent {
  readonly method?: string;
  readonly path?: string;
  readonly parameters?: Readonly<Record<string, string | undefined>>;
  readonly headers?: Readonly<Record<string, string | undefined>>;
  readonly body?: unknown;
}

function collectionClient(options: ClientOptions, name: string): CollectionClient<CollectionTypes> {
  const send = (sent: Sent): Promise<unknown> => sendRequest(options, name, sent);
  const list = async (query: Query<CollectionTypes> = {}): Promise<Page<never>> => {
    const { data, meta } = (await send({ parameters: listParameters(query) })) as ListAnswer;
    return { records: data as never[], next: meta?.nextCursor, total: meta?.total };
  };
  const write = (method: string, id: string, body: unknown, { version }: WriteOptions = {}): Promise<never> =>
    send({ method, path: id, body, headers: { 'if-match': version === undefined ? undefined : \`"\${version}"\` } }) as Promise<never>;
  return {
    list,
    async *all(query = {}) {
      for (let cursor = query.cursor; ; ) {
        const page = await list(cursor === undefined ? query : { ...query, cursor });
        yield* page.records;
        if (page.next === undefined) return;
        cursor = page.next;
      }
    },
    get: (id, view = {}) => send({ path: id, parameters: viewParameters(view) }) as Promise<never>,
    create: (record, { idempotencyKey } = {}) =>
      send({ method: 'POST', body: record, headers: { 'idempotency-key': idempotencyKey } }) as Promise<never>,
    createAll: async (records, { idempotencyKey } = {}) => {
      const answer = await send({ method: 'POST', body: records, headers: { 'idempotency-key': idempotencyKey } });
      return (answer as ListAnswer).data as never[];
    },
    upsert: (record, by) => send({ method: 'POST', body: record, parameters: { on_conflict: by } }) as Promise<never>,
    update: (id, changes, write_ = {}) => write('PATCH', id, changes, write_),
    replace: (id, record, write_ = {}) => write('PUT', id, record, write_),
    delete: async (id, write_ = {}) => void (await write('DELETE', id, undefined, write_)),
  };
}

interface ListAnswer {
  readonly data: readonly unknown[];
  readonly meta?: { readonly total?: number; readonly nextCursor?: string };
}

async function sendRequest({ url, apiKey, fetch: send = fetch }: ClientOptions, name: string, sent: Sent): Promise<unknown> {
  const { method = 'GET', path, parameters = {}, headers = {}, body } = sent;
  const segments = ['api', name, ...(path === undefined ? [] : [path])].map(encodeURIComponent);
  const target = new URL(segments.join('/'), url.endsWith('/') ? url : \`\${url}/\`);
  for (const [key, value] of Object.entries({ ...parameters, shape: 'flat' }))
    if (value !== undefined) target.searchParams.set(key, value);
  const given = Object.entries(headers).filter((header): header is [string, string] => header[1] !== undefined);
  const response = await send(target, {
    method,
    headers: {
      ...Object.fromEntries(given),
      authorization: \`Bearer \${apiKey}\`,
      accept: 'application/json;shape=flat',
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new RecordsError(response.status, errorsIn(text));
  return text === '' ? undefined : JSON.parse(text);
}

function errorsIn(text: string): RecordsError['errors'] {
  try {
    return (JSON.parse(text) as { readonly errors?: RecordsError['errors'] }).errors ?? [];
  } catch {
    return [];
  }
}

function listParameters({ filter, sort, size, cursor, count, deleted, ...view }: Query<CollectionTypes>): Sent['parameters'] & object {
  return {
    ...viewParameters(view),
    filter: filter && JSON.stringify(filter),
    sort: sort?.join(','),
    'page[size]': size === undefined ? undefined : String(size),
    'page[after]': cursor,
    count,
    deleted,
  };
}

function viewParameters({ fields, include }: View<CollectionTypes, never>): Sent['parameters'] & object {
  return { fields: fields?.join(','), include: include?.join(',') };
}
`;
