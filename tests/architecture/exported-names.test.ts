import { describe, expect, it } from 'vitest';
import { namesDefinedTwice } from './exported-names.js';
import { workspaces, type SourceFile } from './workspace.js';

/** Names that may be defined in more than one place; the list only gets shorter. */
const allowed = new Set(['Exchange', 'FunctionDefinition', 'hasBody', 'requestTooSlow']);

describe('exported names', () => {
  it('are defined once in the repository, so that a search finds one thing', () => {
    const files = workspaces().flatMap((workspace) => workspace.files);
    const twice = [...namesDefinedTwice(files)].filter(([name]) => !allowed.has(name));
    expect(twice.map(([name, paths]) => `${name}: ${paths.join(', ')}`)).toEqual([]);
  });

  it('are found as classes, types, values and functions, and neither re-exports nor tests count', () => {
    const file = (path: string, text: string): SourceFile => ({
      path,
      text,
      imports: [],
      forTests: path.endsWith('.test.ts'),
    });
    const lines = [
      'export abstract class Queue {}',
      'export interface Entry {}',
      'export const limit = 1;',
      'export async function drain() {}',
    ];
    const one = file('one.ts', lines.join('\n'));
    expect(namesDefinedTwice([one])).toEqual(new Map());
    const others = [
      file('two.ts', 'export type Queue = 1;\nexport let limit = 2;'),
      file('three.ts', "export { Entry } from './one.js';\nexport function drain(): void {}"),
      file('four.test.ts', 'export class Entry {}'),
    ];
    expect(Object.fromEntries(namesDefinedTwice([one, ...others]))).toEqual({
      Queue: ['one.ts', 'two.ts'],
      limit: ['one.ts', 'two.ts'],
      drain: ['one.ts', 'three.ts'],
    });
  });
});
