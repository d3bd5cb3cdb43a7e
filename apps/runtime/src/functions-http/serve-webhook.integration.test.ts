import type { Webhook } from '@drover/trigger-sources';
import { describe, expect, it } from 'vitest';
import { functionLines } from '../admin/function-lines.js';
import { parseHostJson } from '../applications/host-json.js';
import { definitionOf } from '../bindings/definition.test.fixture.js';
import { deriveFunctionKeys } from '../routes/derived-keys.js';
import { MemoryFunctionKeys } from '../routes/function-keys.js';
import { createHttpApplication, type HttpApplication } from '../routes/http-application.js';
import { withServer } from './http-server.test.fixture.js';

const keysOf = (name: string) => deriveFunctionKeys('master', name, [], ['EventGrid', 'Blobs']);

function applicationOf(name: string, functions: readonly string[], requiresKeys = true): HttpApplication {
  const webhook: Webhook = {
    has: (functionName) => functions.includes(functionName.toLowerCase()),
    serve: async (functionName, { method, headers, body }) => ({
      status: 200,
      headers: { 'x-application': name },
      body: { functionName, method, type: headers['content-type'], body: Buffer.from(body).toString() },
    }),
  };
  const definitions = functions.map((one) =>
    definitionOf(one, { name: 'e', type: 'eventGridTrigger', direction: 'in' }),
  );
  return createHttpApplication({
    name,
    functions: definitions,
    options: parseHostJson('{"version":"2.0"}', {}).hostJson.extensions.http,
    invoker: { invoke: () => expect.unreachable() },
    keys: new MemoryFunctionKeys(keysOf(name)),
    requiresKeys,
    webhooks: new Map([['EventGrid', webhook]]),
    admin: { functions: () => definitions } as unknown as NonNullable<HttpApplication['admin']>, // all that is read
  }).application;
}

async function serve(all: readonly HttpApplication[], use: (url: string) => Promise<void>): Promise<void> {
  const applications = { all: () => all, resolve: () => all[0], named: () => all[0], problems: () => [] };
  await withServer({ functions: [], invoke: () => expect.unreachable(), server: { applications } }, ({ url }) =>
    use(`${url}/runtime/webhooks`),
  );
}

const post = (url: string, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(url, { method: 'POST', body: '[{}]', headers: { 'content-type': 'application/json', ...headers } });

describe('the webhooks of applications', () => {
  const shop = applicationOf('default/shop', ['onorder']);
  const bills = applicationOf('default/bills', ['onbill', 'onorder']);
  const keyOf = (name: string, key = 'eventgrid_extension'): string => keysOf(name).systemKeys[key] ?? '';

  it('are found by the name that subscriptions of blobs have', async () => {
    await serve([shop], async (url) => {
      const answer = await post(`${url}/EventGrid?functionName=Host.Functions.OnOrder&code=${keyOf('default/shop')}`);
      expect(await answer.json()).toMatchObject({ functionName: 'OnOrder' });
    });
  });

  it('pass the request on and write the answer', async () => {
    await serve([shop], async (url) => {
      const answer = await post(`${url}/eventgrid/?FunctionName=OnOrder&code=${keyOf('default/shop')}`);
      expect([answer.status, answer.headers.get('x-application')]).toEqual([200, 'default/shop']);
      expect(await answer.json()).toEqual({
        functionName: 'OnOrder',
        method: 'POST',
        type: 'application/json',
        body: '[{}]',
      });
    });
  });

  it('find the application by its key and its function', async () => {
    await serve([shop, bills], async (url) => {
      const where = async (functionName: string, key: string): Promise<unknown> => {
        const answer = await post(`${url}/EventGrid?functionName=${functionName}`, { 'x-functions-key': key });
        return answer.headers.get('x-application') ?? answer.status;
      };
      expect(await where('onorder', keyOf('default/shop'))).toBe('default/shop');
      expect(await where('onorder', keyOf('default/bills'))).toBe('default/bills');
      expect(await where('onbill', 'master')).toBe('default/bills');
      expect(await where('onbill', keyOf('default/shop'))).toBe(404);
      expect(await where('unknown', keyOf('default/shop'))).toBe(404);
    });
  });

  it('refuse what has no key of theirs before they say which functions exist', async () => {
    await serve([shop], async (url) => {
      const others = [
        '',
        'wrong',
        keyOf('default/shop', 'blobs_extension'),
        keyOf('default/bills'),
        keysOf('default/shop').functionKeys['default'] ?? '',
      ];
      for (const functionName of ['onorder', 'unknown'])
        for (const key of others)
          expect((await post(`${url}/EventGrid?functionName=${functionName}&code=${key}`)).status).toBe(401);
      expect((await post(`${url}/Other?functionName=onorder&code=master`)).status).toBe(404);
      expect((await post(`${url}?code=master`)).status).toBe(404);
    });
  });

  it('need no key where the application requires none', async () => {
    await serve([applicationOf('default/shop', ['onorder'], false)], async (url) => {
      expect((await post(`${url}/EventGrid?functionName=onorder`)).status).toBe(200);
    });
  });

  it('are listed with the functions', () => {
    expect(functionLines([shop], 'http://localhost:7071')).toEqual([
      'onorder: eventGridTrigger at http://localhost:7071/runtime/webhooks/EventGrid?functionName=onorder',
    ]);
  });
});
