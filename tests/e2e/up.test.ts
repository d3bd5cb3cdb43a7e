import { chown, mkdir, readFile, stat } from 'node:fs/promises';
import { Child } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import {
  drover,
  plainEnvironment,
  processesOf,
  readyLine,
  startPlatform,
  startUp,
  withDataDirectory,
} from '../support/platform.js';

describe('drover up', () => {
  it('serves with one command, says how in one line, and leaves nothing running after Ctrl-C', () =>
    withDataDirectory(async (directory, started) => {
      const { up, ready, client } = await startPlatform(directory);
      started(up);
      expect(ready.event).toBe('ready');
      expect(ready.urls.public).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
      expect(ready.pids.platform).toBeGreaterThan(0);
      expect(ready.pids.postgres).toBeGreaterThan(0);
      expect(up.stdout).toHaveLength(1);
      expect((await stat(ready.credentialsFile)).mode & 0o777).toBe(0o600);
      expect(JSON.parse(await readFile(ready.credentialsFile, 'utf8'))).toEqual({
        url: ready.urls.public,
        apiKey: expect.stringMatching(/^drv_[a-f0-9]{16}_[\w-]{43}$/),
      });
      expect(await client.getReadiness()).toEqual({ status: 'ready', problems: {} });
      expect((await client.getStatus()).database.version).toMatch(/^18\./);
      for (const line of up.stderr) expect(JSON.parse(line)).toHaveProperty('msg');

      up.kill('SIGINT');
      expect(await up.exited).toEqual({ code: 0, signal: null });
      expect(processesOf(directory)).toEqual([]);
      const order = up.stderr.map((line) => (JSON.parse(line) as { msg: string }).msg).join('\n');
      expect(order.indexOf('platform is stopped')).toBeGreaterThan(0);
      expect(order.indexOf('platform is stopped')).toBeLessThan(order.indexOf('PostgreSQL stopped'));
    }));

  it('keeps key and data over a restart, and puts no secret on a command line or into an environment', () =>
    withDataDirectory(async (directory, started) => {
      const first = await startPlatform(directory);
      started(first.up);
      const { key } = await first.client.createApiKey({ body: { name: 'kept', scopes: ['control:read'] } });
      const { apiKey } = JSON.parse(await readFile(first.ready.credentialsFile, 'utf8')) as { apiKey: string };
      const password = new URL((await readFile(`${directory}/database-url`, 'utf8')).trim()).password;
      for (const pid of processesOf(directory)) {
        const seen = `${await readFile(`/proc/${pid}/cmdline`, 'utf8')}${await readFile(`/proc/${pid}/environ`, 'utf8')}`;
        expect(seen).not.toContain(apiKey);
        expect(seen).not.toContain(password);
      }
      first.up.kill('SIGTERM');
      await first.up.exited;
      expect(first.up.output).not.toContain(apiKey);

      const second = await startPlatform(directory);
      started(second.up);
      const { keys } = await second.client.listApiKeys({ query: {} });
      expect(keys.map(({ id }) => id)).toContain(key.id);
      expect((JSON.parse(await readFile(second.ready.credentialsFile, 'utf8')) as { apiKey: string }).apiKey).toBe(
        apiKey,
      );
    }));

  it('tells people what to open and what to try, and that works', () =>
    withDataDirectory(async (directory, started) => {
      const up = started(startUp(directory));
      const line = await up.line(/^Drover is up: /);
      const url = line.replace('Drover is up: ', '');
      await up.line(/Press Ctrl-C to stop/);
      expect(up.stderr.join('\n')).toMatch(/^\d\d:\d\d:\d\d\.\d{3} up +a new database is being created/m);
      expect(up.stderr.join('\n')).not.toMatch(/partition|replica|schema/);
      expect((await fetch(`${url}/openapi.json`)).status).toBe(200);
      const keys = new Child(process.execPath, [drover, 'keys', 'create', 'my-first-key', '--data-dir', directory], {
        env: plainEnvironment(),
      });
      expect(await keys.exited).toEqual({ code: 0, signal: null });
      expect(keys.stdout.join('')).toMatch(/^drv_/);
    }));

  it('uses the PostgreSQL that DATABASE_URL names and starts none of its own', () =>
    withDataDirectory(async (directory, started) => {
      const host = await startPlatform(`${directory}/one`);
      started(host.up);
      const url = await readFile(`${directory}/one/database-url`, 'utf8');
      const guest = await startPlatform(`${directory}/two`, { env: { DATABASE_URL: url } });
      started(guest.up);
      expect(guest.ready.pids).toEqual({ platform: expect.any(Number), 'runtime-1': expect.any(Number) });
      expect((await guest.client.getStatus()).database.version).toMatch(/^18\./);
    }));

  it.skipIf(process.getuid?.() !== 0)('runs as an ordinary user just as well as root', () =>
    withDataDirectory(async (directory, started) => {
      const nobody = { uid: 65_534, gid: 65_534 };
      await mkdir(directory);
      await chown(directory, nobody.uid, nobody.gid);
      const up = started(
        new Child(process.execPath, [drover, 'up', '--json', '--port', '0', '--data-dir', directory], {
          env: plainEnvironment({ HOME: directory }),
          ...nobody,
        }),
      );
      const { pids } = await readyLine(up);
      for (const pid of Object.values(pids)) expect((await stat(`/proc/${pid}`)).uid).toBe(nobody.uid);
    }),
  );
});
