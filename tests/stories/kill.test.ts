import { hasCode } from '@drover/contracts';
import { eventually, isAlive } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { app, workersOf } from '../support/functions.js';
import {
  clientOf,
  leashOf,
  processesOf,
  readyLine,
  startPlatform,
  startUp,
  withDataDirectory,
  type Platform,
} from '../support/platform.js';

/** Makes a key: something that must not be lost once it was answered. */
async function makeKey({ client }: Platform, name: string): Promise<string> {
  return (await client.createApiKey({ body: { name, scopes: ['control:read'] } })).key.id;
}

async function keyIds({ ready }: Platform): Promise<string[]> {
  const client = await clientOf(ready);
  return (await client.listApiKeys({ query: { limit: 200 } })).keys.map(({ id }) => id);
}

describe('SIGTERM to all processes at once, as a service manager sends it', () => {
  it('stops each of them in order, and finishes what runs', () =>
    withDataDirectory(async (directory, started) => {
      const platform = await startPlatform(directory, { env: { DROVER_FUNCTIONS_APPS: app('busy') } });
      started(platform.up);
      const slow = fetch(`${platform.ready.urls.public}/api/slow/2000`);
      await platform.up.line(/slow begins/);
      const pids = new Set([
        platform.up.pid,
        ...Object.values(platform.ready.pids),
        ...processesOf(directory),
        ...workersOf(platform.up),
      ]);
      // A backend of PostgreSQL may have ended since it was listed.
      for (const pid of pids) if (isAlive(pid)) process.kill(pid, 'SIGTERM');
      expect((await slow).status).toBe(200);
      expect(await platform.up.exited).toEqual({ code: 0, signal: null });
      expect(processesOf(directory)).toEqual([]);
      expect(platform.up.stderr.join('\n')).not.toContain('drain ended before');
    }));
});

describe('kill -9', () => {
  it('of the platform process: it is back on the same port with everything that was answered', () =>
    withDataDirectory(async (directory, started) => {
      const platform = await startPlatform(directory);
      started(platform.up);
      for (let round = 1; round <= 3; round += 1) {
        const key = await makeKey(platform, `before kill ${round}`);
        const [pid] = processesOf(`${directory}/credentials.json`);
        if (pid === undefined) return expect.unreachable('no platform process');
        process.kill(pid, 'SIGKILL');
        await eventually(() => !isAlive(pid));
        await eventually(async () => expect(await keyIds(platform)).toContain(key));
      }
      expect(platform.up.stderr.join('\n')).toContain('platform exited (SIGKILL) and restarts');
    }));

  it('of the platform process during its first start: it is started again, and the platform comes up', () =>
    withDataDirectory(async (directory, started) => {
      const up = started(startUp(directory, { args: ['--json'] }));
      for (let round = 1; round <= 2; round += 1) {
        const [pid = Number.NaN] = await eventually(() => {
          const found = processesOf(`${directory}/credentials.json`);
          expect(found).toHaveLength(1);
          return found;
        });
        process.kill(pid, 'SIGKILL');
        await eventually(() => !isAlive(pid));
      }
      const client = await clientOf(await readyLine(up));
      expect(await client.getReadiness()).toMatchObject({ status: 'ready' });
      expect(up.stderr.join('\n')).toContain('platform exited (it exited with SIGKILL) and restarts');
    }));

  it('of PostgreSQL: it is back with everything that was answered, the platform lives on and says so meanwhile', () =>
    withDataDirectory(async (directory, started) => {
      const platform = await startPlatform(directory);
      started(platform.up);
      const key = await makeKey(platform, 'before kill');
      process.kill(platform.ready.pids.postgres ?? Number.NaN, 'SIGKILL');
      const failures: unknown[] = [];
      await eventually(async () => {
        const ids = await keyIds(platform).catch((error: unknown) => {
          failures.push(error);
          throw error;
        });
        expect(ids).toContain(key);
      });
      for (const failure of failures) expect(hasCode(failure, 'DATABASE_UNAVAILABLE')).toBe(true);
      await eventually(() => makeKey(platform, 'after kill'));
      expect(isAlive(platform.ready.pids.platform)).toBe(true);
      await eventually(async () => expect(await platform.client.getReadiness()).toMatchObject({ status: 'ready' }));
    }));

  it('of drover up itself: no process outlives it, and the next one finds everything', () =>
    withDataDirectory(async (directory, started) => {
      const platform = await startPlatform(directory);
      started(platform.up);
      const leash = leashOf(platform.up);
      const key = await makeKey(platform, 'before kill');
      platform.up.kill('SIGKILL');
      await eventually(() => expect(processesOf(directory)).toEqual([]));
      await eventually(() => !isAlive(leash));
      const next = await startPlatform(directory);
      started(next.up);
      expect(await keyIds(next)).toContain(key);
    }));

  it('of its leash, and then of drover up: there was a new leash in time', () =>
    withDataDirectory(async (directory, started) => {
      const platform = await startPlatform(directory);
      started(platform.up);
      const first = leashOf(platform.up);
      process.kill(first, 'SIGKILL');
      await eventually(() => leashOf(platform.up) !== first);
      platform.up.kill('SIGKILL');
      await eventually(() => expect(processesOf(directory)).toEqual([]));
    }));

  it('of drover up and its leash in one moment: the next drover up takes over what is left', () =>
    withDataDirectory(async (directory, started) => {
      const platform = await startPlatform(directory);
      started(platform.up);
      const key = await makeKey(platform, 'before kill');
      const leash = leashOf(platform.up);
      process.kill(platform.up.pid, 'SIGSTOP'); // so that it cannot replace the leash in between
      process.kill(leash, 'SIGKILL');
      process.kill(platform.up.pid, 'SIGKILL');
      await eventually(() => !isAlive(platform.ready.pids.platform));
      const next = await startPlatform(directory);
      started(next.up);
      expect(await keyIds(next)).toContain(key);
      expect(next.ready.pids.postgres).not.toBe(platform.ready.pids.postgres);
      expect(isAlive(platform.ready.pids.postgres ?? 0)).toBe(false);
    }));
});
