import type { Scope } from '@drover/contracts';
import { eventually } from '@drover/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { everything, startFunctionsPlatform, unknownExecution, type FunctionsPlatform } from './support/functions.js';
import type { Answer } from './support/raw-http.js';
import './support/refusal-matcher.js';
import { Gate } from './support/scripted-endpoint.js';
import { leavesNoSecretBehind } from './support/secrets.js';

let platform: FunctionsPlatform;
let stranger: string;
const gate = new Gate();

leavesNoSecretBehind();
beforeAll(async () => {
  platform = await startFunctionsPlatform();
  stranger = await platform.otherKey('tenant-b');
  await platform.register('mine', async ({ body }) => {
    if (body.input === 'wait') await gate.opened;
    return body.input === 'fail' ? { status: 500 } : { json: body.input };
  });
});
afterAll(async () => {
  gate.open();
  await platform?.stop();
});

/** An answer without what differs between any two answers, and without the name that was asked for. */
const told = ({ status, headers, text }: Answer, subject: string): unknown => ({
  status,
  contentType: headers.get('content-type'),
  retryAfter: headers.get('retry-after'),
  text: text.replaceAll(subject, 'SUBJECT').replace(/"requestId":"[^"]*"/, ''),
});

describe('what belongs to one tenant is for another as if it were not there', () => {
  it.each([
    ['GET', '', undefined],
    ['PATCH', '', { timeoutMs: 1_000 }],
    ['DELETE', '', undefined],
    ['GET', '/replicas', undefined],
    ['PUT', '/replicas', { replicas: 1 }],
    ['POST', ':invoke', { input: 1 }],
    ['POST', ':enqueue', { input: 1 }],
    ['POST', ':enqueue-batch', { items: [{ input: 1 }] }],
  ])('a function: %s /v1/functions/{name}%s', async (method, rest, json) => {
    const [theirs, nobodys] = await Promise.all(
      ['mine', 'made-up'].map(async (name) =>
        told(await platform.request(`/v1/functions/${name}${rest}`, { method, key: stranger, json }), name),
      ),
    );
    expect(theirs).toEqual(nobodys);
    expect(theirs).toMatchObject({ status: 404 });
  });

  it.each(['/function/', '/async-function/'])('a function: POST %s{name}', async (path) => {
    const [theirs, nobodys] = await Promise.all(
      ['mine', 'made-up'].map(async (name) => told(await platform.post(`${path}${name}`, 1, {}, stranger), name)),
    );
    expect(theirs).toEqual(nobodys);
    expect(theirs).toMatchObject({ status: 404 });
  });

  it('an execution: queued, running, ended, failed, not kept', async () => {
    const ids = new Map<string, string>();
    const note = async (what: string, body: unknown): Promise<void> => {
      ids.set(
        what,
        (await platform.enqueue('mine', body, { 'x-trace-id': 'secret-trace', 'idempotency-key': what })).executionId,
      );
    };
    await note('queued', { input: 1, delayMs: 60_000 });
    await note('running', { input: 'wait' });
    await note('ended', { input: 'private' });
    await note('failed', { input: 'fail' });
    ids.set('not kept', (await platform.invoke('mine', 1)).envelope.executionId);
    for (const what of ['ended', 'failed']) await platform.ended(ids.get(what) ?? '');
    await eventually(async () => (await platform.execution(ids.get('running') ?? '')).status === 'running');

    for (const [what, id] of ids) {
      const before = await platform.execution(id);
      for (const [method, path, json] of [
        ['GET', `/v1/executions/ID`],
        ['POST', `/v1/executions/ID:cancel`],
        ['POST', `/v1/executions/ID:replay`],
        ['POST', `/v1/internal/executions/ID:complete`, { success: true, output: 'stolen' }],
        ['POST', `/v1/dead-letters:redrive`, { executionIds: ['ID'] }],
      ] as const) {
        const ask = async (subject: string): Promise<unknown> =>
          told(
            await platform.request(path.replace('ID', subject), {
              method,
              headers: { 'x-dispatch-attempt': '1' },
              key: stranger,
              ...(json && { json: JSON.parse(JSON.stringify(json).replace('ID', subject)) as unknown }),
            }),
            subject,
          );
        expect(await ask(id), `${what}: ${method} ${path}`).toEqual(await ask(unknownExecution));
      }
      expect(await platform.execution(id)).toEqual(before);
    }

    for (const query of [
      '',
      '?function=mine',
      '?traceId=secret-trace',
      '?idempotencyKey=ended',
      `?after=${ids.get('failed') ?? ''}`,
    ])
      expect((await platform.request(`/v1/executions${query}`, { key: stranger })).body).toEqual({ executions: [] });
    expect((await platform.request('/v1/dead-letters', { key: stranger })).body).toEqual({ executions: [] });
    expect((await platform.post('/v1/dead-letters:redrive', { function: 'mine' }, {}, stranger)).body).toEqual({
      redriven: 0,
      remaining: 0,
      items: [],
    });
    expect((await platform.request('/v1/functions', { key: stranger })).body).toEqual([]);
    expect((await platform.request('/v1/dead-letters?function=mine')).body).toMatchObject({
      executions: [{ executionId: ids.get('failed') }],
    });
  });

  it('a name, a queue and an idempotency key: each tenant has its own', async () => {
    await platform.register('mine', undefined, {}, stranger);
    const ours = await platform.enqueue('mine', { input: 'a' }, { 'idempotency-key': 'shared' });
    const theirs = await platform.enqueue('mine', { input: 'b' }, { 'idempotency-key': 'shared' }, stranger);
    expect(theirs.executionId).not.toBe(ours.executionId);
    expect(await platform.ended(ours.executionId)).toMatchObject({ functionName: 'mine' });
    await platform.request('/v1/functions/mine', { method: 'DELETE', key: stranger });
    expect((await platform.invoke('mine', 'still here')).envelope.output).toBe('still here');
  });
});

