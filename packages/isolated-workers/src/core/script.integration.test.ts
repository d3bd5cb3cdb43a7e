import { existsSync } from 'node:fs';
import { execFile } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { withScratchDirectory } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { UnsupportedOptionError } from '../types/errors.js';
import { drivers, failureOf, fixture, workerBench } from './test-bench.test.fixture.js';

const { open } = workerBench();
const stripsTypes = 'typescript' in process.features && Boolean(process.features.typescript);

/** Installs a stand-in for tsx and returns its main module. As the real one on Node 20, that does nothing in a thread. */
async function installTsx(directory: string): Promise<string> {
  const folder = path.join(directory, 'node_modules', 'tsx');
  await mkdir(folder, { recursive: true });
  const loader = await readFile(fixture('strip-types.mjs'), 'utf8');
  const files = {
    'strip-types.mjs': loader,
    'loader.mjs':
      "import { isMainThread } from 'node:worker_threads';\nconst own = './strip-types.mjs';\nif (isMainThread) await import(own);",
    'api.mjs': loader
      .replace('{ register }', '{ register as add }')
      .replace('\nregister(', '\nexport const register = () => add('),
    'api.cjs': "throw new Error('it does not find its own files')",
    'package.json': JSON.stringify({
      name: 'tsx',
      exports: {
        '.': './loader.mjs',
        './package.json': './package.json',
        './esm/api': { import: { types: './api.d.mts', default: './api.mjs' }, require: { default: './api.cjs' } },
      },
    }),
  };
  for (const [name, content] of Object.entries(files)) await writeFile(path.join(folder, name), content);
  return path.join(folder, 'loader.mjs');
}

describe.each(drivers)('$name: a script', ({ driver }) => {
  it('may be a path, a URL relative to import.meta or a file: URL, and CommonJS', async () => {
    for (const script of [
      path.relative(process.cwd(), fixture('worker.mjs')),
      new URL('../../fixtures/worker.mjs', import.meta.url),
      new URL('../../fixtures/worker.cjs', import.meta.url).href,
    ]) {
      const worker = await open({ script, driver });
      expect(await worker.send('echo', 1)).toBe(1);
    }
  });

  it('has its time to start although the host is busy for longer', async () => {
    await withScratchDirectory(async (directory) => {
      const flag = path.join(directory, 'ready');
      const opening = open({ script: fixture('tells-when-ready.mjs'), argv: [flag], driver, timeout: { startup: 20 } });
      const sleeper = new Int32Array(new SharedArrayBuffer(4));
      const untilMs = performance.now() + 40;
      while (!existsSync(flag) || performance.now() < untilMs) Atomics.wait(sleeper, 0, 0, 2); // blocks this event loop
      const worker = await opening;
      expect(await worker.send('echo', 1)).toBe(1);
    });
  });

  it('may be TypeScript with a loader of the user', async () => {
    const worker = await open({
      script: fixture('worker.ts'),
      driver,
      execArgv: ['--import', fixture('strip-types.mjs')],
    });
    expect(await worker.send('double', 4)).toBe(8);
  });

  it('may be TypeScript where tsx is installed beside it, or named by a flag', async () => {
    await withScratchDirectory(async (directory) => {
      const tsx = await installTsx(path.join(directory, 'app'));
      await mkdir(path.join(directory, 'elsewhere'));
      const library = new URL('../../dist/worker.js', import.meta.url).href;
      const text = (await readFile(fixture('worker.ts'), 'utf8')).replace('../dist/worker.js', library);
      for (const [folder, options] of [
        ['app', {}],
        ['elsewhere', { execArgv: ['--import', tsx] }],
      ] as const) {
        const script = path.join(directory, folder, 'worker # 1.ts'); // which a URL would take for something else
        await writeFile(script, text);
        const worker = await open({ script, driver, ...options });
        expect(await worker.send('double', 4)).toBe(8);
      }
    });
  });

  it('in TypeScript is refused where nothing can run it, with what to do', async () => {
    const started = open({ script: fixture('worker.ts'), driver, execArgv: [] });
    if (stripsTypes) return expect(await (await started).send('double', 4)).toBe(8);
    const error = await failureOf(started);
    expect(error).toBeInstanceOf(UnsupportedOptionError);
    expect(error.message).toMatch(/cannot run .*worker\.ts\. Install tsx beside it/);
  });

  it('that is not a script is refused', async () => {
    const error = await failureOf(open({ script: fileURLToPath(new URL('../../README.md', import.meta.url)), driver }));
    expect(error).toBeInstanceOf(UnsupportedOptionError);
    expect(error.message).toContain('must end in .js');
  });
});

it('a thread starts under a host that has flags for V8, was given with -e or comes from stdin', async () => {
  const file = fixture('thread-host.mjs');
  const text = `import ${JSON.stringify(pathToFileURL(file).href)};`;
  const commands: readonly (readonly [flags: readonly string[], input: string])[] = [
    [['--max-semi-space-size=16', '--stack-size=900', file], ''],
    [['--max-semi-space-size=16', '--input-type=module', '-e', text], ''],
    [['--input-type', 'module', '-'], text],
  ];
  await Promise.all(
    commands.map(async ([flags, input]) => {
      const host = promisify(execFile)(process.execPath, flags);
      host.child.stdin?.end(input);
      expect((await host).stdout).toContain('fine');
    }),
  );
});
