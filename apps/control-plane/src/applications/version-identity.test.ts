import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { SettingsSeal } from '@drover/application-catalog';
import { Secret, systemRandomness } from '@drover/service-kit';
import { withScratchDirectory } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { folderContents, versionOf } from './version-identity.js';

const sealOf = (key: string): SettingsSeal => new SettingsSeal(new Secret(key), systemRandomness);
const seal = sealOf('the key of this installation');
const limits = { files: 100, bytes: 10_000 };

describe('versionOf', () => {
  it('depends on files and settings, not on the order of settings', () => {
    const version = versionOf('files', { A: '1', B: '2' }, seal);
    expect(version).toMatch(/^c[0-9a-f]{16}$/);
    expect(versionOf('files', { B: '2', A: '1' }, seal)).toBe(version);
    expect(versionOf('other', { A: '1', B: '2' }, seal)).not.toBe(version);
    expect(versionOf('files', { A: '1', B: '3' }, seal)).not.toBe(version);
    expect(versionOf('files', { A: '1' }, seal)).not.toBe(version);
  });

  it('tells nothing about the values of settings to callers without the key', () => {
    const settings = { PIN: '1234' };
    expect(versionOf('files', settings, sealOf('the key of another installation'))).not.toBe(
      versionOf('files', settings, seal),
    );
  });

  it('is the same on every machine for an app without settings', () => {
    expect(versionOf('files', {}, sealOf('another key than the one above'))).toBe(versionOf('files', {}, seal));
  });
});

describe('folderContents', () => {
  const write = async (directory: string, file: string, text: string): Promise<void> => {
    await mkdir(path.dirname(path.join(directory, file)), { recursive: true });
    await writeFile(path.join(directory, file), text);
  };

  it.each([
    ['code', 'src/index.js', true],
    ['host.json', 'host.json', true],
    ['local settings', 'local.settings.json', true],
    ['installed packages', 'node_modules/.package-lock.json', true],
    ['files of a package', 'node_modules/left-pad/index.js', false],
    ['version control', '.git/HEAD', false],
  ])('notices a change of %s: %s %s', async (_, file, isNoticed) => {
    await withScratchDirectory(async (directory) => {
      await write(directory, 'host.json', '{}');
      await write(directory, file, 'one');
      const before = await folderContents(directory, limits, seal);
      expect(await folderContents(directory, limits, seal)).toBe(before);
      await write(directory, file, 'two');
      expect((await folderContents(directory, limits, seal)) !== before).toBe(isNoticed);
    });
  });

  it('names the limit that a folder exceeds', async () => {
    await withScratchDirectory(async (directory) => {
      await write(directory, 'data.bin', 'x'.repeat(20_000));
      await expect(folderContents(directory, limits, seal)).rejects.toMatchObject({
        code: 'APPLICATION_FOLDER_UNUSABLE',
        message: expect.stringContaining('more than 10000 bytes'),
      });
    });
  });
});
