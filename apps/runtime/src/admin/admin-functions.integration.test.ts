import { describe, expect, it } from 'vitest';
import type { FunctionDefinition, FunctionProblem } from '../applications/function-definition.js';
import { parseHostJson } from '../applications/host-json.js';
import { definitionOf, httpFunction } from '../bindings/definition.test.fixture.js';
import type { AdminHost } from '../routes/admin-host.js';
import { MemoryFunctionKeys } from '../routes/function-keys.js';
import { createHttpApplication, type HttpApplication } from '../routes/http-application.js';
import { withServer } from '../functions-http/http-server.test.fixture.js';

const queueFunction = (name: string) =>
  definitionOf(name, { name: 'item', type: 'queueTrigger', direction: 'in', queueName: name.toLowerCase() });

interface AppOptions {
  readonly problems?: readonly FunctionProblem[];
  readonly masterKey?: string;
}

/** An application whose admin host remembers what it was told to run. */
function applicationOf(
  name: string,
  functions: readonly FunctionDefinition[],
  ran: string[],
  { problems = [], masterKey = 'master' }: AppOptions = {},
): HttpApplication {
  const admin: AdminHost = {
    functions: () => functions,
    problems: () => problems,
    run: (definition, input) => void ran.push(`${name} ${definition.name} ${input}`),
    status: () => ({ id: name, state: 'Running', version: '1', instanceId: 'i', uptimeMs: 0, errors: [] }),
    restart: () => expect.unreachable(),
    drain: () => expect.unreachable(),
    drainStatus: () => ({ state: 'Disabled', outstandingInvocations: 0, outstandingRetries: 0 }),
  };
  const keysOf = Object.fromEntries(functions.map((one) => [one.name, { default: `${name} ${one.name}` }]));
  return createHttpApplication({
    name,
    functions,
    options: parseHostJson('{"version":"2.0"}', {}).hostJson.extensions.http,
    invoker: { invoke: () => expect.unreachable() },
    keys: new MemoryFunctionKeys({ masterKey, functionKeys: {}, systemKeys: {}, functions: keysOf }),
    requiresKeys: true,
    admin,
  }).application;
}

type Call = (method: string, path: string, body?: string) => Promise<[number, unknown]>;

/** Requests go to the first application. */
async function serve(all: readonly HttpApplication[], use: (call: Call, url: string) => Promise<void>): Promise<void> {
  const applications = {
    all: () => all,
    resolve: () => all[0],
    named: (name: string) => all.find((application) => application.name === name),
    problems: () => [],
  };
  const nothing = { functions: [], invoke: () => expect.unreachable(), server: { applications } };
  await withServer(nothing, async ({ url }) => {
    const call: Call = async (method, path, body) => {
      const headers = { 'x-functions-key': 'master' };
      const answer = await fetch(url + path, { method, headers, ...(body !== undefined && { body }) });
      const text = await answer.text();
      return [answer.status, text === '' ? '' : (JSON.parse(text) as unknown)];
    };
    await use(call, url);
  });
}

