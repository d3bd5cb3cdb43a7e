import { once } from 'node:events';
import { request as send, type IncomingMessage } from 'node:http';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { defaultRecordLimits, type RecordOperation, type RecordService } from '@drover/collection-engine';
import { testCollection } from '@drover/collection-engine/testing';
import type { ApiKeyId, TenantId } from '@drover/contracts';
import { RequestDurations } from '@drover/http-edge';
import { systemClock, systemRandomness } from '@drover/service-kit';
import { afterEach, describe, expect, it } from 'vitest';
import { parseCollectionWorkerConfig, recordPortLimits } from '../config.js';
import { acceptedCoding, AnswerCompressor } from './answer-compressor.js';
import { RecordRequests, type RecordRequestsOptions } from './record-requests.js';
import { RecordServer } from './record-server.js';

const config = parseCollectionWorkerConfig({ DATABASE_URL: 'postgres://x:x@localhost/x' });
const orders = testCollection({ name: 'orders', fields: [] });
const long = JSON.stringify({ data: Array.from({ length: 300 }, (_, n) => ({ number: `A-${n}`, status: 'öpen' })) });

const stops: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

async function serve(service: Partial<RecordService>, lane = true, maxConcurrent = 2) {
  const io = { clock: systemClock, randomness: systemRandomness, observe: () => undefined };
  const caller = { keyId: 'k1' as ApiKeyId, tenantId: 'acme' as TenantId, scopes: [], expiresAt: undefined };
  const database = { query: async () => [], transaction: async () => undefined, cancel: () => undefined };
  const requests = new RecordRequests({
    service: service as RecordService, // each test has the operations that it calls
    dependencies: { database: { forCaller: () => database } } as unknown as RecordRequestsOptions['dependencies'],
    directory: { known: () => orders, find: async () => orders, revalidate: async () => false },
    authenticator: { authenticate: async () => ({ caller }), authenticateCached: () => ({ caller }) },
    limits: defaultRecordLimits,
    draining: new AbortController().signal,
    use: undefined,
    onWritten: () => undefined,
    observe: io.observe,
  });
  const server = new RecordServer({
    host: '127.0.0.1',
    port: 0,
    limits: recordPortLimits(config),
    hasFastLane: lane,
    requests,
    serveProbe: () => false,
    isEnding: () => false,
    isTraced: false,
    durations: new RequestDurations(),
    compressor: new AnswerCompressor({ fromBytes: config.compressFromBytes, maxConcurrent }),
    use: undefined,
    ...io,
  });
  await server.start();
  stops.push(() => server.stop());
  return async (accepts: string | undefined, path = '/api/orders', method = 'GET') => {
    const headers = accepts === undefined ? {} : { 'accept-encoding': accepts };
    const outgoing = send(new URL(path, server.url), { method, headers });
    outgoing.end();
    const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
    const parts: Buffer[] = [];
    for await (const part of response) parts.push(part as Buffer);
    return { status: response.statusCode, headers: response.headers, body: Buffer.concat(parts) };
  };
}

const answerWith =
  (body: string | AsyncIterable<string>, more: Record<string, string> = {}): RecordOperation =>
  async () => ({ status: 200, headers: { 'content-type': 'application/json', ...more }, body });

