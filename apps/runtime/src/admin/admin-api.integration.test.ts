import { Health, Secret } from '@drover/service-kit';
import { describe, expect, it } from 'vitest';
import { definitionOf, httpFunction } from '../bindings/definition.test.fixture.js';
import type { AdminHost } from '../routes/admin-host.js';
import { healthDocument, type RuntimeVitals } from '../functions-http/health.js';
import { httpResponse, sendRaw, withServer } from '../functions-http/http-server.test.fixture.js';

const queue = definitionOf('Work', { name: 'item', type: 'queueTrigger', direction: 'in', queueName: 'q' });
const hello = httpFunction('hello', { route: 'Hello/{name}' });
const master = { 'x-functions-key': 'master' };

function adminHost(): AdminHost & { readonly done: string[] } {
  const done: string[] = [];
  return {
    done,
    functions: () => [queue, { ...hello, isDisabled: true }],
    problems: () => [{ functionName: 'broken', file: 'x.js', problem: 'it has no trigger' }],
    run: (definition, input) => void done.push(`run ${definition.name} ${input}`),
    status: () => ({ id: 'app', state: 'Running', version: '1.2.3', instanceId: 'i', uptimeMs: 5.4, errors: [] }),
    restart: () => void done.push('restart'),
    drain: () => void done.push('drain'),
    drainStatus: () => ({ state: 'InProgress', outstandingInvocations: 2, outstandingRetries: 0 }),
  };
}
const serve = (
  admin: AdminHost,
  use: (
    call: (method: string, path: string, body?: string, headers?: Record<string, string>) => Promise<[number, unknown]>,
  ) => Promise<void>,
) =>
  withServer({ functions: [queue, hello], invoke: () => expect.unreachable(), app: { admin } }, ({ url }) =>
    use(async (method, path, body, headers = master) => {
      const answer = await fetch(`${url}/admin/${path}`, { method, headers, ...(body !== undefined && { body }) });
      const text = await answer.text();
      return [answer.status, text === '' ? '' : JSON.parse(text)];
    }),
  );

