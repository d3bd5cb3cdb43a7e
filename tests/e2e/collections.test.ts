import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { Child, eventually } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { drover, plainEnvironment, startPlatform } from '../support/platform.js';
import { RecordsApi } from '../support/records-api.js';
import { sharedPlatform } from '../support/shared-platform.js';

const fields = [
  { name: 'number', type: 'string', unique: true, required: true },
  { name: 'total', type: 'number' },
];

describe('a new collection (UC-1)', () => {
  const platform = sharedPlatform(async (directory, started) => {
    const { up, ready, client } = await startPlatform(directory, {
      env: { DROVER_CORS_ORIGINS: 'https://app.example' },
    });
    started(up);
    return { directory, started, ready, client, api: await RecordsApi.of(ready) };
  });

  it.each(['PHYSICAL_TABLE', 'JSONB'])(
    'in storage mode %s is served as soon as its definition is confirmed',
    async (storageMode) => {
      const { api } = platform();
      const name = `orders_${storageMode.toLowerCase()}`;
      const unknown = await api.get(`/api/${name}`);
      expect([unknown.status, unknown.body.errors[0].code]).toEqual([404, 'COLLECTION_UNKNOWN']);
      expect((await api.post('/control/collections', { name, storageMode, fields })).status).toBe(201);
      // No wait: the request after the confirmation is served, also if no event has reached gateway and worker.
      const created = await api.post(`/api/${name}`, { number: 'A-1', total: 12.5 });
      expect(created).toMatchObject({
        status: 201,
        body: { data: { type: name, attributes: { number: 'A-1', total: 12.5 } } },
      });
      const { id } = created.body.data;
      const got = await api.get(`/api/${name}/${id}`);
      expect(got).toMatchObject({ status: 200, body: { data: { id, attributes: { number: 'A-1' } } } });
      expect(got.headers.get('x-schema-version')).toBe('1');
      expect((await api.get(`/api/${name}?filter[total][gt]=12`)).body.data).toHaveLength(1);
      const again = await api.post(`/api/${name}`, { number: 'A-1' });
      expect([again.status, again.body.errors[0].code]).toEqual([409, expect.any(String)]);
      const misspelled = await api.post(`/api/${name}s`, { number: 'A-2' });
      expect([misspelled.status, misspelled.body.errors[0].detail]).toEqual([
        404,
        expect.stringContaining(`"${name}"?`),
      ]);
      expect((await api.call('DELETE', `/api/${name}/${id}`)).status).toBe(204);
      expect((await api.get(`/api/${name}/${id}`)).status).toBe(404);
    },
  );

  it('serves a change of its definition as soon as that is confirmed', async () => {
    const { api } = platform();
    await api.post('/control/collections', { name: 'notes', fields: [{ name: 'text', type: 'string' }] });
    expect((await api.post('/api/notes', { text: 'a', tag: 'b' })).status).toBe(400);
    const changed = await api.call('PUT', '/control/collections/notes', {
      name: 'notes',
      fields: [
        { name: 'text', type: 'string' },
        { name: 'tag', type: 'string' },
      ],
    });
    expect(changed.status).toBe(200);
    expect(await api.post('/api/notes', { text: 'a', tag: 'b' })).toMatchObject({
      status: 201,
      body: { data: { attributes: { tag: 'b' } } },
    });
  });

  it('is for keys with its scopes only, and of no use to others once it is deleted', async () => {
    const { api, client, ready } = platform();
    await api.post('/control/collections', { name: 'secrets', fields });
    const reader = await client.createApiKey({ body: { name: 'reader', scopes: ['records:read:secrets'] } });
    const readerApi = new RecordsApi(ready.urls.public, reader.secret);
    expect((await readerApi.get('/api/secrets')).status).toBe(200);
    expect((await readerApi.post('/api/secrets', { number: '1' })).status).toBe(403);
    expect((await readerApi.get('/api/orders_jsonb')).status).toBe(403);
    const anonymous = await fetch(new URL('/api/secrets', ready.urls.public));
    expect([anonymous.status, anonymous.headers.get('www-authenticate')]).toEqual([401, 'Bearer']);
    await client.revokeApiKey({ params: { keyId: reader.key.id } });
    await eventually(async () => expect((await readerApi.get('/api/secrets')).status).toBe(401));
    expect((await api.call('DELETE', '/control/collections/secrets')).status).toBe(204);
    await eventually(async () => expect((await api.get('/api/secrets')).status).toBe(404));
  });

  it('is open to pages of the origins that a setting names, and the management API to none', async () => {
    const { api, ready } = platform();
    await api.post('/control/collections', { name: 'pages', fields });
    const origin = 'https://app.example';
    const asked = {
      origin,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization',
    };
    const preflight = async (route: string) => {
      const answer = await fetch(new URL(route, ready.urls.public), { method: 'OPTIONS', headers: asked });
      return [answer.headers.get('access-control-allow-origin'), answer.headers.get('access-control-allow-headers')];
    };
    expect(await preflight('/api/pages')).toEqual([origin, 'authorization']);
    expect(await preflight('/control/collections')).toEqual([null, null]);
    const created = await api.call('POST', '/api/pages', { number: '1' }, { origin });
    expect([created.status, created.headers.get('access-control-allow-origin')]).toEqual([201, origin]);
    expect(created.headers.get('access-control-expose-headers')).toContain('ETag, Location');
    expect(created.headers.get('server-timing')).toMatch(/^db;dur=\d+\.\d, total;dur=\d+\.\d$/);
    const refused = await api.call('GET', '/api/pages/unknown', undefined, { origin });
    expect([refused.status, refused.headers.get('access-control-allow-origin')]).toEqual([404, origin]);
    const body = Array.from({ length: 100 }, (_, n) => ({ number: `P-${n}`, total: n }));
    const many = await api.call('POST', '/api/pages', body, { 'accept-encoding': 'br' });
    expect([many.headers.get('content-encoding'), many.body.data.length]).toEqual(['br', 100]);
  });

  const startGateway = async (): Promise<{ gateway: Child; url: string }> => {
    const { directory, started, ready } = platform();
    const gateway = started(
      new Child(process.execPath, [drover, 'gateway'], {
        env: plainEnvironment({
          DATABASE_URL: (await readFile(path.join(directory, 'database-url'), 'utf8')).trim(),
          DROVER_GATEWAY_PORT: '0',
          DROVER_LOG_FORMAT: 'json',
          CONTROL_PLANE_URL: ready.urls.public,
          DROVER_RUNTIME_URL: ready.urls.public,
        }),
      }),
    );
    const line = JSON.parse(await gateway.line(/"kind":"http.listening"/)) as { url: string };
    return { gateway, url: line.url };
  };

  it('is served by several gateways with processes of their own, also when one of them ends', async () => {
    const { apiKey: key } = JSON.parse(await readFile(platform().ready.credentialsFile, 'utf8')) as { apiKey: string };
    const [one, two] = await Promise.all([startGateway(), startGateway()]);
    const [first, second] = [new RecordsApi(one.url, key), new RecordsApi(two.url, key)];
    expect((await first.post('/control/collections', { name: 'parcels', fields })).status).toBe(201);
    const created = await first.post('/api/parcels', { number: 'P-1' });
    expect(created.status).toBe(201);
    expect((await second.get('/api/parcels?filter[number]=P-1')).body.data).toHaveLength(1);
    expect((await second.get('/v1/functions')).status).toBe(200);
    expect((await fetch(`${one.url}/api/nothing`)).status).toBe(404);
    expect((await fetch(`${one.url}/readyz`)).status).toBe(200);
    const metrics = await (await fetch(`${one.url}/metrics`)).text();
    expect(metrics).toMatch(
      /drover_gateway_endpoints\{worker="collection-worker-\d",state="HEALTHY",process="gateway"\} 1/,
    );
    one.gateway.kill('SIGTERM');
    expect(await one.gateway.exited).toEqual({ code: 0, signal: null });
    expect((await second.get(`/api/parcels/${created.body.data.id}`)).status).toBe(200);
  });
});