describe.each([true, false])('answers to clients that accept compressed ones, on the fast lane: %s', (lane) => {
  it('are compressed from a size on, with an entity tag of their own', async () => {
    const ask = await serve({ listRecords: answerWith(long), getRecord: answerWith(long, { etag: '"3"' }) }, lane);
    const br = await ask('gzip, deflate, br');
    expect(br.headers).toMatchObject({ 'content-encoding': 'br', vary: 'Accept-Encoding' });
    expect(br.headers['content-length']).toBe(String(br.body.length));
    expect(brotliDecompressSync(br.body).toString()).toBe(long);
    expect(br.body.length).toBeLessThan(long.length / 4);
    const gzip = await ask('gzip;q=1.0, br;q=0', '/api/orders/7');
    expect(gzip.headers).toMatchObject({ 'content-encoding': 'gzip', etag: '"3-gzip"' });
    expect(gunzipSync(gzip.body).toString()).toBe(long);
    const plain = await ask(undefined, '/api/orders/7');
    expect(plain.headers).toMatchObject({ etag: '"3"', vary: 'Accept-Encoding' });
    expect(plain.body.toString()).toBe(long);
    expect(plain.headers['content-encoding']).toBeUndefined();
  });

  it('are as they are if they are short', async () => {
    const ask = await serve({ listRecords: answerWith('{"data":[]}') }, lane);
    const { headers, body } = await ask('br');
    expect([headers['content-encoding'], headers.vary, body.toString()]).toEqual([undefined, undefined, '{"data":[]}']);
  });

  it('have the headers of a read when only these are asked for', async () => {
    const ask = await serve({ listRecords: answerWith(long) }, lane);
    const { status, headers, body } = await ask('br', '/api/orders', 'HEAD');
    expect([status, headers['content-encoding'], body.length]).toEqual([200, 'br', 0]);
  });

  it('are compressed while they are made if they are exports, and never if they are events', async () => {
    const rows = async function* () {
      for (let n = 0; n < 1_000; n += 1) yield `row ${n}\n`;
    };
    const ask = await serve(
      {
        exportRecords: answerWith(rows(), { 'content-type': 'text/csv' }),
        streamChanges: answerWith(rows(), { 'content-type': 'text/event-stream' }),
      },
      lane,
    );
    const exported = await ask('gzip', '/api/orders/export');
    expect(exported.headers).toMatchObject({ 'content-encoding': 'gzip', vary: 'Accept-Encoding' });
    expect(gunzipSync(exported.body).toString()).toMatch(/^row 0\n[\s\S]*row 999\n$/);
    const events = await ask('gzip', '/api/orders/stream');
    expect(events.headers['content-encoding']).toBeUndefined();
    expect(events.body.toString()).toMatch(/^row 0\n/);
  });

  it('are as they are while too many are being compressed', async () => {
    const ask = await serve({ listRecords: answerWith(long) }, lane, 0);
    const { headers, body } = await ask('br');
    expect([headers['content-encoding'], headers.vary, body.toString()]).toEqual([undefined, 'Accept-Encoding', long]);
  });

  it('say how long they took, in all and in PostgreSQL', async () => {
    const slow: RecordOperation = async (_context, _collection, _request, { database }) => {
      await Promise.all([database.query('select 1'), database.query('select 2')]);
      return { status: 200, headers: {}, body: '{}' };
    };
    const ask = await serve({ listRecords: slow }, lane);
    const timing = String((await ask(undefined)).headers['server-timing']);
    const [, db = '', total = ''] = /^db;dur=(\d+\.\d), total;dur=(\d+\.\d)$/.exec(timing) ?? [];
    expect(Number(db)).toBeLessThanOrEqual(Number(total));
    expect((await ask(undefined, '/api/orders/7/unknown/1/2')).headers['server-timing']).toMatch(/^db;dur=0\.0/);
  });
});

describe('the compressor', () => {
  it.each([
    [undefined, undefined],
    ['', undefined],
    ['identity', undefined],
    ['deflate', undefined],
    ['*', 'br'],
    ['gzip, *;q=0', 'gzip'],
    ['br;q=0.5, gzip;q=0.8', 'gzip'],
    ['BR', 'br'],
    ['br;q=x', undefined],
  ])('takes %s as %s', (header, coding) => {
    expect(acceptedCoding(header)).toBe(coding);
  });

  it('breaks off a compressed stream whose source fails, and frees its place', async () => {
    const compressor = new AnswerCompressor({ fromBytes: 1, maxConcurrent: 1 });
    const failing = async function* () {
      yield 'a';
      throw new Error('The database is away.');
    };
    const read = async (): Promise<void> => {
      for await (const _part of compressor.compressStream(failing()) ?? []) continue;
    };
    await expect(read()).rejects.toThrow('The database is away.');
    await expect(read()).rejects.toThrow('The database is away.');
  });
});
