import { readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { systemRandomness } from '@drover/service-kit';
import { hasCode } from '@drover/contracts';
import { Child, withScratchDirectory } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { claimDirectory, isOwnerRunning, parseOwner } from './owner.js';
import { startTimeOf } from './processes.js';

async function endedPid(): Promise<number> {
  const child = new Child('true', []);
  await child.exited;
  return child.pid;
}

describe('claimDirectory', () => {
  it('writes the owner of the directory and releases it', async () => {
    await withScratchDirectory(async (base) => {
      const release = await claimDirectory(base, systemRandomness);
      const owner = parseOwner(await readFile(path.join(base, 'owner'), 'utf8'));
      expect(owner?.pid).toBe(process.pid);
      expect(owner?.startTime).toBe(startTimeOf(process.pid));
      await release();
      expect(await readdir(base)).toEqual([]);
    });
  });

  it('refuses a directory whose owner lives, naming its pid', async () => {
    await withScratchDirectory(async (base) => {
      await claimDirectory(base, systemRandomness);
      const again = claimDirectory(base, systemRandomness);
      await expect(again).rejects.toSatisfy((error) => hasCode(error, 'EMBEDDED_POSTGRES_IN_USE'));
      await expect(again).rejects.toThrow(`in use by process ${process.pid}`);
      expect(await readdir(base)).toEqual(['owner']);
    });
  });

  it('takes over from an owner that is gone', async () => {
    await withScratchDirectory(async (base) => {
      await writeFile(path.join(base, 'owner'), JSON.stringify({ pid: await endedPid() }));
      await claimDirectory(base, systemRandomness);
      expect(parseOwner(await readFile(path.join(base, 'owner'), 'utf8'))?.pid).toBe(process.pid);
    });
  });

  it('takes over from a file that a crash left empty', async () => {
    await withScratchDirectory(async (base) => {
      await writeFile(path.join(base, 'owner'), '');
      await claimDirectory(base, systemRandomness);
      expect(parseOwner(await readFile(path.join(base, 'owner'), 'utf8'))?.pid).toBe(process.pid);
    });
  });

  it.runIf(process.platform === 'linux')('does not take a later process with the same pid for the owner', () => {
    expect(isOwnerRunning({ pid: process.pid, startTime: '1' })).toBe(false);
    expect(isOwnerRunning({ pid: process.pid })).toBe(true);
  });

  it.each(['', '[]', '{"pid":"1"}', 'null'])('reads %j as no owner', (text) => {
    expect(parseOwner(text)).toBeUndefined();
  });
});
