import { cp, readFile, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { eventually, withScratchDirectory } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { root } from '../architecture/workspace.js';
import { app, Load, withRuntime } from '../support/functions.js';

/** A copy of an app that a test may change. */
async function withCopy(name: string, use: (directory: string) => Promise<void>): Promise<void> {
  await withScratchDirectory(async (scratch) => {
    const directory = path.join(scratch, name);
    await cp(app(name), directory, { recursive: true });
    await symlink(path.join(root, 'node_modules'), path.join(scratch, 'node_modules'));
    await use(directory);
  });
}

async function change(file: string, from: string, to: string): Promise<void> {
  const text = await readFile(file, 'utf8');
  expect(text).toContain(from);
  await writeFile(file, text.replace(from, to));
}

describe('hot reload', () => {
  it('deploys an app anew when its files change, and no request under load fails', () =>
    withCopy('reloaded', (directory) =>
      withRuntime({ apps: [directory], args: ['--hot-reload'] }, async (runtime) => {
        const file = path.join(directory, 'index.js');
        const load = new Load(() => runtime.call('/api/version'), { atOnce: 8 });
        const answering = (version: string): Promise<unknown> =>
          eventually(() => expect(load.answers.at(-1)?.text).toBe(version));
        await answering('one');

        // The code alone, twice.
        await change(file, "'one'", "'two'");
        await answering('two');
        await change(file, "'two'", "'three'");
        await answering('three');
        // What functions there are, too.
        await change(file, "app.http('version'", "app.http('later', { handler: () => ({}) });\napp.http('version'");
        await eventually(async () => expect((await runtime.call('/api/later')).status).not.toBe(404));
        await eventually(() => expect(runtime.workers).toHaveLength(1));
        await load.stop();

        expect(load.statuses).toEqual([200]);
        const order = load.answers.map(({ text }) => text);
        expect(new Set(order)).toEqual(new Set(['one', 'two', 'three']));
        expect(runtime.log.filter(({ kind }) => kind === 'worker.lost')).toEqual([]);
      }),
    ));

  it('keeps what serves when the new files are broken, says why, and takes the next good ones', () =>
    withCopy('reloaded', (directory) =>
      withRuntime({ apps: [directory], env: { DROVER_HOT_RELOAD: 'on' } }, async (runtime) => {
        const file = path.join(directory, 'index.js');
        const version = async (): Promise<string> => (await runtime.call('/api/version')).text();
        await change(file, "const version = 'one';", "const version = 'one'; nonsense();");
        await eventually(() =>
          expect(runtime.said).toMatch(/reloaded was not reloaded, its old version goes on.*nonsense is not defined/s),
        );
        expect(await version()).toBe('one');
        await change(path.join(directory, 'host.json'), '2.0', '9.0');
        await eventually(() => expect(runtime.said).toMatch(/its old version goes on.*host\.json: .*9\.0/s));
        expect(await version()).toBe('one');
        await change(path.join(directory, 'host.json'), '9.0', '2.0');
        await change(file, "const version = 'one'; nonsense();", "const version = 'two';");
        await eventually(async () => expect(await version()).toBe('two'));
        await eventually(() => expect(runtime.said).toContain('reloaded was reloaded and serves its new version'));
        await eventually(() => expect(runtime.workers).toHaveLength(1)); // none of the broken one, or of the first
      }),
    ));

  it('keeps all functions when one of the files does not load any more', () =>
    withCopy('reloaded', (directory) =>
      withRuntime({ apps: [directory], args: ['--hot-reload'] }, async (runtime) => {
        const later = path.join(directory, 'later.js');
        const register = (name: string): string =>
          `require('@azure/functions').app.http('${name}', { handler: () => ({ body: '${name}' }) });\n`;
        await writeFile(later, register('later'));
        await change(path.join(directory, 'package.json'), '"index.js"', '"*.js"');
        await eventually(async () => expect((await runtime.call('/api/later')).status).toBe(200));
        await writeFile(later, `${register('later')}\nconst = 1;\n`);
        await change(path.join(directory, 'index.js'), "'one'", "'two'");
        await eventually(() =>
          expect(runtime.said).toMatch(/its old version goes on.*would lose later.*\(at later\.js:3\)/s),
        );
        expect(await (await runtime.call('/api/version')).text()).toBe('one');
        expect((await runtime.call('/api/later')).status).toBe(200);
        await writeFile(later, register('last'));
        await eventually(async () => expect((await runtime.call('/api/last')).status).toBe(200));
        expect(await (await runtime.call('/api/version')).text()).toBe('two');
      }),
    ));

  it('takes back a save that was broken, and starts an app that was broken from the start once it is repaired', () =>
    withCopy('reloaded', async (directory) => {
      const file = path.join(directory, 'index.js');
      await change(file, "const version = 'one';", "const version = 'one'; process.exit(3);");
      await withRuntime({ apps: [directory], args: ['--hot-reload'] }, async (runtime) => {
        const version = async (): Promise<string> => (await runtime.call('/api/version')).text();
        await eventually(() => expect(runtime.said).toContain('its function workers end before one is ready'));
        await change(file, ' process.exit(3);', '');
        await eventually(async () => expect(await version()).toBe('one'));
        await change(file, "const version = 'one';", "const version = 'one'; process.exit(3);");
        await eventually(
          () => expect(runtime.said).toMatch(/its old version goes on.*end before one is ready/s),
          30_000,
        );
        await change(file, ' process.exit(3);', '');
        await eventually(() => expect(runtime.said).toContain('was reloaded and serves its new version'));
        expect(await version()).toBe('one');
        await eventually(() => expect(runtime.workers).toHaveLength(1));
      });
    }));
});
