import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import path from 'node:path';
import { Database } from '@drover/database';
import { Secret, systemClock, systemRandomness } from '@drover/service-kit';
import { Child } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import {
  drover,
  plainEnvironment,
  processesOf,
  startPlatform,
  startUp,
  withDataDirectory,
} from '../support/platform.js';
import { sharedPlatform } from '../support/shared-platform.js';

/** Waits for a `drover up` that must not start; returns what it printed, without the JSON around the messages of its log. */
async function refusal(up: Child): Promise<string> {
  const { code } = await up.exited;
  expect(code).not.toBe(0);
  expect(up.stdout).toEqual([]);
  return up.stderr
    .map((line) => (line.startsWith('{') ? String((JSON.parse(line) as { msg: unknown }).msg) : line))
    .join('\n');
}

const isRoot = process.getuid?.() === 0;

/** Runs `drover up` as an ordinary user, also when the tests run as root. */
function startUpAsOrdinaryUser(directory: string): Child {
  return new Child(process.execPath, [drover, 'up', '--data-dir', directory, '--port', '0'], {
    env: plainEnvironment(),
    ...(isRoot && { uid: 65_534, gid: 65_534 }),
  });
}

describe('drover up says what is wrong and what to do', () => {
  /** One platform that runs well, for mistakes that need another one. */
  const host = sharedPlatform(async (directory, started) => {
    const platform = await startPlatform(directory);
    started(platform.up);
    return { ...platform, directory, databaseUrl: await readFile(`${directory}/database-url`, 'utf8') };
  });

  it('when the port is taken', () =>
    withDataDirectory(async (directory) => {
      const squatter = createServer().listen(0, '127.0.0.1');
      await new Promise((resolve) => squatter.once('listening', resolve));
      const { port } = squatter.address() as AddressInfo;
      const message = await refusal(startUp(directory, { args: ['--port', String(port)] }));
      squatter.close();
      expect(message).toContain(`Port ${port} on 127.0.0.1 is in use`);
      expect(message).toContain('--port');
      expect(processesOf(directory)).toEqual([]);
    }));

  it('when the data directory is not writable', () =>
    withDataDirectory(async (directory) => {
      await mkdir(directory, { mode: 0o555 });
      const message = await refusal(startUpAsOrdinaryUser(path.join(directory, 'below')));
      expect(message).toContain(`The data directory ${path.join(directory, 'below')} cannot be used`);
      expect(message).toContain('--data-dir');
    }));

  it('when the data directory is a file', () =>
    withDataDirectory(async (directory) => {
      await writeFile(directory, 'not a directory');
      const message = await refusal(startUp(directory));
      expect(message).toMatch(/The data directory .* cannot be used: .* is a file/);
    }));

  it('when DATABASE_URL is wrong in one way or another', () =>
    withDataDirectory(async (directory) => {
      const good = host().databaseUrl;
      const attempt = (url: string): Promise<string> =>
        refusal(startUp(`${directory}/guest`, { env: { DATABASE_URL: url } }));
      const changed = (change: (url: URL) => void): string => {
        const url = new URL(good);
        change(url);
        return url.href;
      };
      expect(await attempt('mysql://nobody@localhost/x')).toContain('DATABASE_URL begins with mysql://');
      expect(await attempt('postgres://nobody@127.0.0.1:1/x')).toContain('PostgreSQL at 127.0.0.1:1/x is unavailable');
      const denied = await attempt(changed((url) => (url.password = 'wrong-one')));
      expect(denied).toContain('password authentication failed');
      expect(denied).not.toContain('wrong-one');
      expect(await attempt(changed((url) => (url.pathname = '/not_there')))).toContain(
        'database "not_there" does not exist',
      );
    }));

  it('when the database was used by a newer release', () =>
    withDataDirectory(async (directory) => {
      const url = host().databaseUrl;
      const database = new Database({
        url: new Secret(url),
        applicationName: 'test',
        clock: systemClock,
        randomness: systemRandomness,
        observe: () => undefined,
      });
      await database.query(
        `insert into drover.migrations (component, number, name, checksum, applied_by) values ('control-plane', 999, 'future', 'x', '99.0.0')`,
      );
      await database.stop();
      const message = await refusal(startUp(`${directory}/guest`, { env: { DATABASE_URL: url } }));
      expect(message).toContain('schema 999 of control-plane, written by Drover 99.0.0');
      expect(message).toContain('Run Drover 99.0.0 or newer');
    }));

  it('when the configuration has five mistakes: all five at once, before anything starts', () =>
    withDataDirectory(async (directory) => {
      const up = startUp(directory, {
        env: {
          DATABASE_URL: 'nonsense',
          DROVER_LOG_LEVEL: 'loud',
          DROVER_DATABASE_POOL_SIZE: 'many',
          DROVER_DRAIN_TIMEOUT_MS: '-5',
          OTEL_EXPORTER_OTLP_ENDPOINT: 'ftp://collector',
        },
      });
      expect((await up.exited).code).toBe(78);
      const message = up.stderr.join('\n');
      expect(message).toContain('5 problems');
      for (const name of [
        'DATABASE_URL',
        'DROVER_LOG_LEVEL',
        'DROVER_DATABASE_POOL_SIZE',
        'DROVER_DRAIN_TIMEOUT_MS',
        'OTEL_EXPORTER_OTLP_ENDPOINT',
      ]) {
        expect(message).toContain(name);
      }
      expect(processesOf(directory)).toEqual([]);
    }));

  it('when the data directory is in use by another one, which goes on undisturbed', async () => {
    const { up, client, directory } = host();
    const message = await refusal(startUp(directory));
    expect(message).toContain(`${directory} is in use by another "drover up" (pid ${up.pid})`);
    expect(await client.getReadiness()).toMatchObject({ status: 'ready' });
  });

  it('when two start in one moment: exactly one comes up', () =>
    withDataDirectory(async (directory, started) => {
      const racers = Array.from({ length: 3 }, () => started(startUp(directory, { args: ['--json'] })));
      const outcomes = await Promise.all(
        racers.map((racer) =>
          racer.line(/"event":"ready"/).then(
            () => 'ready',
            () => 'refused',
          ),
        ),
      );
      expect(outcomes.toSorted()).toEqual(['ready', 'refused', 'refused']);
      const losers = racers.filter((_, index) => outcomes[index] === 'refused');
      for (const loser of losers) expect(loser.stderr.join('\n')).toContain('is in use by another');
    }));
});
