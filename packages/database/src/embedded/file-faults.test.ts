import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { hasCode } from '@drover/contracts';
import { withScratchDirectory } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { explainFileFault, onFiles } from './file-faults.js';

const systemError = (code: string): Error => Object.assign(new Error(code), { code });

describe('file faults', () => {
  it.each(['EACCES', 'EPERM', 'EROFS', 'ENOTDIR', 'EEXIST'])(
    'explains %s as a directory that cannot be used',
    (code) => {
      const error = explainFileFault('/data/postgres', systemError(code));
      expect(hasCode(error, 'EMBEDDED_POSTGRES_DIRECTORY_UNUSABLE')).toBe(true);
      expect(String(error)).toContain('The database directory /data/postgres cannot be used');
      expect(String(error)).toContain(code);
    },
  );

  it.each(['ENOSPC', 'EDQUOT'])('explains %s as a full disk', (code) => {
    const error = explainFileFault('/data/postgres', systemError(code));
    expect(hasCode(error, 'EMBEDDED_POSTGRES_DISK_FULL')).toBe(true);
  });

  it('leaves everything else as it is', () => {
    const error = new Error('a defect');
    expect(explainFileFault('/data', error)).toBe(error);
  });

  it('keeps the original as the cause', async () => {
    await withScratchDirectory(async (scratch) => {
      const file = path.join(scratch, 'file');
      await writeFile(file, '');
      const refused = onFiles(file, () => mkdir(path.join(file, 'below')));
      await expect(refused).rejects.toMatchObject({ cause: { code: 'ENOTDIR' } });
    });
  });
});
