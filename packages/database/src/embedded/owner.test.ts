import { readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { systemRandomness } from '@drover/service-kit';
import { hasCode } from '@drover/contracts';
import { Child, withScratchDirectory } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { claimHome, livesOn, parseOwner } from './owner.js';
import { startTimeOf } from './processes.js';

async function endedPid(): Promise<number> {
  const child = new Child('true', []);
  await child.exited;
  return child.pid;
}

describe('claimHome', () => {
  it('writes who owns the directory and gives it back', async () => {
    await withScratchDirectory(async (home) => {
      const release = await claimHome(home, systemRandomness);
      const owner = parseOwner(await readFile(path.join(home, 'owner'), 'utf8'));
      expect(owner?.pid).toBe(process.pid);
      expect(owner?.startTime).toBe(startTimeOf(process.pid));
      await release();
      expect(await readdir(home)).toEqual([]);
    });
  });

  it('refuses a directory whose owner lives, naming its pid', async () => {
    await withScratchDirectory(async (home) => {
      await claimHome(home, systemRandomness);
      const again = claimHome(home, systemRandomness);
      await expect(again).rejects.toSatisfy((error) => hasCode(error, 'EMBEDDED_POSTGRES_IN_USE'));
      await expect(again).rejects.toThrow(`in use by process ${process.pid}`);
      expect(await readdir(home)).toEqual(['owner']);
    });
  });

  it('takes over from an owner that is gone', async () => {
    await withScratchDirectory(async (home) => {
      await writeFile(path.join(home, 'owner'), JSON.stringify({ pid: await endedPid() }));
      await claimHome(home, systemRandomness);
      expect(parseOwner(await readFile(path.join(home, 'owner'), 'utf8'))?.pid).toBe(process.pid);
    });
  });

  it('takes over from a file that a crash left empty', async () => {
    await withScratchDirectory(async (home) => {
      await writeFile(path.join(home, 'owner'), '');
      await claimHome(home, systemRandomness);
      expect(parseOwner(await readFile(path.join(home, 'owner'), 'utf8'))?.pid).toBe(process.pid);
    });
  });

  it.runIf(process.platform === 'linux')('does not take a later process with the same pid for the owner', () => {
    expect(livesOn({ pid: process.pid, startTime: '1' })).toBe(false);
    expect(livesOn({ pid: process.pid })).toBe(true);
  });

  it.each(['', '[]', '{"pid":"1"}', 'null'])('reads %j as nobody', (text) => {
    expect(parseOwner(text)).toBeUndefined();
  });
});