describe('a key does only what its scopes say', () => {
  const operations: [needed: Scope, method: string, path: string, json?: unknown][] = [
    ['functions:read', 'GET', '/v1/functions'],
    ['functions:read', 'GET', '/v1/functions/mine'],
    ['functions:read', 'GET', '/v1/functions/mine/replicas'],
    ['functions:read', 'GET', '/v1/executions'],
    ['functions:read', 'GET', `/v1/executions/${unknownExecution}`],
    ['functions:read', 'GET', '/v1/dead-letters'],
    ['functions:write', 'POST', '/v1/functions', { name: 'new', endpointUrl: 'http://127.0.0.1:1/' }],
    ['functions:write', 'PATCH', '/v1/functions/mine', { timeoutMs: 1 }],
    ['functions:write', 'DELETE', '/v1/functions/mine'],
    ['functions:write', 'PUT', '/v1/functions/mine/replicas', { replicas: 1 }],
    ['functions:write', 'PUT', '/v1/functions/mine', { endpointUrl: 'http://127.0.0.1:1/' }],
    ['functions:read', 'GET', '/v1/functions/mine/queue'],
    ['functions:write', 'POST', '/v1/functions/mine/queue:pause'],
    ['functions:write', 'POST', '/v1/functions/mine/queue:resume'],
    ['functions:write', 'POST', '/v1/functions/mine/queue:drain'],
    ['functions:write', 'POST', '/v1/functions/mine/queue:purge'],
    ['functions:write', 'DELETE', `/v1/dead-letters/${unknownExecution}`],
    ['functions:write', 'POST', '/v1/dead-letters:delete', { limit: 1 }],
    ['functions:read', 'GET', '/v1/callback-secrets'],
    ['functions:write', 'POST', '/v1/callback-secrets', {}],
    ['functions:write', 'DELETE', '/v1/callback-secrets/0123'],
    ['functions:invoke', 'POST', '/v1/functions/mine:invoke', { input: 1 }],
    ['functions:invoke', 'POST', '/v1/functions/mine:enqueue', { input: 1 }],
    ['functions:invoke', 'POST', '/v1/functions/mine:enqueue-batch', { items: [{ input: 1 }] }],
    ['functions:invoke', 'POST', `/v1/executions/${unknownExecution}:cancel`],
    ['functions:invoke', 'POST', `/v1/executions/${unknownExecution}:replay`],
    ['functions:invoke', 'POST', `/v1/internal/executions/${unknownExecution}:complete`, { success: true }],
    ['functions:invoke', 'POST', '/v1/dead-letters:redrive', { limit: 1 }],
    ['functions:invoke', 'POST', '/function/mine', 1],
    ['functions:invoke', 'POST', '/async-function/mine', 1],
  ];

  it.each(operations)('%s: %s %s', async (needed, method, path, json) => {
    const others = [...everything, 'control:read', 'control:write'].filter((scope) => scope !== needed) as Scope[]; // they are
    const [without, withIt, revoked] = await Promise.all([
      platform.otherKey('tenant-a', others),
      platform.otherKey('tenant-c', [needed]),
      Promise.resolve(`${platform.key.slice(0, -1)}_`),
    ]);
    const refused = await platform.request(path, { method, key: without, json });
    expect(refused).toBeRefusedWith(403, 'ACCESS_DENIED');
    expect(refused.text).toContain(needed);
    const allowed = await platform.request(path, { method, key: withIt, json });
    expect([401, 403]).not.toContain(allowed.status);
    const unknown = await platform.request(path, { method, key: revoked, json });
    expect(unknown).toBeRefusedWith(401, 'AUTHENTICATION_REQUIRED');
    expect(unknown.headers.get('www-authenticate')).toBe('Bearer');
  });

  it('and every operation of the document is among these', async () => {
    const { body } = await platform.request('/openapi.json');
    const { paths } = body as {
      readonly paths: Record<string, Record<string, { readonly security: readonly Record<string, string[]>[] }>>;
    };
    const documented = Object.entries(paths).flatMap(([path, item]) =>
      Object.entries(item).flatMap(([method, { security }]) => {
        const [scope = 'public'] = security.flatMap((one) => one['apiKey'] ?? []);
        return scope.startsWith('functions:') ? [`${scope} ${method.toUpperCase()} ${path}`] : [];
      }),
    );
    const tested = operations.map(
      ([scope, method, path]) =>
        `${scope} ${method} ${path.replace(unknownExecution, '{executionId}').replace('mine', '{name}').replace('0123', '{secretId}')}`,
    );
    expect(tested.toSorted()).toEqual(documented.toSorted());
  });
});
