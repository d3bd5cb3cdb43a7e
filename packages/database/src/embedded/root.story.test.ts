import { chmod, chown, mkdir, readdir, readFile, rm, rmdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { eventually, withScratchDirectory } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { findBinaries } from './binaries.js';
import { isRunning } from './processes.js';
import { firstClosed } from './reachability.js';
import { chooseServerUser, readUsers } from './server-user.js';
import { ask, asRoot, OwnerProcess, patience, processesMentioning, trial, withOpenDirectory } from './testing/trial.js';
import { factsAlongPath } from './path-facts.js';

const nobody = { name: 'nobody', uid: 65534, gid: 65534 };

/** A directory below a parent that only root may enter, and the removal of what was moved out of it. */
async function withClosedDirectory(use: (directory: string) => Promise<void>): Promise<void> {
  await withScratchDirectory(async (closed) => {
    const directory = path.join(closed, 'data', 'postgres');
    await mkdir(directory, { recursive: true });
    try {
      await use(directory);
    } finally {
      const moved = await readFile(path.join(directory, 'moved-to'), 'utf8').catch(() => '');
      if (moved.startsWith('/var/lib/drover/')) await rm(moved.trim(), { recursive: true, force: true });
      await rmdir('/var/lib/drover').catch(() => undefined); // unless another test has something there
    }
  });
}

describe.runIf(asRoot)('as root', () => {
  it('runs the server as another user with the permissions it needs and no more', async () => {
    await withOpenDirectory(async (scratch) => {
      const directory = path.join(scratch, 'new', 'postgres');
      await using it = trial(directory);
      await it.postgres.start(patience);
      const { uid } = chooseServerUser(await readUsers(), undefined);
      expect((await stat(`/proc/${it.postgres.pid}`)).uid).toBe(uid);
      for (const [name, owner] of Object.entries({ '.': 0, password: 0, owner: 0, cluster: uid, run: uid })) {
        expect([name, (await stat(path.join(directory, name))).uid]).toEqual([name, owner]);
      }
    });
  });

  it('runs the server as the configured user', async () => {
    await withOpenDirectory(async (directory) => {
      await using it = trial(directory, { serverUser: 'nobody' });
      await it.postgres.start(patience);
      expect((await stat(`/proc/${it.postgres.pid}`)).uid).toBe(nobody.uid);
      await it.postgres.stop();
      // Without a configured user it stays with the owner of the files: no other user could open them.
      await using again = trial(directory);
      await again.postgres.start(patience);
      expect((await stat(`/proc/${again.postgres.pid}`)).uid).toBe(nobody.uid);
    });
  });

  it('refuses a user that does not exist', async () => {
    await withOpenDirectory(async (directory) => {
      await using it = trial(directory, { serverUser: 'no-such-user' });
      await expect(it.postgres.start(patience)).rejects.toMatchObject({ code: 'EMBEDDED_POSTGRES_NO_SERVER_USER' });
    });
  });

  it('keeps the database in /var/lib/drover when its user cannot reach the directory, and says so', async () => {
    await withClosedDirectory(async (directory) => {
      const closed = path.dirname(path.dirname(directory));
      await using it = trial(directory);
      await it.postgres.start(patience);
      const url = it.postgres.url.reveal();
      await ask(url, 'CREATE TABLE kept AS SELECT 1 AS one');
      const moved = it.observed.find((o) => o.kind === 'postgres.moved');
      expect(moved).toMatchObject({ from: directory, to: expect.stringMatching(/^\/var\/lib\/drover\/[0-9a-f]{16}$/) });
      expect(moved).toHaveProperty('reason', expect.stringContaining(`cannot access ${closed} (mode 0700)`));
      expect((await readdir(directory)).toSorted()).toEqual(['moved-to', 'password', 'server.log']);
      expect((await stat(closed)).mode & 0o777).toBe(0o700);
      await it.postgres.stop();
      // The pointer holds even when the directory could be reached by now: the data is where it is.
      await chmod(closed, 0o755);
      await it.postgres.start(patience);
      expect(await ask(url, 'SELECT one FROM kept')).toEqual([{ one: 1 }]);
      await rm(path.join(directory, 'moved-to'));
      await it.postgres.stop();
      await it.postgres.start(patience);
      expect(await ask(url, 'SELECT one FROM kept')).toEqual([{ one: 1 }]);
      expect(await readdir(directory)).toContain('moved-to');
    });
  });

  it('replaces a server left behind in /var/lib/drover, too', async () => {
    await withClosedDirectory(async (directory) => {
      const owner = new OwnerProcess(directory);
      const { postmaster, leash } = await owner.ready();
      process.kill(owner.pid, 'SIGSTOP'); // so that it cannot replace the leash in between
      for (const pid of [leash, owner.pid]) process.kill(pid, 'SIGKILL');
      await owner.exited;
      await using it = trial(directory);
      await it.postgres.start(patience);
      expect(isRunning(postmaster)).toBe(false);
    });
  });

  it('does not begin an empty database when the way to the old one was closed', async () => {
    await withOpenDirectory(async (scratch) => {
      await using it = trial(path.join(scratch, 'postgres'));
      await it.postgres.start(patience);
      await it.postgres.stop();
      await chmod(scratch, 0o700);
      const refused = it.postgres.start(patience);
      await expect(refused).rejects.toMatchObject({ code: 'EMBEDDED_POSTGRES_UNREACHABLE' });
      await expect(refused).rejects.toThrow(`chmod o+x ${scratch}`);
    });
  });

  it('is not needed: an ordinary user runs everything as itself', async (context) => {
    const closed = firstClosed(await factsAlongPath(findBinaries().root), nobody);
    if (closed) return context.skip(`the user nobody may not enter ${closed.path}, where this repository is`);
    await withOpenDirectory(async (directory) => {
      await chown(directory, nobody.uid, nobody.gid);
      const owner = new OwnerProcess(directory, nobody);
      try {
        const { postmaster, url } = await owner.ready();
        expect((await stat(`/proc/${postmaster}`)).uid).toBe(nobody.uid);
        expect(await ask(url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
        for (const name of await readdir(directory)) {
          expect([name, (await stat(path.join(directory, name))).uid]).toEqual([name, nobody.uid]);
        }
        process.kill(owner.pid, 'SIGKILL');
        await eventually(async () => (await processesMentioning(directory)).length === 0);
      } finally {
        await owner.end();
      }
    });
  });
});
