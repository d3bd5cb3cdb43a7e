import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { eventually, withScratchDirectory } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { FolderWatch } from './folder-watch.js';

interface WatchTrial {
  readonly app: string;
  readonly problems: unknown[];
  /** Changes something and waits until the change is noticed. */
  readonly noticed: (change: () => Promise<unknown>) => Promise<void>;
  readonly changes: () => number;
}

async function watched(test: (trial: WatchTrial) => Promise<void>): Promise<void> {
  await withScratchDirectory(async (directory) => {
    const app = path.join(directory, 'app');
    await mkdir(path.join(app, 'node_modules'), { recursive: true });
    await mkdir(path.join(app, 'src', 'functions'), { recursive: true });
    await writeFile(path.join(app, 'src', 'functions', 'index.js'), '0');
    let changes = 0;
    const problems: unknown[] = [];
    const watch = new FolderWatch({
      directory: app,
      ignored: new Set(['node_modules']),
      onChange: () => (changes += 1),
      onProblem: (error) => problems.push(error),
    });
    const noticed = async (change: () => Promise<unknown>): Promise<void> => {
      const before = changes;
      await change();
      await eventually(() => changes > before);
    };
    try {
      await test({ app, problems, noticed, changes: () => changes });
    } finally {
      watch.close();
    }
  });
}

describe('a watched folder', () => {
  it('notices every save of a file: in place, and by rename', async () => {
    await watched(async ({ app, noticed, problems }) => {
      const file = path.join(app, 'src', 'functions', 'index.js');
      for (const text of ['1', '2', '3']) {
        // Beside the app, so that only the rename is a change in it.
        await writeFile(path.join(app, '..', 'draft'), text);
        await noticed(() => rename(path.join(app, '..', 'draft'), file));
        await noticed(() => writeFile(file, `${text} in place`));
      }
      expect(problems).toEqual([]);
    });
  });

  it('notices changes in folders that were made, moved or replaced meanwhile', async () => {
    await watched(async ({ app, noticed, problems }) => {
      const deep = path.join(app, 'dist', 'deep');
      await noticed(() => mkdir(deep, { recursive: true }));
      await noticed(() => writeFile(path.join(deep, 'a.js'), '1'));
      await noticed(() => rename(path.join(app, 'dist'), path.join(app, 'build')));
      await noticed(() => writeFile(path.join(app, 'build', 'deep', 'a.js'), '2'));
      await noticed(() => rm(path.join(app, 'src'), { recursive: true }));
      await noticed(() => mkdir(path.join(app, 'src')));
      await noticed(() => writeFile(path.join(app, 'src', 'index.js'), '3'));
      expect(problems).toEqual([]);
    });
  });

  it('does not notice ignored folders', async () => {
    await watched(async ({ app, noticed, changes }) => {
      await writeFile(path.join(app, 'node_modules', 'a.js'), '1');
      await noticed(() => mkdir(path.join(app, 'marker')));
      expect(changes()).toBe(1);
    });
  });

  it('reports a folder that cannot be watched', () => {
    const problems: unknown[] = [];
    const options = { ignored: new Set<string>(), onChange: () => undefined };
    new FolderWatch({ ...options, directory: '/does/not/exist', onProblem: (error) => problems.push(error) }).close();
    expect(problems).toMatchObject([{ code: 'ENOENT' }]);
  });
});
