import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { withScratchDirectory } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { describeLoadFailure } from './load-failure.js';
import { loadScript } from './load-script.js';

describe('describeLoadFailure', () => {
  const texts = {
    'throws.js': 'const a = 1;\n\nmissing(a);\n',
    'syntax.js': 'const a = 1;\n\nconst = 2;\n',
    'requires.js': "require('./functions/syntax.js');\n",
    'absent.js': "\nrequire('no-such-package');\n",
    'throws.mjs': 'const a = 1;\n\nmissing(a);\n',
  };

  it.each([
    ['throws.js', 'missing is not defined (at functions/throws.js:3:1)'],
    ['syntax.js', "Unexpected token '=' (at functions/syntax.js:3)"],
    ['requires.js', "Cannot find module './functions/syntax.js'"],
    ['absent.js', "Cannot find module 'no-such-package'"],
    ['throws.mjs', 'missing is not defined (at functions/throws.mjs:3:1)'],
  ] as const)('names the place in %s', async (name, expected) => {
    await withScratchDirectory(async (directory) => {
      const file = path.join(directory, 'functions', name);
      await mkdir(path.dirname(file));
      await writeFile(file, texts[name]);
      const failure: unknown = await loadScript(file).then(
        () => expect.unreachable(),
        (error: unknown) => error,
      );
      const text = describeLoadFailure(failure, directory);
      expect(text.startsWith(expected)).toBe(true);
      if (/requires|absent/.test(name)) expect(text).toMatch(new RegExp(`\\(at functions/${name}:\\d+:\\d+\\)$`));
    });
  });

  it('describes what is no error, and an error from elsewhere', () => {
    expect(describeLoadFailure('text', '/app')).toBe('text');
    expect(
      describeLoadFailure(Object.assign(new Error('m'), { stack: 'Error: m\n    at /else/x.js:1:1' }), '/app'),
    ).toBe('m');
    const inPackage = 'Error: m\n    at /app/node_modules/p/x.js:1:1\n    at run (/app/a (1).js:2:3)';
    expect(describeLoadFailure(Object.assign(new Error('m'), { stack: inPackage }), '/app')).toBe(
      'm (at a (1).js:2:3)',
    );
  });
});
