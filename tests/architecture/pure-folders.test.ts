import { describe, expect, it } from 'vitest';
import { sourceFiles } from './workspace.js';

/** Folders whose code decides and does not act: the simulations run it with a clock and a randomness of their own. */
const pureFolders = ['apps/scale-controller/src/decisions', 'apps/scale-controller/src/placement'];

const impure =
  /\b(?:Date\.now|Math\.random|performance\.now|setTimeout|setInterval|setImmediate|process\.|await\b|new Date\(\))/;
const strings = /'[^'\n]*'|`[^`]*`|\/\*[\s\S]*?\*\/|\/\/[^\n]*/g;

function problemsIn(text: string, imports: readonly string[]): string[] {
  const found = impure.exec(text.replaceAll(strings, ''));
  return [...(found ? [found[0]] : []), ...imports.filter((specifier) => specifier.startsWith('node:'))];
}

describe('code that decides', () => {
  it.each(pureFolders)('has no clock, no randomness, no promise and no input or output in %s', (folder) => {
    const files = sourceFiles(folder).filter(({ forTests }) => !forTests);
    expect(files.length).toBeGreaterThan(5);
    const problems = files.flatMap(({ path, text, imports }) =>
      problemsIn(text, imports).map((problem) => `${path}: ${problem}`),
    );
    expect(problems).toEqual([]);
  });

  it('would be refused with a clock, a timer, a promise or a module of Node', () => {
    expect(problemsIn('const nowMs = Date.now();', [])).toEqual(['Date.now']);
    expect(problemsIn('setTimeout(act, 5);', [])).toEqual(['setTimeout']);
    expect(problemsIn('const rows = await read();', [])).toEqual(['await']);
    expect(problemsIn('', ['node:fs'])).toEqual(['node:fs']);
    expect(problemsIn("const text = 'await Date.now()'; // await", [])).toEqual([]);
  });
});
