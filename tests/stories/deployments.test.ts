import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { packFolder } from '@drover/application-catalog';
import { applicationRoutes, createClient, type Client } from '@drover/contracts';
import { hashFolder } from '@drover/service-kit';
import { eventually, withScratchDirectory } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { FunctionsClient, times } from '../support/executions.js';
import { answerOf, Load } from '../support/functions.js';
import { processesOf, readyLine, startUp, withDataDirectory, type ReadyLine } from '../support/platform.js';

type Files = Readonly<Record<string, string>>;
type Deployments = Client<typeof applicationRoutes>;

/** A function of the model with function.json, which needs no package. */
function functionOf(
  name: string,
  code: string,
  trigger: object = { type: 'httpTrigger', authLevel: 'anonymous' },
): Files {
  const bindings = [
    { name: 'input', direction: 'in', ...trigger },
    { name: '$return', type: 'http', direction: 'out' },
  ];
  return {
    [`${name}/function.json`]: JSON.stringify({
      bindings: 'route' in trigger || !('queueName' in trigger) ? bindings : bindings.slice(0, 1),
    }),
    [`${name}/index.js`]: code,
  };
}

const good: Files = {
  'host.json': '{"version":"2.0"}',
  ...functionOf('hello', "module.exports = async () => ({ body: 'one' });"),
};

async function writeAll(directory: string, files: Files): Promise<void> {
  for (const [name, text] of Object.entries(files)) {
    await mkdir(path.dirname(path.join(directory, name)), { recursive: true });
    await writeFile(path.join(directory, name), text);
  }
}

/** Uploads and deploys these files. */
async function deploy(client: Deployments, files: Files, body: object = {}): Promise<string> {
  return withScratchDirectory(async (directory) => {
    await writeAll(directory, files);
    const params = { app: 'shop' };
    const { payload } = await client.uploadPayload({ params, upload: await packFolder(directory) });
    return (await client.deployApplication({ params, body: { payload, ...body } })).version.version;
  });
}

async function deploymentsOf({ credentialsFile }: ReadyLine): Promise<Deployments> {
  const { url, apiKey } = JSON.parse(await readFile(credentialsFile, 'utf8')) as { url: string; apiKey: string };
  return createClient(applicationRoutes, { url, apiKey });
}

const cases: readonly (readonly [string, Files, RegExp])[] = [
  [
    'no functions',
    { 'host.json': '{"version":"2.0"}', 'README.md': '' },
    /No functions were found: there is no package\.json, and no folder in the app has a function\.json\. Correct/,
  ],
  [
    'a function that throws at load',
    { ...good, ...functionOf('broken', "throw new Error('boom at load');") },
    /broken.*boom at load/,
  ],
  [
    'a function that ends its process at load',
    { ...good, ...functionOf('ending', 'process.exit(3);') },
    /ended while it loaded the code/,
  ],
  [
    'two functions of one name',
    { ...good, ...functionOf('Hello', 'module.exports = () => 1;') },
    /[hH]ello.*same name/,
  ],
  [
    'a trigger whose connection is not set',
    {
      ...good,
      ...functionOf('orders', 'module.exports = () => 1;', {
        type: 'queueTrigger',
        queueName: 'orders',
        connection: 'SHOP_STORAGE',
      }),
    },
    /orders.*SHOP_STORAGE/,
  ],
  ['a host.json of another format', { ...good, 'host.json': '{"version":"9.0"}' }, /host\.json.*9\.0/],
  ['a host.json that is no JSON', { ...good, 'host.json': '{' }, /host\.json/],
];

