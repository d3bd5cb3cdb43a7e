import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { packFolder } from '@drover/application-catalog';
import { applicationRoutes, createClient, respondAsync, waitingForHeader } from '@drover/contracts';
import { Child, eventually, withScratchDirectory } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { allowsLoopback, drover, plainEnvironment, readyLine, startUp } from '../support/platform.js';
import { RecordsApi } from '../support/records-api.js';
import { sharedPlatform } from '../support/shared-platform.js';

/** A platform with a second control plane and a second gateway over its database. */
const installation = sharedPlatform(async (directory, started) => {
  const ready = await readyLine(started(startUp(directory, { args: ['--json'], env: allowsLoopback })));
  const api = await RecordsApi.of(ready);
  const inDirectory = (file: string): string => path.join(directory, file);
  const start = (command: string, env: NodeJS.ProcessEnv): Child =>
    started(
      new Child(process.execPath, [drover, command], {
        env: plainEnvironment({
          DROVER_LOG_FORMAT: 'json',
          ...allowsLoopback,
          DATABASE_URL_FILE: inDirectory('database-url'),
          DROVER_RUNTIME_URL_FILE: inDirectory('runtime-url'),
          ...env,
        }),
      }),
    );
  const other = start('control-plane', {
    DROVER_PORT: '0',
    DROVER_BOOTSTRAP_KEY_FILE: inDirectory('credentials.json'),
    DROVER_FUNCTIONS_MASTER_KEY_FILE: inDirectory('functions-master-key'),
    DROVER_SECRETS_KEY_FILE: inDirectory('secrets-key'),
    DROVER_PAYLOAD_DIR: inDirectory('payloads'),
  });
  const gateway = start('gateway', { CONTROL_PLANE_URL: ready.urls.public, DROVER_GATEWAY_PORT: '0' });
  const at = async (child: Child): Promise<RecordsApi> =>
    api.at((JSON.parse(await child.line(/"kind":"http.listening"/)) as { url: string }).url);
  const apis = { platform: api, otherControlPlane: await at(other), otherGateway: await at(gateway) };
  for (const one of Object.values(apis)) await eventually(async () => (await one.get('/readyz')).status === 200);
  const credentials = JSON.parse(await readFile(ready.credentialsFile, 'utf8')) as { url: string; apiKey: string };
  return { ...apis, gateway, credentials, functionsAt: [api.url, apis.otherGateway.url] };
});

type Files = Readonly<Record<string, string>>;

/** A function that answers with a text; `extra` changes the metadata of the version. */
const saying = (text: string, extra: Files = {}): Files => ({
  'host.json': '{"version":"2.0"}',
  'hello/function.json': JSON.stringify({
    bindings: [
      { name: 'input', direction: 'in', type: 'httpTrigger', authLevel: 'anonymous' },
      { name: '$return', type: 'http', direction: 'out' },
    ],
  }),
  'hello/index.js': `module.exports = async () => ({ body: ${JSON.stringify(text)} });`,
  ...extra,
});

const another = (name: string): Files => ({
  [`${name}/function.json`]: saying('')['hello/function.json'] ?? '',
  [`${name}/index.js`]: 'module.exports = async () => ({ body: "another" });',
});

async function deploy(files: Files): Promise<string> {
  const client = createClient(applicationRoutes, installation().credentials);
  return withScratchDirectory(async (directory) => {
    for (const [name, text] of Object.entries(files)) {
      await mkdir(path.dirname(path.join(directory, name)), { recursive: true });
      await writeFile(path.join(directory, name), text);
    }
    const params = { app: 'shop' };
    const { payload } = await client.uploadPayload({ params, upload: await packFolder(directory) });
    return (await client.deployApplication({ params, body: { payload } })).version.version;
  });
}

