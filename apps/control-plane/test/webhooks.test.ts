import { collectionRoutes, createClient, webhookRoutes, type Client, type Scope } from '@drover/contracts';
import type { Database } from '@drover/database';
import { createTestDatabase, type TestDatabase } from '@drover/database/testing';
import { eventually } from '@drover/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { controlPlaneSchema } from '../src/schema.js';
import { idOf, startControlPlane, type RunningControlPlane } from './support/control-plane.js';
import { ScriptedEndpoint } from './support/scripted-endpoint.js';
import { keepSecret, leavesNoSecretBehind } from './support/secrets.js';
import { storeKey } from './support/stored-keys.js';

let test: TestDatabase;
let database: Database;
let plane: RunningControlPlane;
let endpoint: ScriptedEndpoint;

leavesNoSecretBehind();
beforeAll(async () => {
  test = await createTestDatabase(controlPlaneSchema);
  endpoint = await ScriptedEndpoint.open();
  plane = await startControlPlane(test.url, {
    DROVER_SECRETS_KEY: 'the key of the tests, long enough',
    DROVER_ENDPOINT_HOSTS: 'loopback',
  });
  database = await test.connect();
});
afterAll(async () => {
  await plane?.stop();
  await endpoint?.close();
  await test.drop();
});

const routes = { ...collectionRoutes, ...webhookRoutes };

/** A client of a tenant with the collections orders and silent. */
async function tenant(
  tenantId: string,
  scopes: Scope[],
): Promise<Client<typeof routes> & { readonly key: string; readonly collectionId: string }> {
  const owner = await storeKey(database, { tenantId, scopes: ['collections:define'] });
  const defining = createClient(collectionRoutes, { url: plane.url, apiKey: owner });
  const { id } = await defining.createCollection({
    body: { name: 'orders', fields: [{ name: 'number', type: 'STRING' }] },
  });
  await defining.createCollection({ body: { name: 'silent', events: false, fields: [] } });
  const key = await storeKey(database, { tenantId, scopes });
  return { ...createClient(routes, { url: plane.url, apiKey: key }), key, collectionId: id };
}

const all: Scope[] = ['collections:define', 'records:read'];

describe('/control/webhooks', () => {
  it('creates, shows, changes and deletes webhooks, delivers changes and lists the deliveries', async () => {
    const client = await tenant('hooks', all);
    const url = endpoint.serve('hook', () => ({ status: 200 }));
    const { secret, ...created } = await client.createWebhook({ body: { collection: 'orders', url } });
    keepSecret('the secret of a webhook', secret);
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(created).toMatchObject({ collection: 'orders', url, active: true, createdBy: idOf(client.key) });
    expect((await client.listWebhooks()).webhooks).toEqual([created]);
    const params = { webhookId: created.id };
    await database.query(
      `insert into drover.record_events (tenant_id, collection_id, record_id, version, kind, after, actor)
       values ('hooks', $1, gen_random_uuid(), 1, 'created', '{"number":"7"}', 'key')`,
      [client.collectionId],
    );
    await eventually(() =>
      expect(endpoint.calls('hook').map(({ text }) => text)).toEqual([expect.stringContaining('"number": "7"')]),
    );
    const deliveries = async () => (await client.listWebhookDeliveries({ params, query: {} })).deliveries;
    await eventually(async () => expect(await deliveries()).toMatchObject([{ state: 'delivered', attempts: 1 }]));
    const [{ position } = { position: '' }] = await deliveries();
    await client.retryWebhookDelivery({ params: { ...params, position } });
    await eventually(() => expect(endpoint.calls('hook')).toHaveLength(2));
    const rotated = await client.rotateWebhookSecret({ params, body: { overlapMs: 60_000 } });
    keepSecret('the next secret of a webhook', rotated.secret);
    expect(rotated.secret).not.toBe(secret);
    expect(await client.getWebhook({ params })).toEqual({ ...created, formerSecretUntil: rotated.formerSecretUntil });
    expect(await client.changeWebhook({ params, body: { active: false, events: ['deleted'] } })).toMatchObject({
      active: false,
      events: ['deleted'],
      url,
    });
    await client.deleteWebhook({ params });
    await expect(client.getWebhook({ params })).rejects.toMatchObject({ code: 'WEBHOOK_NOT_FOUND' });
  });

  it('needs the right to define the collection and to read its records', async () => {
    const url = endpoint.serve('none', () => ({ status: 200 }));
    const body = { collection: 'orders', url };
    const blind = await tenant('blind', ['collections:define']);
    await expect(blind.createWebhook({ body })).rejects.toMatchObject({ status: 403 });
    const other = await tenant('other', ['collections:define:silent', 'records:read']);
    await expect(other.createWebhook({ body })).rejects.toMatchObject({ status: 403 });
    const own = await tenant('own', ['collections:define:orders', 'records:read:orders']);
    const { id, secret } = await own.createWebhook({ body });
    keepSecret('the secret of a webhook', secret);
    await expect(other.rotateWebhookSecret({ params: { webhookId: id }, body: {} })).rejects.toMatchObject({
      code: 'WEBHOOK_NOT_FOUND',
    });
    await expect(other.getWebhook({ params: { webhookId: id } })).rejects.toMatchObject({ code: 'WEBHOOK_NOT_FOUND' });
    expect((await other.listWebhooks()).webhooks).toEqual([]);
  });

  it('refuses addresses of the network of the operator, unknown collections and those without events', async () => {
    const client = await tenant('refused', all);
    const create = (body: { collection: string; url: string }) => client.createWebhook({ body });
    for (const url of [
      'http://169.254.169.254/latest',
      'http://10.0.0.1/',
      'ftp://example.com/',
      'http://u:p@example.com/',
    ])
      await expect(create({ collection: 'orders', url })).rejects.toMatchObject({ code: 'ENDPOINT_REFUSED' });
    const url = endpoint.serve('none', () => ({ status: 200 }));
    await expect(create({ collection: 'ordres', url })).rejects.toMatchObject({ code: 'COLLECTION_UNKNOWN' });
    await expect(create({ collection: 'silent', url })).rejects.toMatchObject({ code: 'RECORD_EVENTS_OFF' });
  });
});
