import { FunctionResponse, type TenantId } from '@drover/contracts';
import { createTestDatabase, type TestDatabase } from '@drover/database/testing';
import { Secret } from '@drover/service-kit';
import { eventually } from '@drover/testkit';
import { Ajv } from 'ajv';
import formatsPlugin from 'ajv-formats';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { FunctionDefinition } from '@drover/dispatchers';
import { controlPlaneSchema } from '../src/schema.js';
import { startFunctionsApi, type FunctionsApi } from './support/functions-api.js';
import './support/refusal-matcher.js';
import { keepSecret, leavesNoSecretBehind } from './support/secrets.js';

const secretsKey = new Secret('the key of the tests, long enough');
const variable = 'value-of-a-variable-that-nobody-sees';
const isFunction = formatsPlugin.default(new Ajv()).compile(FunctionResponse);

const ofApplication: FunctionDefinition = {
  tenantId: 'shop-owner' as TenantId,
  name: 'order',
  generation: 99,
  revision: 1,
  mode: 'APP',
  requestedMode: 'APP',
  timeoutMs: 30_000,
  concurrency: 4,
  queueSize: 100,
  maxRetries: 3,
  retry: { handlerErrors: false, delayMs: 1_000, backOffFactor: 5, maxDelayMs: 300_000, windowMs: 21_600_000 },
  appFunction: { application: 'shop', name: 'order' },
  env: {},
  spec: { name: 'order', executionMode: 'APP', appFunction: 'shop/order' },
  discovered: { application: 'shop', trigger: 'queueTrigger' },
};

let test: TestDatabase;
let api: FunctionsApi;
let key: string;

leavesNoSecretBehind();
beforeAll(async () => {
  keepSecret('a variable', variable);
  keepSecret('the key of the variables', secretsKey.reveal());
  test = await createTestDatabase(controlPlaneSchema);
  api = await startFunctionsApi(test, {
    secretsKey,
    discovered: {
      find: (tenantId, name) =>
        tenantId === ofApplication.tenantId && name === ofApplication.name ? ofApplication : undefined,
      list: (tenantId) => (tenantId === ofApplication.tenantId ? [ofApplication] : []),
    },
    checkEndpoint: async (url) => (url.includes('169.254.') ? '169.254.1.1 is not a public address' : undefined),
  });
  key = await api.key('default');
});
afterAll(async () => {
  await api?.stop();
  await test.drop();
});

/** What listeners here heard of a function last; late news of others come in between. */
const lastHeard = (name: string) => api.heard.filter((one) => one.name === name).at(-1);
const post = (json: unknown, apiKey = key) => api.request('/v1/functions', { method: 'POST', key: apiKey, json });