describe('the admin API', () => {
  it('lists functions, with where to call them', async () => {
    await serve(adminHost(), async (call) => {
      expect(await call('GET', 'functions')).toMatchObject([
        200,
        [
          { name: 'Work', invoke_url_template: null, isDisabled: false, config: { bindings: [{ queueName: 'q' }] } },
          { name: 'hello', invoke_url_template: expect.stringMatching(/\/api\/hello\/\{name\}$/), isDisabled: true },
        ],
      ]);
      expect(await call('GET', 'functions/WORK')).toMatchObject([200, { name: 'Work' }]);
      expect(await call('GET', 'functions/work/status')).toEqual([200, {}]);
      expect(await call('GET', 'functions/broken/status')).toEqual([200, { errors: ['it has no trigger'] }]);
      expect((await call('GET', 'functions/unknown'))[0]).toBe(404);
    });
  });

  it('runs a function by hand, unless it is called over HTTP', async () => {
    const admin = adminHost();
    await serve(admin, async (call) => {
      expect(await call('POST', 'functions/work', '{"input":"hi"}')).toEqual([202, '']);
      expect((await call('POST', 'functions/Work', '{"input":{"a":1}}'))[0]).toBe(202);
      expect((await call('POST', 'functions/Work', '{}'))[0]).toBe(202);
      expect(admin.done).toEqual(['run Work hi', 'run Work {"a":1}', 'run Work ']);
      expect((await call('POST', 'functions/hello', '{"input":""}'))[0]).toBe(400);
      for (const bad of ['', '[]', '"x"', '{', 'null'])
        expect((await call('POST', 'functions/work', bad))[0]).toBe(400);
      expect((await call('POST', 'functions/unknown', '{}'))[0]).toBe(404);
    });
  });

  it('tells and changes what the host does', async () => {
    const admin = adminHost();
    await serve(admin, async (call) => {
      expect(await call('GET', 'host/status')).toEqual([
        200,
        { id: 'app', state: 'Running', version: '1.2.3', versionDetails: '1.2.3', instanceId: 'i', processUptime: 5 },
      ]);
      expect(await call('GET', 'host/keys')).toMatchObject([200, { keys: [{ name: 'default', value: 'host-key' }] }]);
      expect(await call('GET', 'host/systemkeys')).toMatchObject([200, { keys: [{ name: 'extension' }] }]);
      expect(await call('GET', 'host/keys/_master')).toEqual([200, { name: '_master', value: 'master' }]);
      expect(await call('GET', 'functions/work/keys')).toEqual([200, { keys: [], links: [] }]);
      expect((await call('POST', 'host/restart'))[0]).toBe(202);
      expect(await call('POST', 'host/drain')).toMatchObject([202, { state: 'InProgress' }]);
      expect(await call('GET', 'host/drain/status')).toEqual([
        200,
        { state: 'InProgress', outstandingInvocations: 2, outstandingRetries: 0 },
      ]);
      expect(admin.done).toEqual(['restart', 'drain']);
      for (const [method, path] of [
        ['GET', 'host/restart'],
        ['DELETE', 'host/keys'],
        ['GET', ''],
        ['GET', 'x/y'],
        ['GET', 'functions/work/keys/x'],
      ] as const)
        expect((await call(method, path))[0]).toBe(404);
    });
  });

  it('requires the master key for everything but a ping', async () => {
    await serve(adminHost(), async (call) => {
      for (const headers of [{}, { 'x-functions-key': 'host-key' }, { 'x-functions-key': 'system-key' }])
        for (const [method, path] of [
          ['GET', 'host/status'],
          ['GET', 'host/keys/_master'],
          ['POST', 'host/restart'],
          ['GET', 'functions'],
          ['GET', 'nothing'],
        ] as const)
          expect((await call(method, path, undefined, headers))[0]).toBe(401);
      expect((await call('GET', 'host/ping', undefined, {}))[0]).toBe(200);
      expect((await call('POST', 'HOST/Ping', undefined, {}))[0]).toBe(200);
    });
  });

  it('is open to a developer at this machine where no keys are asked for, but not to pages in a browser', async () => {
    const app = { admin: adminHost(), requiresKeys: false };
    await withServer({ functions: [queue], invoke: () => expect.unreachable(), app }, async ({ url, port }) => {
      expect((await fetch(`${url}/admin/functions`)).status).toBe(200);
      expect((await fetch(`${url}/admin/functions`, { headers: { 'x-forwarded-for': '127.0.0.1' } })).status).toBe(200);
      for (const extra of [
        'origin: https://evil.example',
        'sec-fetch-site: cross-site',
        'x-forwarded-for: 203.0.113.7',
        'x-forwarded-for: 127.0.0.1, 203.0.113.7',
      ]) {
        const answer = await sendRaw(
          port,
          `POST /admin/functions/work HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n${extra}\r\ncontent-length: 12\r\n\r\n{"input":""}`,
        );
        expect(answer).toContain('401 Unauthorized');
      }
      const rebound = 'GET /admin/host/keys HTTP/1.1\r\nhost: evil.example\r\nconnection: close\r\n\r\n';
      expect(await sendRaw(port, rebound)).toContain('401 Unauthorized');
      expect(app.admin.done).toEqual([]);
    });
  });

  it('answers 404 for an application without an admin host', async () => {
    await withServer({ functions: [hello], invoke: () => expect.unreachable() }, async ({ url }) => {
      expect((await fetch(`${url}/admin/host/ping`)).status).toBe(404);
    });
  });
});