describe('the functions of several applications', () => {
  const ran: string[] = [];
  const shop = applicationOf('default/shop', [httpFunction('hello'), queueFunction('Work')], ran, {
    problems: [{ functionName: 'report', file: undefined, problem: 'it has no trigger' }],
  });
  const bills = applicationOf(
    'default/bills.v2',
    [
      httpFunction('Hello'),
      httpFunction('pay', { route: 'pay/{id}', methods: ['POST'] }),
      queueFunction('work'),
      queueFunction('report'),
    ],
    ran,
    { problems: [{ functionName: 'hello', file: undefined, problem: 'it is odd' }] },
  );

  it('are listed with their paths and keys for the master key, and for no other', async () => {
    await serve([shop, bills], async (call, url) => {
      const [status, listed] = await call('GET', '/admin/keys');
      expect(status).toBe(200);
      const trigger = 'httpTrigger';
      expect(listed).toEqual({
        applications: [
          {
            name: 'default/shop',
            requiresKeys: true,
            hostKeys: [],
            functions: [
              {
                name: 'hello',
                trigger,
                isDisabled: false,
                http: { path: 'api/hello', methods: [], authLevel: 'anonymous' },
                keys: [{ name: 'default', value: 'default/shop hello' }],
              },
              { name: 'Work', trigger: 'queueTrigger', isDisabled: false, keys: [] },
            ],
          },
          {
            name: 'default/bills.v2',
            requiresKeys: true,
            hostKeys: [],
            functions: [
              { name: 'Hello', trigger, isDisabled: false, keys: [] }, // the first application answers at its path
              {
                name: 'pay',
                trigger,
                isDisabled: false,
                http: { path: 'api/pay/{id}', methods: ['POST'], authLevel: 'anonymous' },
                keys: [{ name: 'default', value: 'default/bills.v2 pay' }],
              },
              { name: 'work', trigger: 'queueTrigger', isDisabled: false, keys: [] },
              { name: 'report', trigger: 'queueTrigger', isDisabled: false, keys: [] },
            ],
          },
        ],
      });
      for (const headers of [{}, { 'x-functions-key': 'default/shop hello' }])
        expect((await fetch(`${url}/admin/keys`, { headers })).status).toBe(401);
      expect((await call('POST', '/admin/keys'))[0]).toBe(404);
    });
    await serve([], async (call) => expect(await call('GET', '/admin/keys')).toEqual([200, { applications: [] }]));
  });

  it('are all listed, and those of the same name can be told apart', async () => {
    await serve([shop, bills], async (call, url) => {
      const [status, listed] = await call('GET', '/admin/functions');
      expect(status).toBe(200);
      expect(listed).toMatchObject([
        { name: 'hello', application: 'shop', href: `${url}/admin/functions/hello`, config: { name: 'hello' } },
        { name: 'Work', application: 'shop' },
        {
          name: 'bills.v2.Hello',
          application: 'bills.v2',
          href: `${url}/admin/functions/bills.v2.Hello`,
          config: { name: 'Hello' },
        },
        { name: 'pay', application: 'bills.v2', href: `${url}/admin/functions/pay` },
        { name: 'bills.v2.work', application: 'bills.v2' },
        { name: 'report', application: 'bills.v2' },
      ]);
      for (const one of listed as { href: string }[])
        expect(await call('GET', new URL(one.href).pathname)).toEqual([200, one]);
    });
  });

  it('have an address only where it is theirs', async () => {
    await serve([shop, bills], async (call, url) => {
      const [, listed] = await call('GET', '/admin/functions');
      expect(Object.fromEntries((listed as Listed[]).map((one) => [one.name, one.invoke_url_template]))).toEqual({
        hello: `${url}/api/hello`,
        Work: null,
        'bills.v2.Hello': null,
        pay: `${url}/api/pay/{id}`,
        'bills.v2.work': null,
        report: null,
      });
    });
  });

  it('are asked about and run by either name', async () => {
    await serve([shop, bills], async (call) => {
      for (const path of ['work', 'SHOP.WORK', 'bills.v2.work', 'report'])
        expect(await call('POST', `/admin/functions/${path}`, '{"input":"x"}')).toEqual([202, '']);
      expect(ran.splice(0)).toEqual([
        'default/shop Work x',
        'default/shop Work x',
        'default/bills.v2 work x',
        'default/bills.v2 report x',
      ]);
      const keysOf = (value: string) => [200, { keys: [{ name: 'default', value }], links: [] }];
      expect(await call('GET', '/admin/functions/hello/keys')).toEqual(keysOf('default/shop hello'));
      expect(await call('GET', '/admin/functions/bills.v2.hello/keys')).toEqual(keysOf('default/bills.v2 Hello'));
      expect(await call('GET', '/admin/functions/hello/status')).toEqual([200, {}]);
      expect(await call('GET', '/admin/functions/bills.v2.hello/status')).toEqual([200, { errors: ['it is odd'] }]);
      // The one that works has the name.
      expect(await call('GET', '/admin/functions/report/status')).toEqual([200, {}]);
      expect(await call('GET', '/admin/functions/shop.report/status')).toEqual([
        200,
        { errors: ['it has no trigger'] },
      ]);
      for (const path of ['shop.pay', 'bills.work', 'v2.work', '.work', 'default/shop.work', 'shop.report'])
        expect((await call('GET', `/admin/functions/${path}`))[0]).toBe(404);
    });
  });

  it('are shown to a key that opens them, and no others', async () => {
    const closed = applicationOf('default/closed', [queueFunction('secret')], ran, { masterKey: 'other' });
    await serve([shop, closed], async (call) => {
      expect(namesIn(await call('GET', '/admin/functions'))).toEqual(['hello', 'Work']);
      expect((await call('POST', '/admin/functions/secret', '{"input":""}'))[0]).toBe(404);
    });
    await serve([closed], async (call) => {
      expect((await call('GET', '/admin/functions'))[0]).toBe(401);
    });
    expect(ran).toEqual([]);
  });
});

interface Listed {
  readonly name: string;
  readonly invoke_url_template: string | null;
}

function namesIn([, listed]: [number, unknown]): string[] {
  return (listed as Listed[]).map(({ name }) => name);
}