describe('registering a function', () => {
  it('answers 201 with everything filled in, and GET shows the same', async () => {
    const answer = await post({ name: 'minimal', endpointUrl: 'http://pool.test:8080/invoke' });
    expect(answer.status).toBe(201);
    expect(answer.body).toMatchObject({
      name: 'minimal',
      image: '',
      env: {},
      timeoutMs: 30_000,
      concurrency: 4,
      queueSize: 100,
      maxRetries: 3,
      retry: { handlerErrors: false, delayMs: 1_000, backOffFactor: 5, maxDelayMs: 300_000, windowMs: 21_600_000 },
      executionMode: 'POOL',
      requestedExecutionMode: 'POOL',
      effectiveExecutionMode: 'POOL',
      endpointUrl: 'http://pool.test:8080/invoke',
      revision: 1,
    });
    isFunction(answer.body);
    expect(isFunction.errors).toBeNull();
    expect((await api.request('/v1/functions/minimal', { key })).body).toEqual(answer.body);
    expect(lastHeard('minimal')).toMatchObject({ tenantId: 'default', now: { revision: 1 } });
  });

  it('keeps what is only kept, whoever sends it in the manner of other systems', async () => {
    const extras = {
      image: 'registry.test/hello:1',
      command: ['node', 'index.js'],
      resources: { requests: { cpu: 0.25, memoryMiB: 64 }, limits: { cpu: 1, memoryMiB: 256 } },
      runtimeMode: 'HTTP',
      runtimeCommand: 'node index.js',
      imagePullSecrets: ['registry'],
      scalingConfig: { strategy: 'INTERNAL', minReplicas: 0, maxReplicas: 10, metrics: [{ type: 'rps', target: '5' }] },
      offload: { enabled: false },
    };
    const { body } = await post({ name: 'deployed', executionMode: 'DEPLOYMENT', ...extras });
    expect(body).toMatchObject({
      ...extras,
      requestedExecutionMode: 'DEPLOYMENT',
      effectiveExecutionMode: 'REMOTE',
      deploymentBackend: 'process',
      degradationReason: expect.stringContaining('managed replicas are not available'),
    });
  });

  it.each<[string, object]>([
    ['a command', { command: ['sh', '-c', 'id'] }],
    ['a command in a mode that becomes REMOTE', { executionMode: 'DEPLOYMENT', command: ['id'] }],
    ['a command beside an image', { image: 'i', command: ['id'] }],
    ['a runtime command', { executionMode: 'REMOTE', image: 'i', runtimeCommand: 'id' }],
  ])('needs the scope functions:commands for %s', async (_, over) => {
    const json = { name: 'program', ...over };
    const without = await api.key('programs', ['functions:read', 'functions:write', 'functions:invoke']);
    const refused = await api.request('/v1/functions', { method: 'POST', key: without, json });
    expect(refused).toBeRefusedWith(403, 'ACCESS_DENIED');
    expect(refused.text).toContain('functions:commands');
    const holder = await api.key('programs', ['functions:write', 'functions:commands']);
    expect((await api.request('/v1/functions', { method: 'POST', key: holder, json })).status).toBe(201);
    await api.request('/v1/functions/program', { method: 'DELETE', key: holder });
  });

  it.each<[string, object]>([
    ['an image alone', { image: 'i' }],
    [
      'a command that is only kept, since calls go to an endpoint',
      { endpointUrl: 'http://pool.test/', command: ['id'] },
    ],
  ])('needs no other scope than functions:write for %s', async (_, over) => {
    const writer = await api.key('programs', ['functions:write']);
    const json = { name: 'no-program', ...over };
    expect((await api.request('/v1/functions', { method: 'POST', key: writer, json })).status).toBe(201);
    await api.request('/v1/functions/no-program', { method: 'DELETE', key: writer });
  });

  it('is refused for a name that is taken, also among ten at once', async () => {
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => post({ name: 'race', endpointUrl: 'http://pool.test/' })),
    );
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    for (const answer of answers.filter(({ status }) => status !== 201))
      expect(answer).toBeRefusedWith(409, 'FUNCTION_EXISTS');
  });

  it.each<[string, object, RegExp]>([
    ['nothing to run', {}, /names nothing to run/],
    ['two problems', { executionMode: 'POOL', handler: 'a/../b.js' }, /endpointUrl is required.*handler must be/],
    ['a name with a colon', { name: 'a:b' }, /name/],
    ['a name that is too long', { name: 'a'.repeat(64) }, /name/],
    ['a field nobody knows', { endpointUrl: 'http://x/', replicas: 1 }, /the property .*replicas/],
    ['an endpoint that may not be called', { endpointUrl: 'http://169.254.1.1/' }, /endpointUrl is refused: .*public/],
    [
      'a variable without a proper name',
      { image: 'i', env: { 'A-B': 'x' } },
      /body\/env must not have the property .*A-B/,
    ],
    ['a variable that is a number', { image: 'i', env: { A: 1 } }, /env\/A must be string/],
    ['NUL', { image: 'a\u0000' }, /image/],
    ['half a character', { image: '\ud800' }, /image contains a lone surrogate/],
    ['a number out of range', { image: 'i', timeoutMs: 300_001 }, /timeoutMs/],
    ['a mode nobody knows', { executionMode: 'THREAD' }, /executionMode must be LOCAL or POOL/],
    ['a list', [] as object, /must be object/],
  ])('is refused for %s, and says why', async (_, over, reason) => {
    const answer = await post(Array.isArray(over) ? over : { name: 'wrong', ...over });
    expect(answer).toBeRefusedWith(400, 'VALIDATION_ERROR');
    expect(answer.text).toMatch(reason);
    expect((await api.request('/v1/functions/wrong', { key })).status).toBe(404);
  });

  it('shows the names of variables only, in every answer', async () => {
    const json = { name: 'secretive', executionMode: 'LOCAL', env: { TOKEN: variable, OTHER: variable } };
    const made = await post(json);
    const again = await post(json);
    const patched = await api.request('/v1/functions/secretive', { method: 'PATCH', key, json: { timeoutMs: 9 } });
    const listed = await api.request('/v1/functions', { key });
    expect(made.body).toMatchObject({ env: { OTHER: '[secret]', TOKEN: '[secret]' } });
    for (const { text } of [made, again, patched, listed]) expect(text).not.toContain(variable);
    const definition = await api.catalog.find('default' as TenantId, 'secretive');
    expect(definition?.env['TOKEN']?.reveal()).toBe(variable);
  });

  it('with variables tells what is missing where there is no key, and shows those of before all the same', async () => {
    const keyless = await startFunctionsApi(test);
    try {
      await post({ name: 'before', executionMode: 'LOCAL', env: { TOKEN: variable } });
      const answer = await keyless.request('/v1/functions', {
        method: 'POST',
        key,
        json: { name: 'after', executionMode: 'LOCAL', env: { TOKEN: variable } },
      });
      expect(answer).toBeRefusedWith(503, 'FUNCTION_ENV_NEEDS_KEY');
      expect(answer.text).toContain('DROVER_SECRETS_KEY');
      const shown = await keyless.request('/v1/functions/before', { key });
      expect(shown.body).toMatchObject({ env: { TOKEN: '[secret]' } });
    } finally {
      await keyless.stop();
    }
  });
});

