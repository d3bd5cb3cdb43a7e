import { mkdir, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { withScratchDirectory } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { codeVersion } from './code-version.js';
import { readApplication } from './read-application.js';
import { readFunctionJsons } from './read-function-jsons.js';
import { explainNoFunctions } from './why-no-functions.js';

async function withApp<T>(files: Readonly<Record<string, string | object>>, use: (directory: string) => Promise<T>) {
  return withScratchDirectory(async (directory) => {
    for (const [name, content] of Object.entries(files)) {
      await mkdir(path.dirname(path.join(directory, name)), { recursive: true });
      await writeFile(path.join(directory, name), typeof content === 'string' ? content : JSON.stringify(content));
    }
    return use(directory);
  });
}
const bindings = [{ name: 'req', type: 'httpTrigger', direction: 'in' }];

describe('readApplication', () => {
  it('reads host.json under what local settings and the environment say', async () => {
    const files = {
      'host.json': { version: '2.0', extensions: { http: { routePrefix: 'v1' } } },
      'local.settings.json': {
        Values: { A: 'file', B: 'file', AzureFunctionsJobHost__functionTimeout: '00:01:00' },
        Host: { CORS: '*' },
      },
    };
    await withApp(files, async (directory) => {
      const app = await readApplication(directory, { A: 'env' });
      expect(app.problems).toEqual([]);
      expect(app.hostJson).toMatchObject({ functionTimeoutMs: 60_000, extensions: { http: { routePrefix: 'v1' } } });
      expect([app.settings.get('A'), app.settings.get('B')]).toEqual(['env', 'file']);
      expect(app.local.cors).toEqual({ origins: ['*'], allowsCredentials: false });
    });
  });

  it('says what is wrong and does not throw', async () => {
    await withApp({ 'host.json': '{', 'local.settings.json/x': '' }, async (directory) => {
      const { problems } = await readApplication(directory, {});
      expect(problems.map(({ file }) => file)).toEqual(['local.settings.json', 'host.json']);
    });
  });

  it.each<[Record<string, string>, boolean]>([
    [{}, true],
    [{ AzureWebJobsStorage: ' ' }, true],
    [{ azurewebjobsstorage: 'UseDevelopmentStorage=true' }, false],
    [{ AzureWebJobsStorage__accountName: 'shop' }, false],
    [{ 'AzureWebJobsStorage:accountName': 'shop' }, false],
  ])('gives an app with the settings %j the storage of this machine if it has none: %s', (Values, isDefault) =>
    withApp({ 'host.json': { version: '2.0' }, 'local.settings.json': { Values } }, async (directory) => {
      const app = await readApplication(directory, {}, { hasDevelopmentStorage: true });
      expect(app.defaultSettings).toEqual(isDefault ? ['AzureWebJobsStorage'] : []);
      if (isDefault) expect(app.settings.get('AzureWebJobsStorage')).toBe('UseDevelopmentStorage=true');
      const without = await readApplication(directory, {});
      expect([without.defaultSettings, without.settings.toEnvironment()]).toEqual([[], Values]);
    }),
  );

  it('throws where there is no directory', async () => {
    await expect(readApplication('/nowhere/at/all', {})).rejects.toMatchObject({ code: 'APPLICATION_UNREADABLE' });
  });
});

describe('readFunctionJsons', () => {
  it('finds every folder with a function.json, with its script', async () => {
    const files = {
      'named/function.json': { bindings, scriptFile: '../dist/named.js', entryPoint: 'run', disabled: 'OFF' },
      'dist/named.js': '',
      'alone/function.json': '{ "bindings": [], /* none */ }',
      'alone/whatever.js': '',
      'usual/function.json': {
        bindings,
        retry: { strategy: 'fixedDelay', maxRetryCount: 2, delayInterval: '00:00:01.5' },
      },
      'usual/helper.js': '',
      'usual/index.mjs': '',
      'left-out/function.json': { bindings, excluded: true },
      'no-function/index.js': '',
      'node_modules/x/function.json': '{',
      '.hidden/function.json': '{',
    };
    await withApp(files, async (directory) => {
      const { functions, problems } = await readFunctionJsons(directory);
      expect(problems).toEqual([]);
      expect(
        functions.map(({ metadata, file }) => [metadata.name, path.relative(directory, metadata.scriptFile), file]),
      ).toEqual([
        ['alone', 'alone/whatever.js', 'alone/function.json'],
        ['named', 'dist/named.js', 'named/function.json'],
        ['usual', 'usual/index.mjs', 'usual/function.json'],
      ]);
      expect(functions[1]).toMatchObject({
        disabled: 'OFF',
        metadata: { entryPoint: 'run', functionId: 'named', bindings: { req: { type: 'httpTrigger', direction: 0 } } },
      });
      expect(functions[2]?.metadata.retryOptions).toEqual({
        maxRetryCount: 2,
        retryStrategy: 1,
        delayInterval: { seconds: 1, nanos: 500_000_000 },
      });
    });
  });

  it.each([
    ['{ "bindings": [', 'is not valid JSON'],
    ['[]', 'must be an object'],
    ['{}', 'has no list of bindings'],
    [{ bindings, scriptFile: 'gone.js' }, 'scriptFile "gone.js" does not exist'],
    [{ bindings, scriptFile: '../../../etc/passwd' }, 'is outside of the app'],
    [{ bindings }, 'has no script in its folder'],
    [{ bindings, scriptFile: 5 }, 'must be a string'],
    [{ bindings, scriptFile: 'a.js', disabled: 5 }, '"disabled" must be'],
    [{ bindings, scriptFile: 'a.js', retry: { strategy: 'fixedDelay', maxRetryCount: 1 } }, 'retry.delayInterval'],
  ])('reports %j with file and function', async (content, problem) => {
    await withApp({ 'bad/function.json': content, 'bad/a.js': '', 'bad/b.js': '' }, async (directory) => {
      const { functions, problems } = await readFunctionJsons(directory);
      expect(functions).toEqual([]);
      expect(problems).toEqual([
        { functionName: 'bad', file: 'bad/function.json', problem: expect.stringContaining(problem) },
      ]);
    });
  });
});

describe('codeVersion', () => {
  const app = {
    'src/a.js': 'a',
    'package.json': '{}',
    'node_modules/.package-lock.json': '1',
    'node_modules/x/x.js': '',
  };
  const versionOf = (files: Record<string, string>) => withApp(files, (directory) => codeVersion(directory));

  it('is the same for the same files, wherever they lie', async () => {
    expect(await versionOf(app)).toBe(await versionOf({ ...app }));
    expect(await versionOf(app)).toMatch(/^c[0-9a-f]{16}$/);
  });

  it('changes with content, names and what is installed, but not with configuration', async () => {
    const version = await versionOf(app);
    const same = [
      { ...app, 'host.json': '{}', 'local.settings.json': '{}' },
      { ...app, 'node_modules/x/x.js': 'changed' },
    ];
    for (const files of same) expect(await versionOf(files)).toBe(version);
    const { 'src/a.js': a, ...rest } = app;
    const other = [
      { ...app, 'src/a.js': 'b' },
      { ...rest, 'src/b.js': a },
      { ...app, 'node_modules/.package-lock.json': '2' },
      { ...app, 'src/host.json': '' },
    ];
    for (const files of other) expect(await versionOf(files)).not.toBe(version);
  });

  it('does not follow links and has a bound', async () => {
    await withApp(app, async (directory) => {
      await symlink('/', path.join(directory, 'everything'));
      expect(await codeVersion(directory)).not.toBe(await versionOf(app));
      await expect(codeVersion(directory, { files: 2, bytes: 100 })).rejects.toThrow('more than 2 files');
      await expect(codeVersion(directory, { files: 9, bytes: 3 })).rejects.toMatchObject({
        code: 'APPLICATION_TOO_LARGE',
      });
    });
  });
});

describe('explainNoFunctions', () => {
  it.each([
    [{}, 'neither a package.json'],
    [{ 'package.json': '{' }, 'package.json is not valid JSON'],
    [{ 'package.json': '{}' }, 'has no "main"'],
    [{ 'package.json': '{"main":"dist/index.js"}' }, 'dist/index.js, which does not exist; build the app first'],
    [{ 'package.json': '{"main":"dist/*.js"}' }, 'may match no file'],
    [{ 'package.json': '{"main":"index"}', 'index.js': '' }, 'nothing it loads calls app.http'],
  ])('always has a reason: %j', async (files, reason) => {
    await withApp(files, async (directory) => {
      expect(await explainNoFunctions(directory)).toContain(reason);
    });
  });
});
