import { createHmac } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import { RecordEventTail } from '@drover/collection-engine';
import { createCollectionTables, testCollection } from '@drover/collection-engine/testing';
import type { Database } from '@drover/database';
import { createTestDatabase, quietIo, type TestDatabase } from '@drover/database/testing';
import { EndpointGuard } from '@drover/dispatchers';
import { EndpointHosts } from '@drover/dispatchers/testing';
import { Secret } from '@drover/service-kit';
import { eventually } from '@drover/testkit';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { EnvCipher } from '../functions/env-cipher.js';
import { controlPlaneSchema } from '../schema.js';
import { WebhookQueue } from './webhook-queue.js';
import { WebhookSender } from './webhook-sender.js';
import { WebhookStore } from './webhook-store.js';

const io = { ...quietIo, observe: () => undefined };
const orders = testCollection({
  name: 'orders',
  fields: [
    { name: 'number', type: 'STRING' },
    { name: 'card', type: 'ENCRYPTED' },
  ],
});
const caller = { tenantId: 'acme', keyId: 'key' };

interface Received {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

let test: TestDatabase;
let database: Database;
let tail: RecordEventTail;
let store: WebhookStore;
let receiver: Server;
let url: string;
let received: Received[] = [];
/** Statuses of the next answers; 204 after them. */
let answers: number[] = [];
const senders: WebhookSender[] = [];
const cipher = new EnvCipher(new Secret('k'.repeat(32)), quietIo.randomness);

/** A replica of the control plane. */
async function startSender(hosts = 'loopback'): Promise<WebhookSender> {
  const guard = new EndpointGuard({ hosts: EndpointHosts.parse(hosts), clock: quietIo.clock });
  const pause = { firstMs: 20, maxMs: 50, factor: 2 };
  const sender = new WebhookSender({ queue: new WebhookQueue(database), tail, guard, cipher, pause, ...io });
  senders.push(sender);
  await sender.start();
  return sender;
}

beforeAll(async () => {
  test = await createTestDatabase(controlPlaneSchema);
  database = await test.connect();
  await createCollectionTables(database, orders);
  tail = new RecordEventTail({ database, ...io });
  await tail.start();
  store = new WebhookStore({ database, cipher, randomness: quietIo.randomness });
  receiver = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => (body += text));
    request.on('end', () => {
      received.push({ headers: request.headers, body });
      response.writeHead(answers.shift() ?? 204).end();
    });
  });
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  const address = receiver.address();
  url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}/hook?token=secret`;
});
afterAll(async () => {
  await Promise.all(senders.map((sender) => sender.stop()));
  await tail.stop();
  receiver.closeAllConnections();
  receiver.close();
  await test.drop();
});
beforeEach(async () => {
  await Promise.all(senders.splice(0).map((sender) => sender.stop()));
  await database.query('delete from drover.webhooks');
  received = [];
  answers = [];
});

const first = '0190a000-0000-7000-8000-000000000001';
async function change(numbers: readonly string[], recordId = first): Promise<void> {
  await database.query(
    `insert into drover.record_events (tenant_id, collection_id, record_id, version, kind, after, actor)
     select 'acme', $1, $2, n, 'updated', jsonb_build_object('number', number, 'card', 'hidden'), 'key'
     from unnest($3::text[]) with ordinality as given (number, n) order by n`,
    [orders.id, recordId, numbers],
  );
  tail.wrote();
}
const create = async (over: object = {}) =>
  store.create(
    caller,
    { collection: 'orders', url, ...over },
    { collectionId: orders.id, fromPosition: await tail.position() },
  );
const numbers = (): string[] =>
  received.map(({ body }) => (JSON.parse(body) as { data: { after: { number: string } } }).data.after.number);

/** What Standard Webhooks asks a receiver to compute. */
function signatureOf({ headers, body }: Received, secret: string): string {
  const signed = `${String(headers['webhook-id'])}.${String(headers['webhook-timestamp'])}.${body}`;
  const key = Buffer.from(secret.replace('whsec_', ''), 'base64');
  return `v1,${createHmac('sha256', key).update(signed).digest('base64')}`;
}

describe('a webhook', () => {
  it('posts the changes after its creation, signed, and logs them', async () => {
    await change(['before']);
    const { id, secret } = await create();
    await startSender();
    await change(['1']);
    await eventually(() => expect(numbers()).toEqual(['1']));
    const [{ headers, body } = { headers: {}, body: '' }] = received;
    expect(JSON.parse(body)).toMatchObject({
      type: 'orders.updated',
      data: { collection: 'orders', id: first, version: 1 },
    });
    expect(body).not.toContain('card');
    expect(headers['webhook-signature']).toBe(signatureOf({ headers, body }, secret));
    await eventually(async () =>
      expect(await store.deliveries(id, { before: 1e15, state: undefined, limit: 9 })).toMatchObject([
        { state: 'delivered', attempts: 1, recordId: first },
      ]),
    );
  });

  it('signs with the new and the former secret after a rotation, and with the new one alone in the end', async () => {
    const { id, secret: former } = await create();
    await startSender();
    const signatures = async (number: string): Promise<readonly [Received, readonly string[]]> => {
      await change([number]);
      await eventually(() => expect(numbers()).toContain(number));
      const request = received.at(-1) ?? { headers: {}, body: '' };
      return [request, String(request.headers['webhook-signature']).split(' ')];
    };
    const rotated = await store.rotate('acme', id, 60_000);
    expect(rotated.secret).not.toBe(former);
    expect(Date.parse(rotated.formerSecretUntil ?? '')).toBeGreaterThan(Date.parse(rotated.createdAt));
    const [both, two] = await signatures('both');
    expect(two).toEqual([signatureOf(both, rotated.secret), signatureOf(both, former)]);
    await database.query(`update drover.webhooks set former_until = now()`);
    const [later, one] = await signatures('later');
    expect(one).toEqual([signatureOf(later, rotated.secret)]);
    const last = await store.rotate('acme', id, 0);
    expect(last.formerSecretUntil).toBeUndefined();
    const [final, only] = await signatures('final');
    expect(only).toEqual([signatureOf(final, last.secret)]);
  });

  it('tries again until it is delivered, in the order of the changes of a record', async () => {
    await create();
    answers = [500, 404];
    await startSender();
    await change(['1', '2', '3']);
    await eventually(() => expect(numbers()).toEqual(['1', '1', '1', '2', '3']));
    expect(new Set(received.slice(0, 3).map(({ headers }) => headers['webhook-id'])).size).toBe(1);
  });

  it('gives up after many attempts, says why, and is sent again by hand', async () => {
    const { id } = await create();
    answers = Array.from({ length: 12 }, () => 503);
    const sender = await startSender();
    await change(['1']);
    const failed = () => store.deliveries(id, { before: 1e15, state: 'failed', limit: 9 });
    await eventually(async () => expect(await failed()).toMatchObject([{ attempts: 12, state: 'failed' }]));
    const [{ position, problem } = { position: '', problem: '' }] = await failed();
    expect(problem).toContain('answered 503');
    expect(problem).not.toContain('token');
    await store.retry(id, position);
    sender.wake();
    await eventually(() => expect(received).toHaveLength(13));
    expect(await failed()).toEqual([]);
  });

  it('leaves room for others if its receiver does not answer', async () => {
    let open = 0;
    let mostOpen = 0;
    const mute = createServer((request) => {
      open += 1;
      mostOpen = Math.max(mostOpen, open);
      request.on('close', () => (open -= 1));
    });
    await new Promise<void>((resolve) => mute.listen(0, '127.0.0.1', resolve));
    try {
      const address = mute.address();
      await create({ url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}/` });
      await create();
      await startSender();
      const records = Array.from({ length: 100 }, (_, at) => `0190a000-0000-7000-9000-${String(at).padStart(12, '0')}`);
      await Promise.all(records.map((record, at) => change([String(at)], record)));
      await eventually(() => expect(received).toHaveLength(100));
      expect(mostOpen).toBeLessThanOrEqual(8);
    } finally {
      await Promise.all(senders.splice(0).map((sender) => sender.stop()));
      mute.closeAllConnections();
      mute.close();
    }
  });

  it('delivers each change once with several replicas', async () => {
    await create();
    await Promise.all([startSender(), startSender(), startSender()]);
    const all = Array.from({ length: 40 }, (_, n) => String(n));
    for (const [index, number] of all.entries())
      await change([number], `0190a000-0000-7000-8000-0000000001${String(index).padStart(2, '0')}`);
    await eventually(() => expect(numbers().toSorted()).toEqual(all.toSorted()));
  });

  it('is not sent to an address that the guard refuses', async () => {
    const { id } = await create();
    await startSender('');
    await change(['1']);
    await eventually(async () => {
      const [delivery] = await store.deliveries(id, { before: 1e15, state: undefined, limit: 1 });
      expect(delivery).toMatchObject({ state: 'waiting', problem: expect.stringContaining('127.0.0.1') as string });
    });
    expect(received).toEqual([]);
  });

  it('sends only the kinds that it asks for, and nothing of the time in which it is switched off', async () => {
    const { id } = await create({ events: ['deleted'] });
    const all = await create();
    await startSender();
    await store.change('acme', all.id, { active: false }, await tail.position());
    await change(['off']);
    await store.change('acme', all.id, { active: true }, await tail.position());
    await change(['on']);
    await eventually(() => expect(numbers()).toEqual(['on']));
    expect(await store.deliveries(id, { before: 1e15, state: undefined, limit: 9 })).toEqual([]);
  });
});