describe('health', () => {
  const vitals: RuntimeVitals = {
    isRpcListening: true,
    totalWorkers: 2,
    readyWorkers: 1,
    activeJobHosts: 1,
    memoryUtilization: 0.456,
    pendingInvocations: 3,
    unservedApplications: 0,
    unavailableSources: 0,
  };

  it.each([
    [{}, 'healthy', 'Runtime healthy'],
    [{ isRpcListening: false, readyWorkers: 0 }, 'unhealthy', 'gRPC server not listening'],
    [{ readyWorkers: 0 }, 'degraded', 'No ready workers'],
    [{ readyWorkers: 0, totalWorkers: 0 }, 'healthy', 'Runtime healthy'],
    [{ readyWorkers: 0, totalWorkers: 0, unservedApplications: 1 }, 'degraded', 'Applications not served'],
    [{ unavailableSources: 1 }, 'degraded', 'Trigger sources unavailable'],
    [{ memoryUtilization: 0.91 }, 'degraded', 'High memory pressure'],
  ])('with %j is %s', (change, status, description) => {
    expect(healthDocument({ ...vitals, ...change })).toMatchObject({ status, description });
  });

  it('is told to probes, and in detail', async () => {
    const health = new Health();
    let current = vitals;
    const metrics = { masterKey: undefined, text: () => Promise.resolve('') };
    const server = { health: { health, vitals: () => current, metrics } };
    await withServer({ functions: [], invoke: () => expect.unreachable(), server }, async ({ url }) => {
      const get = async (path: string) => {
        const answer = await fetch(url + path);
        return [answer.status, await answer.json()];
      };
      expect(await get('/healthz')).toEqual([200, { status: 'starting', problems: {} }]);
      expect((await get('/readyz'))[0]).toBe(503);
      health.move('ready');
      expect((await get('/readyz'))[0]).toBe(200);
      expect(await get('/health')).toEqual([
        200,
        {
          status: 'healthy',
          description: 'Runtime healthy',
          data: {
            grpc_server: 'healthy',
            total_workers: 2,
            ready_workers: 1,
            active_jobhosts: 1,
            memory_utilization: '46%',
            pending_invocations: 3,
          },
        },
      ]);
      current = { ...vitals, isRpcListening: false };
      expect((await get('/health'))[0]).toBe(503);
    });
  });

  it('leaves /health to a function that has it, and to functions alone through the gateway', async () => {
    const metrics = { masterKey: undefined, text: () => Promise.resolve('') };
    const server = { health: { health: new Health(), vitals: () => vitals, metrics } };
    const invoke = () => httpResponse('mine');
    const own = {
      functions: [httpFunction('health', { methods: ['GET'] })],
      hostJson: { routePrefix: '' },
      invoke,
      server,
    };
    await withServer(own, async ({ url, problems }) => {
      expect(problems).toEqual([]);
      expect(await (await fetch(`${url}/health`)).text()).toBe('mine');
      expect((await fetch(`${url}/healthz`)).headers.get('content-type')).toContain('json');
    });
    await withServer({ functions: [], invoke, server }, async ({ url }) => {
      expect((await fetch(`${url}/health`)).status).toBe(200);
      expect((await fetch(`${url}/health`, { headers: { 'x-forwarded-for': '127.0.0.1' } })).status).toBe(404);
    });
  });

  it('serves metrics to requests with the master key', async () => {
    const metrics = { masterKey: new Secret('open-sesame'), text: () => Promise.resolve('drover_up 1\n') };
    const server = { health: { health: new Health(), vitals: () => vitals, metrics } };
    await withServer({ functions: [], invoke: () => expect.unreachable(), server }, async ({ url }) => {
      const get = (headers: Record<string, string>): Promise<Response> => fetch(`${url}/metrics`, { headers });
      expect((await get({})).status).toBe(401);
      expect((await get({ authorization: 'Bearer open-sesam' })).status).toBe(401);
      expect(await (await get({ 'x-functions-key': 'open-sesame' })).text()).toBe('drover_up 1\n');
      const answer = await get({ authorization: 'Bearer open-sesame' });
      expect([answer.status, answer.headers.get('content-type')]).toEqual([
        200,
        'text/plain; version=0.0.4; charset=utf-8',
      ]);
    });
  });
});
