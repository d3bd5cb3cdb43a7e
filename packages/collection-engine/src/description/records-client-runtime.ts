/** The code of a generated client, which is the same for all collections. */
export const clientRuntime = `interface Sent {
  readonly method?: string;
  readonly path?: readonly string[];
  readonly parameters?: Readonly<Record<string, string | undefined>>;
  readonly headers?: Readonly<Record<string, string | undefined>>;
  readonly body?: unknown;
  readonly signal?: AbortSignal | undefined;
}

function collectionClient(options: ClientOptions, name: string): CollectionClient<CollectionTypes> {
  const send = (sent: Sent): Promise<unknown> => sendRequest(options, name, sent);
  const list = async (query: Query<CollectionTypes> = {}): Promise<Page<never>> => {
    const { data, meta } = (await send({ parameters: listParameters(query) })) as ListAnswer;
    return { records: data as never[], next: meta?.nextCursor, total: meta?.total };
  };
  const write = (method: string, id: string, body: unknown, { version }: WriteOptions = {}): Promise<never> =>
    send({ method, path: [id], body, headers: { 'if-match': version === undefined ? undefined : \`"\${version}"\` } }) as Promise<never>;
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
    get: (id, view = {}) => send({ path: [id], parameters: viewParameters(view) }) as Promise<never>,
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
    aggregate: async (query) => {
      const parameters = aggregateParameters(query);
      const groups: unknown[] = [];
      for (let page = 1; ; page += 1) {
        const number = page === 1 ? {} : { 'page[number]': String(page) };
        const answer = (await send({ path: ['aggregate'], parameters: { ...parameters, ...number } })) as ListAnswer;
        groups.push(...answer.data);
        if (query.size !== undefined || answer.meta?.hasMore !== true) return groups as never[];
      }
    },
    restore: (id) => send({ method: 'POST', path: [id, 'restore'] }) as Promise<never>,
    async *history(id) {
      for (let before: string | undefined; ; ) {
        const { data, meta } = (await send({ path: [id, 'versions'], parameters: { before } })) as ListAnswer;
        const versions = data as readonly RecordVersion<never>[];
        yield* versions;
        const last = versions.at(-1);
        if (meta?.hasMore !== true || !last) return;
        before = String(last.version);
      }
    },
    restoreVersion: (id, version) =>
      send({ method: 'POST', path: [id, 'versions', String(version), 'restore'] }) as Promise<never>,
    stream: (stream = {}) => streamChanges(options, name, stream) as AsyncGenerator<never>,
  };
}

/** Refusals of the platform end the stream; broken connections and overload do not. */
async function* streamChanges(
  options: ClientOptions,
  name: string,
  { since, filter, signal, onReset }: ChangeStreamOptions<object>,
): AsyncGenerator<Change<object>> {
  const isOver = (): boolean => signal?.aborted === true;
  let lastId: string | undefined;
  let reconnectMs = 1_000;
  while (!isOver()) {
    try {
      const parameters = { since: lastId === undefined ? since : undefined, filter: filter && JSON.stringify(filter) };
      const headers = { 'last-event-id': lastId, accept: 'text/event-stream' };
      const response = await open(options, name, { path: ['stream'], parameters, headers, signal });
      for await (const event of serverSentEvents(response)) {
        if (event.id !== undefined) lastId = event.id;
        if (event.retry !== undefined) reconnectMs = Number(event.retry);
        if (event.event === 'reset') onReset?.();
        else if (event.data !== undefined) yield JSON.parse(event.data) as Change<object>;
      }
    } catch (error) {
      if (isOver()) return;
      if (error instanceof RecordsError && error.status < 500 && error.status !== 429) throw error;
    }
    if (!isOver()) await new Promise((resolve) => setTimeout(resolve, reconnectMs));
  }
}

interface ServerSentEvent {
  readonly id?: string;
  readonly event?: string;
  readonly data?: string;
  readonly retry?: string;
}

/** An event that was cut off by the end of the connection is not yielded. */
async function* serverSentEvents({ body }: Response): AsyncGenerator<ServerSentEvent> {
  if (!body) return;
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  try {
    for (let text = ''; ; ) {
      const { done, value } = await reader.read();
      if (done) return;
      const blocks = (text + value).split('\\n\\n');
      text = blocks.pop() ?? '';
      for (const block of blocks) yield parseEvent(block);
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

function parseEvent(block: string): ServerSentEvent {
  const fields: Record<string, string> = {};
  for (const line of block.split('\\n')) {
    const colon = line.indexOf(':');
    if (colon > 0) fields[line.slice(0, colon)] = line.slice(colon + 1).trimStart();
  }
  return fields;
}

interface ListAnswer {
  readonly data: readonly unknown[];
  readonly meta?: { readonly total?: number; readonly nextCursor?: string; readonly hasMore?: boolean };
}

async function sendRequest(options: ClientOptions, name: string, sent: Sent): Promise<unknown> {
  const text = await (await open(options, name, sent)).text();
  return text === '' ? undefined : JSON.parse(text);
}

/** Returns a successful response, whose body is not read. */
async function open({ url, apiKey, fetch: send = fetch }: ClientOptions, name: string, sent: Sent): Promise<Response> {
  const { method = 'GET', path = [], parameters = {}, headers = {}, body, signal } = sent;
  const segments = ['api', name, ...path].map(encodeURIComponent);
  const target = new URL(segments.join('/'), url.endsWith('/') ? url : \`\${url}/\`);
  for (const [key, value] of Object.entries({ ...parameters, shape: 'flat' }))
    if (value !== undefined) target.searchParams.set(key, value);
  const given = Object.entries(headers).filter((header): header is [string, string] => header[1] !== undefined);
  const response = await send(target, {
    method,
    headers: {
      accept: 'application/json;shape=flat',
      ...Object.fromEntries(given),
      authorization: \`Bearer \${apiKey}\`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    ...(signal && { signal }),
  });
  if (!response.ok) throw new RecordsError(response.status, errorsIn(await response.text()));
  return response;
}

function errorsIn(text: string): RecordsError['errors'] {
  try {
    return (JSON.parse(text) as { readonly errors?: RecordsError['errors'] }).errors ?? [];
  } catch {
    return [];
  }
}

function listParameters({ filter, sort, size, cursor, count, deleted, search, ...view }: Query<CollectionTypes>): Sent['parameters'] & object {
  return {
    ...viewParameters(view),
    filter: filter && JSON.stringify(filter),
    sort: sort?.join(','),
    'page[size]': size === undefined ? undefined : String(size),
    'page[after]': cursor,
    count,
    deleted,
    search,
  };
}

function aggregateParameters({
  values,
  group,
  filter,
  search,
  having,
  sort,
  size,
  deleted,
}: AggregateQuery<CollectionTypes, Readonly<Record<string, Aggregate<CollectionTypes>>>, never>): Sent['parameters'] & object {
  const byField = new Map<string, string[]>();
  for (const [alias, value] of Object.entries(values)) {
    const terms: readonly (readonly [string, string])[] = value === 'count' ? [['count', '*']] : Object.entries(value);
    for (const [name, field] of terms) byField.set(field, [...(byField.get(field) ?? []), \`\${name}:\${alias}\`]);
  }
  const limits = Object.entries(having ?? {}).flatMap(([alias, condition]) =>
    Object.entries(condition ?? {}).map(([operator, value]) => [\`having[\${alias}][\${operator}]\`, String(value)] as const),
  );
  return {
    ...Object.fromEntries([...byField].map(([field, terms]) => [\`agg[\${field}]\`, terms.join(',')])),
    ...Object.fromEntries(limits),
    group: group?.join(','),
    filter: filter && JSON.stringify(filter),
    search,
    sort: sort?.join(','),
    'page[size]': size === undefined ? undefined : String(size),
    deleted,
  };
}

function viewParameters({ fields, include }: View<CollectionTypes, never>): Sent['parameters'] & object {
  return { fields: fields?.join(','), include: include?.join(',') };
}
`;