describe('changing a function', () => {
  it('changes where and how it runs, and the size of its queue', async () => {
    await post({ name: 'moved', endpointUrl: 'http://pool.test/' });
    const json = { endpointUrl: 'http://other.test/', queueSize: 5, image: 'i', command: ['c'] };
    const answer = await api.request('/v1/functions/moved', { method: 'PATCH', key, json });
    expect(answer).toMatchObject({ status: 200, body: { ...json, executionMode: 'POOL', revision: 2 } });
  });

  it('to run another program, or the same with other variables, needs the scope for programs', async () => {
    const plain = await api.key('default', ['functions:read', 'functions:write']);
    const patch = (name: string, json: unknown) =>
      api.request(`/v1/functions/${name}`, { method: 'PATCH', key: plain, json });
    await post({ name: 'program', executionMode: 'REMOTE', command: ['true'] });
    await post({ name: 'harmless', endpointUrl: 'http://pool.test/' });
    for (const json of [{ command: ['rm'] }, { env: { NODE_OPTIONS: '--require=/x.js' } }, { runtimeCommand: 'rm' }])
      expect(await patch('program', json)).toBeRefusedWith(403, 'ACCESS_DENIED');
    expect(await patch('harmless', { executionMode: 'REMOTE', command: ['rm'] })).toBeRefusedWith(403, 'ACCESS_DENIED');
    const json = { executionMode: 'REMOTE', command: ['rm'] };
    for (const name of ['harmless', 'not-there'])
      expect(await api.request(`/v1/functions/${name}`, { method: 'PUT', key: plain, json })).toBeRefusedWith(
        403,
        'ACCESS_DENIED',
      );
    expect(await patch('program', { concurrency: 2, queueSize: 5 })).toMatchObject({ status: 200 });
  });

  it('changes what may change, keeps the generation and raises the revision', async () => {
    const { body: made } = await post({ name: 'patched', endpointUrl: 'http://pool.test/', maxRetries: 7 });
    const json = { concurrency: 9, retry: { handlerErrors: true }, concurrencyControl: { mode: 'FIXED' } };
    const answer = await api.request('/v1/functions/patched', { method: 'PATCH', key, json });
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({
      concurrency: 9,
      maxRetries: 7,
      retry: { handlerErrors: true, delayMs: 1_000 },
      concurrencyControl: { mode: 'FIXED', targetInFlightPerPod: 2 },
      revision: 2,
      generation: (made as FunctionResponse).generation,
    });
    expect(lastHeard('patched')).toMatchObject({ now: { concurrency: 9 } });
  });

  it.each<[string, object]>([
    ['nothing', {}],
    ['a mode that lacks what it needs', { executionMode: 'REMOTE' }],
    ['an endpoint that may not be called', { endpointUrl: 'http://169.254.1.1/' }],
    ['the name', { name: 'other' }],
    ['what is out of range', { concurrency: 0 }],
    ['what does not go together', { concurrencyControl: { mode: 'FIXED', minTargetInFlightPerPod: 99 } }],
  ])('refuses %s, and changes nothing', async (_, json) => {
    await post({ name: 'fixed', endpointUrl: 'http://pool.test/' });
    const before = await api.request('/v1/functions/fixed', { key });
    const answer = await api.request('/v1/functions/fixed', { method: 'PATCH', key, json });
    expect(answer).toBeRefusedWith(400, 'VALIDATION_ERROR');
    expect((await api.request('/v1/functions/fixed', { key })).body).toEqual(before.body);
  });
});