describe('a deployment over the API', () => {
  it('indexes with a real worker, and refuses what cannot run by name while the version before goes on', () =>
    withDataDirectory(async (directory, started) => {
      const client = await deploymentsOf(await readyLine(started(startUp(directory, { args: ['--json'] }))));
      const version = await deploy(client, good);
      const before = await client.getApplication({ params: { app: 'shop' } });
      expect(before.application).toMatchObject({
        traffic: { [version]: 100 },
        versions: [{ functions: [{ name: 'hello', trigger: 'httpTrigger' }], problems: [] }],
      });
      for (const [what, files, message] of cases) {
        const refusal = await deploy(client, files).then(
          () => `${what} was deployed`,
          (error: Error & { code?: string }) => `${error.code}: ${error.message}`,
        );
        expect(refusal).toMatch(/^APPLICATION_REFUSED: /);
        expect(refusal).toMatch(message);
        expect(await client.getApplication({ params: { app: 'shop' } })).toEqual(before);
      }
      // With its setting, the same app is fine.
      const [, files] = cases[4] ?? ['', {}];
      await deploy(client, files, { settings: { SHOP_STORAGE: 'UseDevelopmentStorage=true' } });
      const { application } = await client.getApplication({ params: { app: 'shop' } });
      expect(application.versions.at(-1)?.functions.map(({ name }) => name)).toEqual(['hello', 'orders']);
    }));

  it('rolls a failing version back by itself, and finishes what runs before it removes an application', () =>
    withDataDirectory(async (directory, started) => {
      const up = started(startUp(directory, { args: ['--json'] }));
      const ready = await readyLine(up);
      const client = await deploymentsOf(ready);
      const params = { app: 'shop' };
      const slow = functionOf(
        'slow',
        'module.exports = (context) => { context.log("slow begins"); return new Promise((done) => setTimeout(done, 1500, { body: "done" })); };',
      );
      const first = await deploy(client, { ...good, ...slow }, { scaling: { minWorkers: 1 } });
      const ask = (name: string) => answerOf(() => fetch(`${ready.urls.public}/api/${name}`));
      await eventually(async () => (await ask('hello')).text === 'one');
      const load = new Load(() => fetch(`${ready.urls.public}/api/hello`), { atOnce: 4 });
      try {
        const failing = functionOf('hello', "module.exports = async () => { throw new Error('bad release'); };");
        const second = await deploy(client, { ...good, ...slow, ...failing });
        await eventually(() => load.statuses.includes(500));
        await eventually(async () => {
          const { application, changes } = await client.getApplication({ params });
          expect(application.traffic).toEqual({ [first]: 100 });
          expect(changes[0]).toMatchObject({
            kind: 'rolled-back-automatically',
            reason: expect.stringContaining(second),
          });
        });
        await eventually(async () => {
          const from = load.answers.length;
          await eventually(() => load.answers.length > from + 50);
          expect(new Set(load.answers.slice(from).map(({ status }) => status))).toEqual(new Set([200]));
        });
      } finally {
        await load.stop();
      }
      expect(load.statuses).toEqual([200, 500]);
      const running = ask('slow');
      await up.line(/slow begins/);
      expect((await client.deleteApplication({ params })).state).toBe('deleting');
      expect(await running).toMatchObject({ status: 200, text: 'done' });
      await eventually(async () => expect((await client.listApplications()).applications).toEqual([]));
      await eventually(async () => (await ask('hello')).status === 404);
    }));

  it('ends no queued calls of a function that the next version lacks, or whose application is removed', () =>
    withDataDirectory(async (directory, started) => {
      const ready = await readyLine(started(startUp(directory, { args: ['--json'] })));
      const client = await deploymentsOf(ready);
      const api = await FunctionsClient.of(ready);
      const params = { app: 'shop' };
      const both = { ...good, ...functionOf('orders', "module.exports = async () => ({ body: 'done' });") };
      const names = async (): Promise<string[]> => (await api.functions()).map(({ name }) => name);
      const queue = async (verb: string): Promise<void> => {
        const { status } = await api.request('POST', `/v1/functions/orders/queue:${verb}`);
        expect(status).toBe(200);
      };
      const statuses = async (ids: readonly string[]): Promise<string[]> => {
        const found = await Promise.all(ids.map((id) => api.execution(id)));
        return [...new Set(found.map(({ status }) => status))];
      };
      const succeed = async (ids: readonly string[]): Promise<void> => {
        await eventually(async () => expect(await names()).toContain('orders'));
        await queue('resume');
        await eventually(async () => expect(await statuses(ids)).toEqual(['success']));
      };
      await deploy(client, both);
      await eventually(async () => expect(await names()).toContain('orders'));

      await queue('pause');
      const first = await api.acceptedBatch('orders', times(20, { input: 1 }));
      await deploy(client, good);
      await eventually(async () => expect(await names()).toEqual(['hello']));
      expect(await statuses(first)).toEqual(['queued']);
      await client.rollBackApplication({ params, body: {} });
      await succeed(first);

      await queue('pause');
      const second = await api.acceptedBatch('orders', times(20, { input: 1 }));
      await client.deleteApplication({ params });
      await eventually(async () => expect((await client.listApplications()).applications).toEqual([]));
      await eventually(async () => expect(await names()).toEqual([]));
      expect(await statuses(second)).toEqual(['queued']);
      await deploy(client, both);
      await succeed(second);
    }));

  it('of a watched folder follows its files; a broken save is named, and the version before goes on', () =>
    withDataDirectory((directory, started) =>
      withScratchDirectory(async (scratch) => {
        const app = path.join(scratch, 'shop');
        await writeAll(app, good);
        const up = started(startUp(directory, { args: ['--json', '--app', app, '--watch'] }));
        const ready = await readyLine(up);
        const said = async (): Promise<string> => (await answerOf(() => fetch(`${ready.urls.public}/api/hello`))).text;
        expect(await said()).toBe('one');
        const replies = (text: string): Files =>
          functionOf('hello', `module.exports = async () => ({ body: '${text}' });`);
        await writeAll(app, replies('two'));
        await eventually(async () => expect(await said()).toBe('two'));
        await writeAll(app, { 'host.json': '{"version":"9.0"}' });
        await up.line(/shop was not deployed.*host\.json.*9\.0/);
        expect(await said()).toBe('two');
        await writeAll(app, { 'host.json': '{"version":"2.0"}', ...replies('three') });
        await eventually(async () => expect(await said()).toBe('three'));
        const other = async (): Promise<number> =>
          (await answerOf(() => fetch(`${ready.urls.public}/api/other`))).status;
        await writeAll(app, functionOf('other', 'module.exports = async () => ({ body: "other" });'));
        await eventually(async () => expect(await other()).toBe(200));
        await writeAll(app, { ...functionOf('other', '\n\nmodule.exports = nonsense();'), ...replies('four') });
        await up.line(
          /shop was not deployed.*other.*nonsense is not defined \(at other\/index\.js:3:\d+\).*would lose other/,
        );
        expect([await other(), await said()]).toEqual([200, 'three']);
      }),
    ));

  it('survives kill -9 of the platform at any moment: what was answered is there, and every version has all of its files', () =>
    withDataDirectory(async (directory, started) => {
      const client = await deploymentsOf(await readyLine(started(startUp(directory, { args: ['--json'] }))));
      const answered: string[] = [];
      for (const delayMs of [10, 80, 200]) {
        const attempt = deploy(client, { ...good, ...manyFiles(delayMs) }).then(
          (version) => answered.push(version),
          () => undefined, // it was killed before it answered
        );
        await pause(delayMs);
        const [pid] = processesOf(`${directory}/credentials.json`);
        if (pid === undefined) return expect.unreachable('no platform process');
        process.kill(pid, 'SIGKILL');
        await attempt;
        await eventually(async () => expect((await client.listApplications()).applications).toBeDefined());
      }
      answered.push(await deploy(client, good));
      const { application } = await client.getApplication({ params: { app: 'shop' } });
      expect(application.traffic).toEqual({ [answered.at(-1) ?? '']: 100 });
      expect(application.versions.map(({ version }) => version)).toEqual(expect.arrayContaining(answered));
      for (const { source } of application.versions) {
        if (source.kind !== 'payload') return expect.unreachable('a folder');
        const files = path.join(directory, 'payloads/default', source.digest);
        const limits = { files: 1_000, bytes: 10_000_000 };
        expect(await hashFolder(files, { limits })).toMatchObject({ sha256: source.digest, bytes: source.bytes });
      }
    }));
});

/** Enough files to be killed among. */
function manyFiles(seed: number): Files {
  return Object.fromEntries(Array.from({ length: 200 }, (_, n) => [`data/${n}.txt`, `${seed} ${n} `.repeat(100)]));
}
