import { request as send, type IncomingHttpHeaders } from 'node:http';
import { connect } from 'node:net';
import {
  defaultRecordLimits,
  type Authentication,
  type CollectionModel,
  type RecordOperation,
  type RecordRequest,
  type RecordService,
} from '@drover/collection-engine';
import { testCollection } from '@drover/collection-engine/testing';
import { defineError, type ApiKeyId, type Scope, type TenantId } from '@drover/contracts';
import { RequestDurations } from '@drover/http-edge';
import { systemClock, systemRandomness } from '@drover/service-kit';
import { eventually } from '@drover/testkit';
import { afterEach, describe, expect, it } from 'vitest';
import { parseCollectionWorkerConfig, recordPortLimits } from '../config.js';
import { AssignedCollections } from '../membership/assigned-collections.js';
import { CollectionUse } from '../membership/collection-use.js';
import type { CollectionWorkerObservation } from '../observations.js';
import { RecordRequests, type RecordRequestsOptions } from './record-requests.js';
import { RecordServer } from './record-server.js';

const config = parseCollectionWorkerConfig({ DATABASE_URL: 'postgres://x:x@localhost/x' });
const customers = testCollection({ name: 'customers', fields: [] });
const orders = testCollection({
  name: 'orders',
  fields: [{ name: 'customer', type: 'LOOKUP', references: { collection: 'customers' } }],
});
const transfers = testCollection({
  name: 'transfers',
  fields: ['from', 'to'].map((name) => ({ name, type: 'LOOKUP' as const, references: { collection: 'customers' } })),
});

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

interface Ask {
  readonly method?: string;
  readonly body?: string;
  readonly headers?: Record<string, string>;
}

const stops: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

interface Setup {
  readonly lane?: boolean;
  readonly scopes?: readonly Scope[];
  readonly isStale?: boolean;
  readonly bodyBytes?: number;
  readonly use?: CollectionUse;
}

/** A server on a real port, with operations of the test instead of PostgreSQL. */
async function serve(service: Partial<RecordService>, setup: Setup = {}) {
  const observed: CollectionWorkerObservation[] = [];
  const observe = (observation: CollectionWorkerObservation): void => void observed.push(observation);
  const draining = new AbortController();
  const models: CollectionModel[] = [customers, orders, transfers];
  const find = async (_tenant: string, name: string): Promise<CollectionModel> => {
    const model = models.find((one) => one.name === name);
    if (!model) throw Object.assign(new Error(`no ${name}`), { code: 'TEST' });
    return model;
  };
  const { scopes = ['records:read', 'records:write'] } = setup;
  const authenticate = (header: string | undefined): Authentication =>
    header === 'Bearer good'
      ? { caller: { keyId: 'k1' as ApiKeyId, tenantId: 'acme' as TenantId, scopes, expiresAt: undefined } }
      : { refused: header === undefined ? 'missing' : 'unknown' };
  let written = 0;
  let cancelled = 0;
  // The operations of these tests run no statements.
  const callerDatabase = { cancel: () => (cancelled += 1) };
  const requests = new RecordRequests({
    service: service as RecordService, // each test has the operations that it calls
    dependencies: { database: { forCaller: () => callerDatabase } } as unknown as RecordRequestsOptions['dependencies'],
    directory: { known: () => undefined, find, revalidate: async () => setup.isStale === true },
    authenticator: { authenticate: async (header) => authenticate(header), authenticateCached: authenticate },
    limits: { ...defaultRecordLimits, bodyBytes: setup.bodyBytes ?? 1_000 },
    draining: draining.signal,
    use: setup.use,
    onWritten: () => (written += 1),
    observe,
  });
  const server = new RecordServer({
    host: '127.0.0.1',
    port: 0,
    limits: recordPortLimits(config),
    hasFastLane: setup.lane ?? true,
    requests,
    serveProbe: () => false,
    isEnding: () => false,
    isTraced: true,
    durations: new RequestDurations(),
    use: setup.use,
    clock: systemClock,
    randomness: systemRandomness,
    observe,
  });
  await server.start();
  stops.push(() => server.stop());
  const ask = (path: string, { method = 'GET', body, headers = {} }: Ask = {}): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const all = { authorization: 'Bearer good', ...(body && { 'content-type': 'application/json' }), ...headers };
      const sent = send(new URL(path, server.url), { method, headers: all, agent: false }, (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
        response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text }));
        response.on('error', reject);
      });
      sent.on('error', reject).end(body);
    });
  return { ask, server, observed, draining, writes: () => written, cancellations: () => cancelled };
}