describe('replacing a function', () => {
  const put = (name: string, json: unknown) => api.request(`/v1/functions/${name}`, { method: 'PUT', key, json });

  it('keeps the generation, and so the queue; what is not sent returns to its default', async () => {
    const { body: made } = await post({ name: 'put', endpointUrl: 'http://pool.test/', queueSize: 7, maxRetries: 1 });
    const answer = await put('put', { executionMode: 'REMOTE', command: ['node', 'x.js'], queueSize: 9 });
    expect(answer).toMatchObject({
      status: 200,
      body: { executionMode: 'REMOTE', command: ['node', 'x.js'], queueSize: 9, maxRetries: 3, revision: 2 },
    });
    expect(answer.body).toMatchObject({ generation: (made as FunctionResponse).generation });
    expect(answer.body).not.toHaveProperty('endpointUrl');
    expect(lastHeard('put')).toMatchObject({ now: { mode: 'REMOTE', queueSize: 9 } });
  });

  it('registers one that does not exist', async () => {
    expect(await put('put-new', { endpointUrl: 'http://pool.test/' })).toMatchObject({
      status: 201,
      body: { revision: 1 },
    });
    expect(await put('put-new', { endpointUrl: 'http://pool.test/b' })).toMatchObject({ status: 200 });
  });

  it('accepts a response as it was read, and keeps variables that it shows as secret', async () => {
    const env = { TOKEN: variable, OLD: 'x' };
    const { body } = await post({ name: 'read-put', executionMode: 'LOCAL', env });
    const { env: _, ...read } = body as FunctionResponse;
    const answer = await put('read-put', { ...read, concurrency: 8, env: { TOKEN: '[secret]', NEW: 'y' } });
    expect(answer).toMatchObject({ status: 200, body: { concurrency: 8 } });
    const stored = await api.catalog.find('default' as TenantId, 'read-put');
    expect(Object.entries(stored?.env ?? {}).map(([name, value]) => [name, value.reveal()])).toEqual([
      ['NEW', 'y'],
      ['TOKEN', variable],
    ]);
    expect(await put('read-put', { ...read, env: { OTHER: '[secret]' } })).toBeRefusedWith(400, 'VALIDATION_ERROR');
  });

  it('is refused under another name, and when something is wrong', async () => {
    await post({ name: 'put-wrong', endpointUrl: 'http://pool.test/' });
    expect(await put('put-wrong', { name: 'other', endpointUrl: 'http://pool.test/' })).toBeRefusedWith(
      400,
      'VALIDATION_ERROR',
    );
    expect(await put('put-wrong', { executionMode: 'POOL' })).toBeRefusedWith(400, 'VALIDATION_ERROR');
    expect(await put('put-wrong', { endpointUrl: 'http://169.254.1.1/' })).toBeRefusedWith(400, 'VALIDATION_ERROR');
  });
});

