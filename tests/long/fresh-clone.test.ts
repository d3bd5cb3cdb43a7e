import { execFileSync } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Child, eventually } from '@drover/testkit';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { root } from '../architecture/workspace.js';
import { childrenOf, plainEnvironment, processesOf } from '../support/platform.js';

/** Sends a signal as a service manager, a CI runner or a user does; `npm` is the process that runs `npm start`. */
type Stop = (npm: number) => void;

const toNpm =
  (signal: NodeJS.Signals): Stop =>
  (npm) =>
    process.kill(npm, signal);
const toGroup =
  (signal: NodeJS.Signals): Stop =>
  (npm) =>
    process.kill(-npm, signal);
/** The process that npm started: node, or the shell that runs it. */
const toChild =
  (signal: NodeJS.Signals): Stop =>
  (npm) => {
    for (const pid of childrenOf(npm)) process.kill(pid, signal);
  };

describe('the first command of the README', () => {
  let place = '';
  let clone = '';
  let started: Child[] = [];

  beforeAll(async () => {
    place = await mkdtemp(path.join(tmpdir(), 'drover-clone-'));
    await chmod(place, 0o711); // as root, PostgreSQL runs as another user, which must be able to reach its directory
    clone = path.join(place, 'drover');
    await mkdir(path.join(place, 'home'));
    execFileSync('git', ['clone', '--quiet', '--no-hardlinks', root, clone]);
  }, 120_000);

  // What a failed test leaves running, a build even, would fail the next ones.
  afterEach(async () => {
    for (const child of started) await child.end();
    started = [];
  });

  afterAll(async () => {
    await rm(place, { recursive: true, force: true });
  }, 120_000);

  function run(command: string, args: readonly string[]): Child {
    // Port 7070 may be in use where tests run.
    const env = plainEnvironment({ HOME: path.join(place, 'home'), DROVER_PORT: '0' });
    const child = new Child(command, args, { cwd: clone, env });
    started = [...started, child];
    return child;
  }

  /** All that npm started has the programs of the clone in its PATH. */
  const left = (): number[] => processesOf(`${clone}/`);

  it('brings the platform up from a fresh clone in an empty home, with functions to call', async () => {
    const [, command = ''] = /```sh\n(.+)\n```/.exec(await readFile(path.join(clone, 'README.md'), 'utf8')) ?? [];
    const up = run('sh', ['-c', command]);
    const url = (await up.line(/^Drover is up: /, 600_000)).replace('Drover is up: ', '');
    expect((await fetch(`${url}/readyz`)).status).toBe(200);
    expect(await (await fetch(`${url}/api/hello/you`)).json()).toEqual({ hello: 'you' });
    process.kill(-up.pid, 'SIGINT'); // Ctrl-C reaches the whole foreground group
    await up.exited;
    expect(left()).toEqual([]);
  }, 660_000);

  it.each<[string, Stop]>([
    ['SIGTERM to npm', toNpm('SIGTERM')],
    ['SIGINT to npm', toNpm('SIGINT')],
    ['SIGHUP to npm', toNpm('SIGHUP')],
    ['kill -9 of npm', toNpm('SIGKILL')],
    ['SIGTERM to what npm started', toChild('SIGTERM')],
    ['SIGHUP to what npm started', toChild('SIGHUP')],
    ['SIGTERM to the whole group', toGroup('SIGTERM')],
    ['SIGHUP to the whole group', toGroup('SIGHUP')],
  ])('stops in order after %s, and leaves nothing running', async (_, stop) => {
    const npm = run('npm', ['start']);
    await npm.line(/^Drover is up: /, 240_000);
    await npm.line(/drover up is ready/);
    stop(npm.pid);
    await npm.line(/drover up is stopped/);
    await eventually(() => expect(left()).toEqual([]));
    const said = npm.output;
    expect(said).toContain('drover up is draining');
    expect(said).not.toContain('drain ended before');
    expect(said.indexOf('platform is stopped')).toBeLessThan(said.indexOf('PostgreSQL stopped'));
  });

  it('stops a build that is under way when npm is killed, and starts nothing after it', async () => {
    execFileSync('npm', ['run', '--silent', 'clean'], { cwd: clone, env: plainEnvironment({ HOME: place }) });
    const npm = run('npm', ['start']);
    await eventually(() => processesOf('bin/tsc').some((pid) => left().includes(pid)));
    npm.kill('SIGKILL');
    await eventually(() => expect(left()).toEqual([]));
    expect(npm.output).not.toContain('Drover is up');
  });
});