/** What all ways to the function answer, one request each, all begun at once. */
async function answers(): Promise<string[]> {
  const { functionsAt, platform, otherControlPlane } = installation();
  const direct = functionsAt.map(async (url) => (await fetch(`${url}/api/hello`)).text());
  const invoked = [platform, otherControlPlane].map(async (api) => {
    const { status, body } = await api.post('/v1/functions/hello:invoke', { input: {} });
    return status === 200 ? String(body.output) : `${status} ${body.error}`;
  });
  return Promise.all([...direct, ...invoked]);
}

describe('a change that was answered', () => {
  it('holds everywhere: deployments with old and new functions, promotion and roll back', async () => {
    const { platform } = installation();
    const all = (text: string): string[] => [text, text, text, text];
    const first = await deploy(saying('one'));
    expect(await answers()).toEqual(all('one'));
    await deploy(saying('two'));
    expect(await answers()).toEqual(all('two'));
    await deploy(saying('three', another('added')));
    expect(await answers()).toEqual(all('three'));
    for (const { url } of [platform, installation().otherGateway])
      expect(await (await fetch(`${url}/api/added`)).text()).toBe('another');
    expect((await platform.post('/v1/apps/shop/rollback', {})).status).toBe(200);
    expect(await answers()).toEqual(all('two'));
    expect((await platform.call('POST', `/v1/apps/shop/versions/${first}/promote`)).status).toBe(200);
    expect(await answers()).toEqual(all('one'));
    expect((await platform.call('DELETE', '/v1/apps/shop')).status).toBe(202);
    const refused = await answers();
    for (const text of refused) expect(text).toMatch(/404|NOT_FOUND/);
  });

  it('holds everywhere: functions, definitions of collections and API keys', async () => {
    const { platform, otherControlPlane, otherGateway } = installation();
    for (let n = 0; n < 5; n += 1) {
      const spec = { name: `f${n}`, executionMode: 'POOL', endpointUrl: 'http://127.0.0.1:9/' };
      expect((await platform.post('/v1/functions', spec)).status).toBe(201);
      const queued = await otherControlPlane.post(`/v1/functions/f${n}:enqueue`, { input: {} });
      expect(queued.status).toBe(202);

      const collection = `notes${n}`;
      const field = (name: string) => ({ name, type: 'STRING' });
      const definition = { name: collection, fields: [field('title')] };
      expect((await otherControlPlane.post('/control/collections', definition)).status).toBe(201);
      for (const api of [platform, otherGateway])
        expect((await api.post(`/api/${collection}`, { title: 'a' })).status).toBe(201);
      expect((await platform.post(`/control/collections/${collection}/fields`, field('text'))).status).toBe(201);
      for (const api of [platform, otherGateway, platform, otherGateway])
        expect((await api.post(`/api/${collection}`, { text: 'b' })).status).toBe(201);

      const made = await platform.post('/control/keys', { name: `k${n}`, scopes: ['records:read'] });
      const { key, secret } = made.body as { key: { id: string }; secret: string };
      const read = (api: RecordsApi) => new RecordsApi(api.url, secret).get(`/api/${collection}`);
      for (const api of [platform, otherGateway]) expect((await read(api)).status).toBe(200);
      expect((await otherControlPlane.call('DELETE', `/control/keys/${key.id}`)).status).toBe(204);
      for (const api of [platform, otherGateway]) expect((await read(api)).status).toBe(401);
    }
  });

  it('names what it waits for when a process does not follow, and waits for nothing if the caller wants so', async () => {
    const { platform, gateway } = installation();
    const make = (name: string, prefer: string) =>
      platform.post('/control/keys', { name, scopes: ['records:read'] }, { prefer });
    gateway.kill('SIGSTOP');
    try {
      const { status, headers } = await make('slow', 'wait=1');
      expect(status).toBe(201);
      expect(headers.get(waitingForHeader)).toMatch(new RegExp(`^gateway ${gateway.pid}@.*: no answer$`));
      expect((await make('async', respondAsync)).headers.get(waitingForHeader)).toBeNull();
    } finally {
      gateway.kill('SIGCONT');
    }
    await eventually(async () => expect((await make('again', 'wait=5')).headers.get(waitingForHeader)).toBeNull());
  });
});
