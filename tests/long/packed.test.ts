import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { chmod, cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Child, eventually } from '@drover/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { root } from '../architecture/workspace.js';
import { commandBlocks } from '../docs/command-blocks.js';
import { helloApp } from '../support/functions.js';
import { plainEnvironment, processesOf } from '../support/platform.js';

/** The commands that README.md gives for use outside the repository: pack, then install and start. */
const [pack = '', start = ''] = commandBlocks('README.md', readFileSync(path.join(root, 'README.md'), 'utf8')).flatMap(
  ({ mark, commands }) => (mark.kind === 'run by' && mark.file === 'tests/long/packed.test.ts' ? [commands] : []),
);

describe('the packages outside the repository', () => {
  let place = '';
  let folder = '';
  let up: Child | undefined;

  beforeAll(async () => {
    place = await mkdtemp(path.join(tmpdir(), 'drover-packed-'));
    await chmod(place, 0o711); // as root, PostgreSQL runs as another user, which must be able to reach its directory
    folder = path.join(place, 'folder');
    await mkdir(folder);
  });
  afterAll(async () => {
    await up?.end();
    await rm(place, { recursive: true, force: true });
  }, 120_000);

  const adapt = (commands: string): string => commands.replaceAll('/tmp/drover', path.join(place, 'packages'));
  const env = (): NodeJS.ProcessEnv =>
    // What the cache has needs no registry.
    plainEnvironment({ DROVER_PORT: '0', npm_config_prefer_offline: 'true', npm_config_audit: 'false' });

  it('are packed, installed in an empty folder, and npx drover serves an app there', async () => {
    execFileSync('sh', ['-ec', adapt(pack)], { cwd: root, env: env(), stdio: 'pipe' });
    await writeFile(path.join(folder, 'package.json'), '{ "private": true }');
    await cp(helloApp, path.join(folder, 'app'), { recursive: true });
    const { version } = JSON.parse(
      readFileSync(path.join(root, 'node_modules/@azure/functions/package.json'), 'utf8'),
    ) as { version: string };
    // The app's own dependency, which its author installs.
    execFileSync('npm', ['install', `@azure/functions@${version}`], { cwd: folder, env: env(), stdio: 'pipe' });
    up = new Child('sh', ['-ec', `${adapt(start).trim()} --app app`], { cwd: folder, env: env() });
    const url = (await up.line(/^Drover is up: /, 600_000)).replace('Drover is up: ', '');
    expect(await (await fetch(`${url}/api/hello/you`)).json()).toEqual({ hello: 'you' });
    expect(execFileSync('npx', ['drover', '--version'], { cwd: folder, env: env(), encoding: 'utf8' })).toMatch(/^\d/);
    process.kill(-up.pid, 'SIGTERM');
    await up.exited;
    await eventually(() => expect(processesOf(`${folder}/`)).toEqual([]));
  }, 780_000);
});
