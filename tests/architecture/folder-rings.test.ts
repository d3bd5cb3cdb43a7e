import { describe, expect, it } from 'vitest';
import { folderRings } from './folder-rings.js';
import { workspaces, type SourceFile } from './workspace.js';

function file(path: string, ...imports: string[]): SourceFile {
  return { path: `packages/made-up/src/${path}`, text: '', imports, forTests: path.endsWith('.test.ts') };
}
const ringsOf = (...files: SourceFile[]): string[] => folderRings({ folder: 'packages/made-up', files });

describe('folders of a package', () => {
  it.each(workspaces().map((workspace) => [workspace.folder, workspace] as const))(
    'do not import each other in a ring: %s',
    (_, workspace) => {
      expect(folderRings(workspace)).toEqual([]);
    },
  );
});

describe('the check for rings', () => {
  it('finds a ring over three folders, and names the imports that close it', () => {
    const rings = ringsOf(
      file('queues/queue.ts', '../engine/engine.js'),
      file('engine/engine.ts', '../journal/journal.js', './clock.js'),
      file('engine/clock.ts'),
      file('journal/journal.ts', '../queues/size.js'),
      file('queues/size.ts'),
    );
    expect(rings).toEqual([
      [
        'packages/made-up: queues → engine → journal → queues',
        'packages/made-up/src/queues/queue.ts imports ../engine/engine.js',
        'packages/made-up/src/engine/engine.ts imports ../journal/journal.js',
        'packages/made-up/src/journal/journal.ts imports ../queues/size.js',
      ].join('\n    '),
    ]);
  });

  it('finds a ring between a folder and the folder inside it, and one with a file of src', () => {
    expect(ringsOf(file('pool/pool.ts', './drivers/fork.js'), file('pool/drivers/fork.ts', '../size.js'))).toHaveLength(
      1,
    );
    expect(ringsOf(file('errors.ts', './pool/limits.js'), file('pool/pool.ts', '../errors.js'))).toHaveLength(1);
  });

  it('reports places that hang together once, and separate rings each', () => {
    const both = (one: string, other: string): SourceFile[] => [
      file(`${one}/a.ts`, `../${other}/b.js`),
      file(`${other}/b.ts`, `../${one}/a.js`),
    ];
    expect(ringsOf(...both('a', 'b'), ...both('b', 'c'))).toHaveLength(1);
    expect(ringsOf(...both('a', 'b'), ...both('c', 'd'))).toHaveLength(2);
  });

  it('allows imports that only go one way, several files of src in a row, and tests that look anywhere', () => {
    expect(
      ringsOf(
        file('main.ts', './compose.js'),
        file('compose.ts', './engine/engine.js', './config.js'),
        file('config.ts'),
        file('engine/engine.ts', '../config.js'),
        file('engine/engine.test.ts', '../compose.js'),
      ),
    ).toEqual([]);
  });
});
