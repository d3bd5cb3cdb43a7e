import { chmod, mkdir, open, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Leash, systemClock } from '@drover/service-kit';
import { withScratchDirectory } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { Postmaster } from './postmaster.js';

/** Spawns a program of ours in the place of postgres. */
async function withProgram(script: string | undefined, use: (spawn: () => Promise<Postmaster>) => Promise<void>) {
  await withScratchDirectory(async (binaries) => {
    const program = path.join(binaries, 'bin', 'postgres');
    await mkdir(path.dirname(program));
    if (script !== undefined) await writeFile(program, `#!/bin/sh\n${script}\n`);
    if (script !== undefined) await chmod(program, 0o755);
    const leash = new Leash();
    const log = await open(path.join(binaries, 'log'), 'a');
    try {
      await use(() => Postmaster.spawn({ binaries, args: [], user: undefined, log, leash, clock: systemClock }));
    } finally {
      await log.close();
      await leash.stop();
    }
  });
}

describe('Postmaster', () => {
  it('says which programs cannot be run', async () => {
    await withProgram(undefined, async (spawn) => {
      const refused = spawn();
      await expect(refused).rejects.toMatchObject({ code: 'EMBEDDED_POSTGRES_BINARIES_UNUSABLE' });
      await expect(refused).rejects.toThrow('ENOENT');
    });
  });

  it('knows how it exited', async () => {
    await withProgram('exit 3', async (spawn) => {
      const postmaster = await spawn();
      expect(await postmaster.exited).toEqual({ code: 3, signal: null });
      expect(postmaster.exit).toEqual({ code: 3, signal: null });
      await postmaster.end();
    });
  });

  it('leads a process group of its own and is gone when its end resolves', async () => {
    await withProgram('exec sleep 600', async (spawn) => {
      const postmaster = await spawn();
      expect(process.kill(-postmaster.pid, 0)).toBe(true);
      await postmaster.end();
      expect(postmaster.exit).toEqual({ code: null, signal: 'SIGINT' });
    });
  });
});
