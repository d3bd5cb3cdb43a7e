import { readFile, stat } from 'node:fs/promises';
import { Child, eventually } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { helloApp } from '../support/functions.js';
import {
  drover,
  plainEnvironment,
  processesOf,
  startPlatform,
  startUp,
  withDataDirectory,
} from '../support/platform.js';

describe('drover up', () => {
  it('serves with one command, says how in one line, and after Ctrl-C leaves nothing running and warns of nothing', () =>
    withDataDirectory(async (directory, started) => {
      const { up, ready, client } = await startPlatform(directory, { env: { DROVER_FUNCTIONS_APPS: helloApp } });
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

      const isConnected = (line: string): boolean => line.includes('"kind":"worker.connected"');
      // The worker of the application, and one that waits for the next.
      await eventually(() => up.stderr.filter(isConnected).length >= 2);
      const said = up.stderr.length;
      up.kill('SIGINT');
      expect(await up.exited).toEqual({ code: 0, signal: null });
      expect(processesOf(directory)).toEqual([]);
      const warnings = up.stderr.slice(said).filter((line) => /"level":"(warn|error|fatal)"/.test(line));
      expect(warnings).toEqual([]);
      const order = up.stderr.map((line) => (JSON.parse(line) as { msg: string }).msg).join('\n');
      expect(order.indexOf('platform is stopped')).toBeGreaterThan(0);
      expect(order.indexOf('platform is stopped')).toBeLessThan(order.indexOf('PostgreSQL stopped'));
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
});