describe('variables', () => {
  it('are merged by PATCH, since their values cannot be read and sent again', async () => {
    await post({ name: 'merged', executionMode: 'LOCAL', env: { A: variable, B: '2' } });
    const json = { env: { B: '3', C: '4' } };
    const answer = await api.request('/v1/functions/merged', { method: 'PATCH', key, json });
    expect(answer.body).toMatchObject({ env: { A: '[secret]', B: '[secret]', C: '[secret]' } });
    const stored = await api.catalog.find('default' as TenantId, 'merged');
    expect(Object.entries(stored?.env ?? {}).map(([name, value]) => [name, value.reveal()])).toEqual([
      ['A', variable],
      ['B', '3'],
      ['C', '4'],
    ]);
  });
});

describe('removing a function', () => {
  it('answers 204 once, tells everybody, and the next registration is another incarnation', async () => {
    const spec = { name: 'gone', endpointUrl: 'http://pool.test/' };
    const { body: first } = await post(spec);
    const answer = await api.request('/v1/functions/gone', { method: 'DELETE', key });
    expect(answer).toMatchObject({ status: 204, text: '' });
    expect(lastHeard('gone')).toEqual({ tenantId: 'default', name: 'gone', now: undefined });
    for (const method of ['GET', 'DELETE'])
      expect(await api.request('/v1/functions/gone', { method, key })).toBeRefusedWith(404, 'FUNCTION_UNKNOWN');
    const { body: second } = await post(spec);
    expect((second as FunctionResponse).generation).toBeGreaterThan((first as FunctionResponse).generation);
  });

  it('ends it on another replica, too', async () => {
    const other = await startFunctionsApi(test, { secretsKey });
    try {
      await post({ name: 'everywhere', endpointUrl: 'http://pool.test/' });
      const tenantId = 'default' as TenantId;
      expect(await other.catalog.find(tenantId, 'everywhere')).toBeDefined();
      await api.request('/v1/functions/everywhere', { method: 'DELETE', key });
      await eventually(() => expect(other.heard.at(-1)).toEqual({ tenantId, name: 'everywhere', now: undefined }));
      expect(other.catalog.peek(tenantId, 'everywhere')).toBeUndefined();
    } finally {
      await other.stop();
    }
  });
});

describe('tenants and rights', () => {
  it('see nothing of each other', async () => {
    const other = await api.key('other-tenant');
    await post({ name: 'mine', endpointUrl: 'http://pool.test/' });
    for (const [method, json] of [['GET'], ['DELETE'], ['PATCH', { timeoutMs: 1 }]] as const) {
      const answer = await api.request('/v1/functions/mine', { method, key: other, json });
      expect(answer).toBeRefusedWith(404, 'FUNCTION_UNKNOWN');
    }
    expect((await api.request('/v1/functions', { key: other })).body).toEqual([]);
    expect((await post({ name: 'mine', endpointUrl: 'http://pool.test/' }, other)).status).toBe(201);
  });

  it('need the scope for what they do', async () => {
    const reader = await api.key('default', ['functions:read']);
    expect((await api.request('/v1/functions', { key: reader })).status).toBe(200);
    expect(await post({ name: 'no', endpointUrl: 'http://pool.test/' }, reader)).toBeRefusedWith(403, 'ACCESS_DENIED');
  });
});

