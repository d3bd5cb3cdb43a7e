import { execFileSync } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Child } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { root } from '../architecture/workspace.js';
import { plainEnvironment, processesOf } from '../support/platform.js';

describe('the first command of the README', () => {
  it('brings the platform up from a fresh clone in an empty home', async () => {
    const place = await mkdtemp(path.join(tmpdir(), 'drover-clone-'));
    await chmod(place, 0o711); // as root, PostgreSQL runs as another user, which must be able to reach its directory
    const clone = path.join(place, 'drover');
    const home = path.join(place, 'home');
    await mkdir(home);
    execFileSync('git', ['clone', '--quiet', '--no-hardlinks', root, clone]);
    const [, command = ''] = /```sh\n(.+)\n```/.exec(await readFile(path.join(clone, 'README.md'), 'utf8')) ?? [];
    const up = new Child('sh', ['-c', command], {
      cwd: clone,
      // Port 7070 may be in use where tests run.
      env: plainEnvironment({ HOME: home, DROVER_PORT: '0' }),
    });
    try {
      const line = await up.line(/^Drover is up: /, 300_000);
      const url = line.replace('Drover is up: ', '');
      expect((await fetch(`${url}/readyz`)).status).toBe(200);
      process.kill(-up.pid, 'SIGINT'); // Ctrl-C reaches the whole foreground group
      await up.exited;
      expect(processesOf(`${clone}/.drover`)).toEqual([]);
    } finally {
      await up.end();
      await rm(place, { recursive: true, force: true });
    }
  }, 360_000);
});