const echo: RecordOperation = async (context, collection, request) => ({
  status: 200,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({
    collection: collection.name,
    tenant: context.tenantId,
    actor: context.actor,
    shape: context.shape,
    id: request.id,
    query: request.query,
    body: request.body.toString(),
    parent: request.parent && [request.parent.collection.name, request.parent.id, request.parent.field.name],
  }),
});

const invalid = defineError('TEST_INVALID', {
  fault: 'caller',
  retryable: false,
  status: 400,
  message: () => 'unknown field',
  help: '',
});

const codesOf = ({ body }: Answer): string[] =>
  (JSON.parse(body) as { errors: { code: string }[] }).errors.map(({ code }) => code);

describe.each([
  ['on the fast lane', true],
  ["on Node's server", false],
])('a request for records %s', (_, lane) => {
  it('reaches its operation with the caller, the path, the query as sent and the body', async () => {
    const { ask, writes } = await serve({ listRecords: echo, createRecords: echo, getRecord: echo }, { lane });
    const list = await ask('/api/orders?filter[a][eq]=%2C&shape=flat');
    expect(JSON.parse(list.body)).toMatchObject({
      collection: 'orders',
      tenant: 'acme',
      actor: 'k1',
      shape: 'flat',
      query: 'filter[a][eq]=%2C&shape=flat',
    });
    expect(list.headers['x-schema-version']).toBe('1');
    expect(list.headers['x-request-id']).toMatch(/.{36}/);
    expect(writes()).toBe(0);
    const made = await ask('/api/orders', { method: 'POST', body: '{"a":1}' });
    expect(JSON.parse(made.body)).toMatchObject({ body: '{"a":1}', shape: 'jsonapi' });
    expect(writes()).toBe(1);
    const head = await ask('/api/orders/7', { method: 'HEAD' });
    expect([head.status, head.body, Number(head.headers['content-length']) > 0]).toEqual([200, '', true]);
  });

  it('below a record is about its children, by the field that references it', async () => {
    const { ask } = await serve({ listRecords: echo }, { lane });
    const { body } = await ask('/api/customers/7/orders');
    expect(JSON.parse(body)).toMatchObject({ collection: 'orders', parent: ['customers', '7', 'customer'] });
    expect(codesOf(await ask('/api/orders/7/customers'))).toEqual(['RECORD_CHILD_UNKNOWN']);
    const ambiguous = await ask('/api/customers/7/transfers');
    expect(ambiguous.status).toBe(400);
    expect(ambiguous.body).toContain('from, to');
    const limited = await serve({ listRecords: echo }, { lane, scopes: ['records:read:orders'] });
    expect(codesOf(await limited.ask('/api/customers/7/orders'))).toEqual(['RECORD_ACCESS_DENIED']);
  });

  it('is refused without a valid key, with another method, media type or path', async () => {
    const { ask, observed } = await serve({ listRecords: echo, createRecords: echo }, { lane });
    const anonymous = await ask('/api/orders', { headers: { authorization: 'Bearer bad' } });
    expect([anonymous.status, anonymous.headers['www-authenticate']]).toEqual([401, 'Bearer']);
    expect(observed).toContainEqual(expect.objectContaining({ kind: 'access.refused', reason: 'unknown' }));
    const method = await ask('/api/operations');
    expect([method.status, method.headers.allow]).toEqual([405, 'POST']);
    const form = { method: 'POST', body: 'a=1', headers: { 'content-type': 'application/x-www-form-urlencoded' } };
    const media = await ask('/api/orders', form);
    expect([media.status, codesOf(media)]).toEqual([415, ['RECORD_MEDIA_TYPE_UNSUPPORTED']]);
    expect(codesOf(await ask('/api/orders/1/versions/2/x'))).toEqual(['RECORD_ROUTE_NOT_FOUND']);
  });

  it('with a body beyond the limit gets an answer that names the limit, also when it sends no length', async () => {
    const { ask } = await serve({ createRecords: echo }, { lane });
    const body = JSON.stringify('x'.repeat(2_000));
    for (const headers of [{}, { 'transfer-encoding': 'chunked' }]) {
      const answer = await ask('/api/orders', { method: 'POST', body, headers });
      expect([answer.status, codesOf(answer)]).toEqual([413, ['PAYLOAD_TOO_LARGE']]);
      expect(answer.body).toContain('DROVER_RECORDS_BODY_LIMIT_BYTES');
    }
  });

  it('runs once more if a definition was not current, and only then', async () => {
    let runs = 0;
    const once: RecordOperation = async (...all) => {
      runs += 1;
      if (runs === 1) throw invalid({});
      return echo(...all);
    };
    const stale = await serve({ createRecords: once }, { lane, isStale: true });
    expect((await stale.ask('/api/orders', { method: 'POST', body: '{}' })).status).toBe(200);
    expect(runs).toBe(2);
    expect(stale.observed).toContainEqual(expect.objectContaining({ kind: 'collections.retried' }));
    runs = 0;
    const current = await serve({ createRecords: once }, { lane });
    expect((await current.ask('/api/orders', { method: 'POST', body: '{}' })).status).toBe(400);
    expect(runs).toBe(1);
  });

  it('that fails unexpectedly gets a 500 without the cause, which is logged', async () => {
    const failing: RecordOperation = () => Promise.reject(new Error('secret detail'));
    const { ask, observed } = await serve({ listRecords: failing }, { lane });
    const answer = await ask('/api/orders');
    expect([answer.status, codesOf(answer), answer.body.includes('secret')]).toEqual([500, ['INTERNAL_ERROR'], false]);
    expect(observed).toContainEqual(expect.objectContaining({ kind: 'http.failed' }));
  });

  it('that exceeds the time limit of statements is told the limit', async () => {
    const slow: RecordOperation = () =>
      Promise.reject(Object.assign(new Error('timeout'), { code: 'DATABASE_TIMEOUT' }));
    const { ask } = await serve({ listRecords: slow }, { lane });
    const answer = await ask('/api/orders');
    expect([answer.status, answer.headers['retry-after'], codesOf(answer)]).toEqual([
      503,
      '1',
      ['RECORD_STATEMENT_TIMEOUT'],
    ]);
    expect(answer.body).toContain('10000 ms');
  });

  it('gets a streamed body as it is made, and its source ends when the client leaves', async () => {
    let isEnded = false;
    const endless: RecordOperation = async (_context, _collection, request) => ({
      status: 200,
      headers: { 'content-type': 'text/event-stream' },
      body: (async function* () {
        try {
          yield 'data: 1\n\n';
          await untilAborted(request);
        } finally {
          isEnded = true;
        }
      })(),
    });
    const { server } = await serve({ streamChanges: endless }, { lane });
    const { hostname: host, port } = new URL(server.url);
    const client = connect({ host, port: Number(port) });
    let received = '';
    client.setEncoding('utf8').on('data', (text: string) => (received += text));
    client.write('GET /api/orders/stream HTTP/1.1\r\nhost: x\r\nauthorization: Bearer good\r\n\r\n');
    await eventually(() => received.includes('data: 1'));
    client.destroy();
    await eventually(() => expect(isEnded).toBe(true));
  });

  it('cancels its statements when the client leaves, and not when it has its answer', async () => {
    let isRunning = false;
    const slow: RecordOperation = async (_context, _collection, request) => {
      isRunning = true;
      await untilAborted(request);
      throw new Error('cancelled');
    };
    const { ask, server, cancellations, observed } = await serve({ listRecords: slow, getRecord: echo }, { lane });
    expect((await ask('/api/orders/1')).status).toBe(200);
    const { hostname: host, port } = new URL(server.url);
    const client = connect({ host, port: Number(port) });
    client.write('GET /api/orders HTTP/1.1\r\nhost: x\r\nauthorization: Bearer good\r\n\r\n');
    await eventually(() => isRunning);
    expect(cancellations()).toBe(0);
    client.destroy();
    await eventually(() => expect(cancellations()).toBe(1));
    expect(observed.filter(({ kind }) => kind === 'http.failed')).toEqual([]);
  });

  it('without an end ends when the process drains', async () => {
    const endless: RecordOperation = async (_context, _collection, request) => ({
      status: 200,
      headers: { 'content-type': 'text/event-stream' },
      body: (async function* () {
        yield 'data: 1\n\n';
        await untilAborted(request);
      })(),
    });
    const { ask, server, draining } = await serve({ streamChanges: endless }, { lane });
    const answer = ask('/api/orders/stream');
    await eventually(async () => (await ask('/api/operations')).status === 405);
    draining.abort();
    expect((await answer).body).toBe('data: 1\n\n');
    await server.drain(AbortSignal.timeout(5_000));
  });

  it('from a gateway is answered with 421 by a worker that does not serve the collection, unless it must serve it', async () => {
    const assigned = new AssignedCollections();
    const ended: number[] = [];
    const load = { ended: (tookMs: number) => void ended.push(tookMs) };
    const use = new CollectionUse({ assigned, load, clock: systemClock });
    const { ask } = await serve({ listRecords: echo, streamChanges: echo, createRecords: echo }, { lane, use });
    const routed = { headers: { 'x-drover-route-generation': '7' } };
    expect((await ask('/api/orders', routed)).status).toBe(200); // no orders yet: the control plane may be away
    const assignment = { collectionId: customers.id, tenantId: 'acme', collection: 'customers', generation: 9 };
    assigned.apply([{ ...assignment, status: 'PENDING' }], 0);
    assigned.prepared({ ...assignment, status: 'PENDING' });
    const refused = await ask('/api/orders', routed);
    expect([refused.status, codesOf(refused)]).toEqual([421, ['COLLECTION_NOT_ASSIGNED']]);
    expect(refused.headers['x-drover-route-generation']).toBe('9');
    expect((await ask('/api/orders')).status).toBe(200);
    const anyway = { headers: { ...routed.headers, 'x-drover-serve-anyway': '1' }, method: 'POST', body: '{}' };
    expect((await ask('/api/orders', anyway)).status).toBe(200);
    // The gateway chooses the worker by the first collection of the path.
    expect((await ask('/api/customers/7/orders', routed)).status).toBe(200);
    assigned.apply([{ ...assignment, status: 'DRAINING' }], 0);
    expect((await ask('/api/customers', routed)).status).toBe(200);
    expect((await ask('/api/customers/stream', routed)).status).toBe(421);
    expect(ended).toHaveLength(7);
    const [report] = assigned.report(systemClock.monotonicMs(), { cpu: 10, sinceMs: 1_000 });
    expect(report).toMatchObject({ requestRate: 2, errorRate: 0, status: 'DRAINING' });
  });

  it('for a stream ends when another worker has taken over the collection', async () => {
    const assigned = new AssignedCollections();
    const use = new CollectionUse({ assigned, load: { ended: () => undefined }, clock: systemClock });
    let isRunning = false;
    const endless: RecordOperation = async (_context, _collection, request) => ({
      status: 200,
      headers: { 'content-type': 'text/event-stream' },
      body: (async function* () {
        yield 'data: 1\n\n';
        isRunning = true;
        await untilAborted(request);
      })(),
    });
    const { ask } = await serve({ streamChanges: endless }, { lane, use });
    const assignment = { collectionId: orders.id, tenantId: 'acme', collection: 'orders', generation: 1 };
    for (const order of assigned.apply([{ ...assignment, status: 'PENDING' }], 0)) assigned.prepared(order);
    const answer = ask('/api/orders/stream');
    await eventually(() => isRunning);
    assigned.apply([{ ...assignment, status: 'DRAINING' }], 0);
    expect((await answer).body).toBe('data: 1\n\n');
  });

  it('that uploads is read as it arrives, without a limit', async () => {
    let bytes = 0;
    const upload: RecordOperation = async (_context, _collection, { upload: source }) => {
      for await (const chunk of source ?? []) bytes += chunk.length;
      return { status: 200, headers: {}, body: 'done' };
    };
    const { ask } = await serve({ importRecords: upload }, { lane });
    const headers = { 'content-type': 'text/csv' };
    for (const size of [10, 500_000])
      expect((await ask('/api/orders/import', { method: 'POST', body: 'x'.repeat(size), headers })).body).toBe('done');
    expect(bytes).toBe(500_010);
  });
});

function untilAborted({ signal }: RecordRequest): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