describe('functions of applications', () => {
  it('are listed and read beside the registered ones, by name', async () => {
    const owner = await api.key('shop-owner');
    for (const name of ['zebra', 'ant']) await post({ name, endpointUrl: 'http://pool.test/' }, owner);
    const functions = await api.client(owner).listFunctions({ query: {} });
    expect(functions.map(({ name }) => name)).toEqual(['ant', 'order', 'zebra']);
    expect(await api.client(owner).getFunction({ params: { name: 'order' } })).toMatchObject({
      application: 'shop',
      trigger: 'queueTrigger',
      executionMode: 'APP',
      appFunction: 'shop/order',
    });
  });

  it('are on pages with the registered ones, each once and in one order, whatever the size of a page', async () => {
    const owner = await api.key('shop-owner');
    const names = (await api.client(owner).listFunctions({ query: {} })).map(({ name }) => name);
    expect(names.length).toBeGreaterThan(2);
    for (const limit of [1, 2, names.length, 1_000]) {
      const seen: string[] = [];
      for (let size = limit; size === limit; ) {
        const after = seen.at(-1);
        const page = await api.client(owner).listFunctions({ query: { limit, ...(after !== undefined && { after }) } });
        size = page.length;
        seen.push(...page.map(({ name }) => name));
      }
      expect(seen).toEqual(names);
    }
    const refused = await api.request('/v1/functions?limit=0', { key: owner });
    expect(refused).toBeRefusedWith(400, 'VALIDATION_ERROR');
  });

  it('have queues that can be paused, and show it', async () => {
    const owner = await api.key('shop-owner');
    const act = (verb: string) => api.request(`/v1/functions/order/queue:${verb}`, { method: 'POST', key: owner });
    const shown = async () => {
      const [read, listed] = [
        await api.client(owner).getFunction({ params: { name: 'order' } }),
        await api.client(owner).listFunctions({ query: {} }),
      ];
      return [read.queueState, listed.find(({ name }) => name === 'order')?.queueState];
    };
    expect(await act('pause')).toMatchObject({ status: 200, body: { state: 'paused' } });
    expect(await shown()).toEqual(['paused', 'paused']);
    expect((await api.catalog.find('shop-owner' as TenantId, 'order'))?.queueControl).toMatchObject({
      state: 'paused',
    });
    expect(await act('resume')).toMatchObject({ status: 200, body: { state: 'open' } });
    expect(await shown()).toEqual(['open', 'open']);
  });

  it('are changed with their application only; a registered one of the same name goes before them', async () => {
    const owner = await api.key('shop-owner');
    for (const [method, json] of [['DELETE'], ['PATCH', { timeoutMs: 1 }]] as const) {
      const answer = await api.request('/v1/functions/order', { method, key: owner, json });
      expect(answer).toBeRefusedWith(409, 'FUNCTION_OF_APPLICATION');
      expect(answer.text).toContain('the application shop');
    }
    await post({ name: 'order', endpointUrl: 'http://pool.test/' }, owner);
    const read = () => api.client(owner).getFunction({ params: { name: 'order' } });
    expect(await read()).toMatchObject({ executionMode: 'POOL' });
    expect((await api.client(owner).listFunctions({ query: {} })).filter(({ name }) => name === 'order')).toHaveLength(
      1,
    );
    await api.request('/v1/functions/order', { method: 'DELETE', key: owner });
    expect(await read()).toMatchObject({ executionMode: 'APP' });
  });
});

describe('replicas', () => {
  it('are refused for functions that have none, and for those that are not there', async () => {
    await post({ name: 'single', endpointUrl: 'http://pool.test/' });
    for (const [method, json] of [['GET'], ['PUT', { replicas: 2 }]] as const) {
      const answer = await api.request('/v1/functions/single/replicas', { method, key, json });
      expect(answer).toBeRefusedWith(400, 'FUNCTION_NOT_MANAGED');
      const missing = await api.request('/v1/functions/nobody/replicas', { method, key, json });
      expect(missing).toBeRefusedWith(404, 'FUNCTION_UNKNOWN');
    }
  });
});
