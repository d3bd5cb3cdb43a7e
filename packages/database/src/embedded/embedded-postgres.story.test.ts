import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { hasCode } from '@drover/contracts';
import { eventually, withScratchDirectory } from '@drover/testkit';
import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { isRunning } from './processes.js';
import { ask, OwnerProcess, patience, processesMentioning, trial, withOpenDirectory } from './testing/trial.js';

describe('EmbeddedPostgres', () => {
  it('creates a database once, and starts it again with everything in it', async () => {
    await withOpenDirectory(async (scratch) => {
      const directory = path.join(scratch, 'postgres');
      await using it = trial(directory);
      await it.postgres.start(patience);
      expect(it.kinds()).toEqual(['postgres.creating-cluster', 'postgres.starting', 'postgres.ready']);
      const url = it.postgres.url.reveal();
      await ask(url, 'CREATE TABLE kept AS SELECT 42 AS answer');
      const { pid } = it.postgres;
      await it.postgres.stop();
      expect(isRunning(Number(pid))).toBe(false);
      for (let round = 0; round < 3; round += 1) {
        await it.postgres.start(patience);
        expect(it.postgres.url.reveal()).toBe(url);
        expect(await ask(url, 'SELECT answer FROM kept')).toEqual([{ answer: 42 }]);
        await it.postgres.stop();
      }
      expect(it.kinds().filter((kind) => kind === 'postgres.creating-cluster')).toHaveLength(1);
    });
  });

  it('is set up as documented: UTF-8, checksums, scram for all connections, UTC, durable, no port', async () => {
    await withOpenDirectory(async (scratch) => {
      await using it = trial(path.join(scratch, 'postgres'), { settings: { work_mem: '5MB' } });
      await it.postgres.start(patience);
      const url = it.postgres.url.reveal();
      const rows = await ask(url, 'SELECT name, setting FROM pg_settings');
      const settings = Object.fromEntries(rows.map((row) => [row['name'], row['setting']]));
      expect(settings).toMatchObject({
        server_encoding: 'UTF8',
        data_checksums: 'on',
        fsync: 'on',
        synchronous_commit: 'on',
        autovacuum: 'on',
        jit: 'off',
        TimeZone: 'UTC',
        listen_addresses: '',
        max_connections: '200',
        unix_socket_permissions: '0700',
        work_mem: '5120',
      });
      expect(await ask(url, 'SELECT DISTINCT auth_method FROM pg_hba_file_rules')).toEqual([
        { auth_method: 'scram-sha-256' },
      ]);
      expect(
        await ask(url, `SELECT current_user AS "user", current_database() AS db, upper('ärger') AS upper`),
      ).toEqual([{ user: 'drover', db: 'drover', upper: 'ÄRGER' }]);
    });
  });

  it('keeps the password out of command lines and away from other users, and demands it', async () => {
    await withOpenDirectory(async (scratch) => {
      const directory = path.join(scratch, 'postgres');
      await using it = trial(directory);
      await it.postgres.start(patience);
      const file = path.join(directory, 'password');
      const password = (await readFile(file, 'utf8')).trim();
      expect((await stat(file)).mode & 0o777).toBe(0o600);
      expect(await processesMentioning(password)).toEqual([]);
      expect(JSON.stringify(it.observed)).not.toContain(password);
      expect(String(it.postgres.url)).toBe('[secret]');
      const wrong = it.postgres.url.reveal().replace(password, 'guess');
      await expect(ask(wrong, 'SELECT 1')).rejects.toMatchObject({ code: '28P01' });
      expect((await stat(path.join(directory, 'run'))).mode & 0o777).toBe(0o700);
      expect((await stat(path.join(directory, 'cluster'))).mode & 0o777).toBe(0o700);
    });
  });

  it('leaves nothing but the database, its password and its log after a stop', async () => {
    await withOpenDirectory(async (directory) => {
      await using it = trial(directory);
      await it.postgres.start(patience);
      await it.postgres.drain();
      await Promise.all([it.postgres.stop(), it.postgres.stop()]);
      await it.postgres.stop();
      expect((await readdir(directory)).toSorted()).toEqual(['cluster', 'password', 'server.log']);
      expect(await processesMentioning(directory)).toEqual([]);
      expect(it.postgres.pid).toBeUndefined();
    });
  });

  it('stops while a client is busy', async () => {
    await withOpenDirectory(async (directory) => {
      await using it = trial(directory);
      await it.postgres.start(patience);
      const client = new pg.Client({ connectionString: it.postgres.url.reveal() });
      client.on('error', () => undefined);
      await client.connect();
      const cutOff = client.query('SELECT pg_sleep(600)').catch((error: unknown) => error);
      await it.postgres.stop();
      expect(hasCode(await cutOff, '57P01')).toBe(true);
    });
  });

  it('is back soon after SIGTERM, although a client stays that would let the server wait for ever', async () => {
    await withOpenDirectory(async (directory) => {
      await using it = trial(directory);
      await it.postgres.start(patience);
      const { pid } = it.postgres;
      for (const round of [1, 2]) {
        const client = new pg.Client({ connectionString: it.postgres.url.reveal() });
        client.on('error', () => undefined);
        await client.connect();
        process.kill(Number(it.postgres.pid), 'SIGTERM');
        await eventually(() => it.kinds().filter((kind) => kind === 'postgres.ready').length > round);
        expect(await ask(it.postgres.url.reveal(), 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
      }
      expect(it.postgres.pid).not.toBe(pid);
      expect(it.kinds().filter((kind) => kind === 'postgres.told-to-stop')).toHaveLength(2);
    });
  });

  it('makes the database when an earlier run died between creating the cluster and that', async () => {
    await withOpenDirectory(async (directory) => {
      await using it = trial(directory);
      await it.postgres.start(patience);
      const url = it.postgres.url.reveal();
      await ask(url.replace('/drover?', '/postgres?'), 'DROP DATABASE drover');
      await it.postgres.stop();
      await it.postgres.start(patience);
      expect(await ask(url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    });
  });

  it('serves from a temporary socket directory where the path is too long for a socket', async () => {
    await withOpenDirectory(async (scratch) => {
      const directory = path.join(scratch, 'long'.repeat(25), 'postgres');
      await using it = trial(directory);
      await it.postgres.start(patience);
      const socket = new URL(it.postgres.url.reveal()).searchParams.get('host') ?? '';
      expect(socket).toContain('drover-postgres-');
      expect(await ask(it.postgres.url.reveal(), 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
      await it.postgres.stop();
      await expect(stat(socket)).rejects.toThrow('ENOENT');
    });
  });

  it('takes a directory with blanks, commas and quotes in its name', async () => {
    await withOpenDirectory(async (scratch) => {
      await using it = trial(path.join(scratch, `my "data", 100%`));
      await it.postgres.start(patience);
      expect(await ask(it.postgres.url.reveal(), 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    });
  });

  it('refuses a directory that another instance of this process serves, and leaves that one alone', async () => {
    await withOpenDirectory(async (directory) => {
      await using first = trial(directory);
      await first.postgres.start(patience);
      await using second = trial(directory);
      const refused = second.postgres.start(patience);
      await expect(refused).rejects.toMatchObject({ code: 'EMBEDDED_POSTGRES_IN_USE', details: { pid: process.pid } });
      await second.postgres.stop();
      expect(await ask(first.postgres.url.reveal(), 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    });
  });

  it('refuses a directory that another process serves, naming that process', async () => {
    await withOpenDirectory(async (directory) => {
      const owner = new OwnerProcess(directory);
      try {
        const { url } = await owner.ready();
        await using it = trial(directory);
        await expect(it.postgres.start(patience)).rejects.toThrow(`in use by process ${owner.pid}`);
        expect(await ask(url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
        owner.kill('SIGTERM');
        expect((await owner.exited).code).toBe(0);
        await it.postgres.start(patience);
      } finally {
        await owner.end();
      }
    });
  });

  it('aborts the creation of a database on request and leaves nothing behind', async () => {
    await withOpenDirectory(async (directory) => {
      const controller = new AbortController();
      await using it = trial(directory);
      const start = it.postgres.start(controller.signal).catch((error: unknown) => error);
      await eventually(async () => (await readdir(directory)).some((name) => /^cluster\.new-[0-9a-f]+$/.test(name)));
      controller.abort();
      expect(hasCode(await start, 'EMBEDDED_POSTGRES_START_ABORTED')).toBe(true);
      expect(await readdir(directory)).toEqual(['password']);
      expect(await processesMentioning(directory)).toEqual([]);
      await it.postgres.start(patience);
    });
  });

  it('aborts the start of the server on request and leaves nothing behind', async () => {
    await withOpenDirectory(async (directory) => {
      const controller = new AbortController();
      await using it = trial(directory);
      await it.postgres.start(patience);
      await it.postgres.stop();
      await using again = trial(directory, {
        observe: (o) => void (o.kind === 'postgres.starting' && setImmediate(() => controller.abort())),
      });
      await expect(again.postgres.start(controller.signal)).rejects.toMatchObject({
        code: 'EMBEDDED_POSTGRES_START_ABORTED',
      });
      expect((await readdir(directory)).toSorted()).toEqual(['cluster', 'password', 'server.log']);
      expect(await processesMentioning(directory)).toEqual([]);
    });
  });

  it('does not start if the signal has aborted before', async () => {
    await withScratchDirectory(async (directory) => {
      await using it = trial(directory);
      const refused = it.postgres.start(AbortSignal.abort());
      await expect(refused).rejects.toMatchObject({ code: 'EMBEDDED_POSTGRES_START_ABORTED' });
      expect(await readdir(directory)).toEqual([]);
    });
  });

  it('can be stopped while it starts', async () => {
    await withOpenDirectory(async (directory) => {
      await using it = trial(directory);
      const start = it.postgres.start(patience).catch((error: unknown) => error);
      await eventually(() => it.kinds().includes('postgres.creating-cluster'));
      await it.postgres.stop();
      expect(hasCode(await start, 'EMBEDDED_POSTGRES_START_ABORTED')).toBe(true);
      expect(await processesMentioning(directory)).toEqual([]);
    });
  });

  it('has no URL before its first start, and may be stopped then', async () => {
    await withScratchDirectory(async (directory) => {
      await using it = trial(directory);
      expect(() => it.postgres.url).toThrow('has no URL before start()');
      await it.postgres.stop();
      expect(it.observed).toEqual([]);
    });
  });

  it('is not misled by a lock file with a reused pid', async () => {
    await withOpenDirectory(async (directory) => {
      await using it = trial(directory);
      await it.postgres.start(patience);
      await it.postgres.stop();
      // It lives, and where it runs as the server's user PostgreSQL would take it for its predecessor.
      await writeFile(path.join(directory, 'cluster', 'postmaster.pid'), `${process.ppid}\n${directory}/cluster\n1\n`);
      await mkdir(path.join(directory, 'cluster.new-abandoned'));
      await it.postgres.start(patience);
      expect(isRunning(process.ppid)).toBe(true);
      expect(await readdir(directory)).not.toContain('cluster.new-abandoned');
    });
  });
});
