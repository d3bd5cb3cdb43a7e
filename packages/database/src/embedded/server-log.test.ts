import { readdir, stat, truncate } from 'node:fs/promises';
import path from 'node:path';
import { withScratchDirectory } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { ServerLog } from './server-log.js';

async function write(log: ServerLog, text: string): Promise<number> {
  const { handle, offset } = await log.open();
  await handle.write(text);
  await handle.close();
  return offset;
}

describe('ServerLog', () => {
  it('appends, and shows what came since a run began', async () => {
    await withScratchDirectory(async (directory) => {
      const log = new ServerLog(directory);
      await write(log, 'first run\n');
      const offset = await write(log, 'second run\n');
      expect(await log.since(offset)).toBe('second run\n');
      expect(await log.since(0)).toBe('first run\nsecond run\n');
      expect(await log.since(1000)).toBe('');
    });
  });

  it('is readable by its owner only', async () => {
    await withScratchDirectory(async (directory) => {
      const log = new ServerLog(directory);
      await write(log, 'x');
      expect((await stat(log.file)).mode & 0o777).toBe(0o600);
    });
  });

  it('moves to server.log.1 at the first start after it has grown above 10 MB', async () => {
    await withScratchDirectory(async (directory) => {
      const log = new ServerLog(directory);
      await write(log, 'old\n');
      await truncate(log.file, 11 * 1024 * 1024);
      expect(await write(log, 'new\n')).toBe(0);
      expect((await readdir(directory)).toSorted()).toEqual(['server.log', 'server.log.1']);
      expect((await stat(path.join(directory, 'server.log'))).size).toBe(4);
    });
  });

  it('shows the end of what is much', async () => {
    await withScratchDirectory(async (directory) => {
      const log = new ServerLog(directory);
      await write(log, `${'x'.repeat(200_000)}\nthe end\n`);
      const shown = await log.since(0);
      expect(shown.length).toBeLessThan(70_000);
      expect(shown).toMatch(/the end\n$/);
    });
  });
});
