import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { hasCode } from '@drover/contracts';
import { eventually } from '@drover/testkit';
import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { isRunning } from './processes.js';
import { ask, OwnerProcess, patience, processesMentioning, trial, withOpenDirectory } from './testing/trial.js';

const kill = (pid: number): boolean => process.kill(pid, 'SIGKILL');

/** In one moment: an owner that runs between the two would replace its leash. */
function killWithLeash(owner: number, leash: number): void {
  process.kill(owner, 'SIGSTOP');
  kill(leash);
  kill(owner);
}

async function drafts(directory: string): Promise<readonly string[]> {
  return (await readdir(directory)).filter((name) => name.startsWith('cluster.new-'));
}

/** The draft's bootstrap has begun: files are being written. */
async function untilInTheMiddle(directory: string): Promise<void> {
  await eventually(async () => {
    const [draft] = (await drafts(directory)).filter((name) => !name.endsWith('.password'));
    return draft !== undefined && (await readdir(path.join(directory, draft, 'base'))).length > 0;
  });
}

describe('kill -9', () => {
  it('of the owner ends the server, and loses nothing', async () => {
    await withOpenDirectory(async (directory) => {
      const owner = new OwnerProcess(directory);
      const { postmaster, url } = await owner.ready();
      await ask(url, 'CREATE TABLE kept AS SELECT 1 AS one');
      kill(owner.pid);
      await eventually(() => !isRunning(postmaster));
      await using it = trial(directory);
      await it.postgres.start(patience);
      expect(it.kinds()).toEqual(['postgres.starting', 'postgres.ready']); // shut down in good order: nothing to recover
      expect(await ask(it.postgres.url.reveal(), 'SELECT one FROM kept')).toEqual([{ one: 1 }]);
    });
  });

  it('of owner and leash together leaves a server that the next start ends and replaces', async () => {
    await withOpenDirectory(async (directory) => {
      const owner = new OwnerProcess(directory);
      const { postmaster, leash, url } = await owner.ready();
      await ask(url, 'CREATE TABLE kept AS SELECT 1 AS one');
      killWithLeash(owner.pid, leash);
      await owner.exited;
      expect(isRunning(postmaster)).toBe(true);
      await using it = trial(directory);
      await it.postgres.start(patience);
      expect(it.observed).toContainEqual({ kind: 'postgres.left-behind', pid: postmaster });
      expect(isRunning(postmaster)).toBe(false);
      expect(it.postgres.pid).not.toBe(postmaster);
      expect(await ask(it.postgres.url.reveal(), 'SELECT one FROM kept')).toEqual([{ one: 1 }]);
    });
  });

  it('of owner, leash and server together is recovered from, and said', async () => {
    await withOpenDirectory(async (directory) => {
      const owner = new OwnerProcess(directory);
      const { postmaster, leash, url } = await owner.ready();
      await ask(url, 'CREATE TABLE kept AS SELECT generate_series(1, 10000) AS n');
      killWithLeash(owner.pid, leash);
      kill(postmaster);
      await owner.exited;
      await using it = trial(directory);
      await it.postgres.start(patience);
      expect(it.kinds()).toContain('postgres.recovering');
      expect(await ask(it.postgres.url.reveal(), 'SELECT count(*)::int AS n FROM kept')).toEqual([{ n: 10_000 }]);
    });
  });

  it('of the server brings it back at the same URL', async () => {
    await withOpenDirectory(async (directory) => {
      await using it = trial(directory);
      await it.postgres.start(patience);
      const [url, first] = [it.postgres.url.reveal(), Number(it.postgres.pid)];
      await ask(url, 'CREATE TABLE kept AS SELECT 1 AS one');
      kill(first);
      await eventually(() => it.kinds().filter((kind) => kind === 'postgres.ready').length === 2);
      expect(it.observed).toContainEqual({ kind: 'postgres.lost', pid: first, exitCode: null, signal: 'SIGKILL' });
      expect(it.kinds()).toContain('postgres.restarting');
      expect(it.postgres.pid).not.toBe(first);
      expect(await ask(url, 'SELECT one FROM kept')).toEqual([{ one: 1 }]);
      kill(Number(it.postgres.pid));
      await eventually(() => it.kinds().filter((kind) => kind === 'postgres.ready').length === 3);
      expect(await ask(url, 'SELECT one FROM kept')).toEqual([{ one: 1 }]);
    });
  });

  it.runIf(process.platform === 'linux')('of the server brings it back although a busy backend lives on', async () => {
    await withOpenDirectory(async (directory) => {
      await using it = trial(directory);
      await it.postgres.start(patience);
      const client = new pg.Client({ connectionString: it.postgres.url.reveal() });
      client.on('error', () => undefined);
      await client.connect();
      const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
      // A loop that never waits never looks whether its postmaster is still there.
      const cutOff = client.query('DO $$ BEGIN LOOP END LOOP; END $$').catch((error: unknown) => error);
      await eventually(async () => {
        const busy = await ask(it.postgres.url.reveal(), `SELECT 1 FROM pg_stat_activity WHERE query LIKE 'DO%'`);
        return busy.length === 1;
      });
      kill(Number(it.postgres.pid));
      await eventually(() => it.kinds().filter((kind) => kind === 'postgres.ready').length === 2);
      expect(it.kinds()).toContain('postgres.waiting');
      expect(isRunning(Number(rows[0]?.pid))).toBe(false);
      expect(await cutOff).toBeInstanceOf(Error);
    });
  });

  it('of the server while it is being brought back can still be stopped', async () => {
    await withOpenDirectory(async (directory) => {
      await using it = trial(directory);
      await it.postgres.start(patience);
      kill(Number(it.postgres.pid));
      await eventually(() => it.kinds().includes('postgres.restarting'));
      await it.postgres.stop();
      expect(await processesMentioning(directory)).toEqual([]);
      expect(await readdir(directory)).not.toContain('owner');
    });
  });

  it('of initdb fails the start with its words, and the next start creates the database', async () => {
    await withOpenDirectory(async (directory) => {
      await using it = trial(directory);
      const start = it.postgres.start(patience).catch((error: unknown) => error);
      await untilInTheMiddle(directory);
      for (const { pid } of await processesMentioning(`--pgdata=${directory}`)) if (isRunning(pid)) kill(pid);
      expect(hasCode(await start, 'EMBEDDED_POSTGRES_CLUSTER_NOT_CREATED')).toBe(true);
      expect(await drafts(directory)).toEqual([]);
      await it.postgres.start(patience);
    });
  });

  it('of the owner in the middle of initdb ends initdb, and the next start creates the database', async () => {
    await withOpenDirectory(async (directory) => {
      const owner = new OwnerProcess(directory);
      await untilInTheMiddle(directory);
      kill(owner.pid);
      await eventually(async () => (await processesMentioning(directory)).length === 0);
      await using it = trial(directory);
      await it.postgres.start(patience);
      expect(await drafts(directory)).toEqual([]);
    });
  });

  it('of owner and leash in the middle of initdb does not stop the next start', async () => {
    await withOpenDirectory(async (directory) => {
      const owner = new OwnerProcess(directory);
      await untilInTheMiddle(directory);
      const leashes = (await processesMentioning('drover-leash')).filter(({ parent }) => parent === owner.pid);
      for (const { pid } of leashes) killWithLeash(owner.pid, pid);
      await owner.exited;
      await using it = trial(directory);
      await it.postgres.start(patience);
      expect(await ask(it.postgres.url.reveal(), 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
      await eventually(async () => (await processesMentioning(`--pgdata=${directory}`)).length === 0);
      expect(await drafts(directory)).toEqual([]);
    });
  });
});
