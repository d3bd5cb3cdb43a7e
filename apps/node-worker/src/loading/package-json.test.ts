import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { withScratchDirectory } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { findEntryPoints, hasFunctionJson } from './entry-points.js';
import { isEsModule } from './load-script.js';
import { packageTypeOf, readPackageJson, type PackageJson } from './package-json.js';

async function readText(text: string): Promise<PackageJson> {
  return await withScratchDirectory((directory) => {
    writeFileSync(path.join(directory, 'package.json'), text);
    return Promise.resolve(readPackageJson(directory));
  });
}

describe('package.json', () => {
  it.each([
    ['{"main":"index.js","type":"module","x":1}', { kind: 'read', main: 'index.js', type: 'module' }],
    ['\uFEFF{"main":" a.js "}', { kind: 'read', main: 'a.js' }],
    ['{"main":5,"type":null}', { kind: 'read' }],
    ['{"main":""}', { kind: 'read' }],
    ['[]', { kind: 'invalid', reason: 'its content is not an object' }],
    ['null', { kind: 'invalid', reason: 'its content is not an object' }],
  ])('is read as far as it makes sense: %s', async (text, expected) => {
    expect(await readText(text)).toEqual(expected);
  });

  it('says why it is not valid', async () => {
    expect(await readText('{')).toMatchObject({
      kind: 'invalid',
      reason: expect.stringMatching(/^it is not valid JSON: /) as string,
    });
  });

  it('may be missing', () => {
    expect(readPackageJson('/does/not/exist')).toEqual({ kind: 'missing' });
  });

  it('decides for .js files below it, unless one is nearer', async () => {
    await withScratchDirectory((directory) => {
      const inner = path.join(directory, 'dist');
      mkdirSync(inner);
      writeFileSync(path.join(directory, 'package.json'), '{"type":"module"}');
      expect(packageTypeOf(path.join(inner, 'a.js'))).toBe('module');
      writeFileSync(path.join(inner, 'package.json'), '{}');
      expect(packageTypeOf(path.join(inner, 'a.js'))).toBeUndefined();
      expect(isEsModule(path.join(directory, 'a.js'), packageTypeOf)).toBe(true);
      expect(isEsModule(path.join(inner, 'a.js'), packageTypeOf)).toBe(false);
      expect(isEsModule(path.join(inner, 'a.mjs'), packageTypeOf)).toBe(true);
      expect(isEsModule(path.join(directory, 'a.cjs'), packageTypeOf)).toBe(false);
      return Promise.resolve();
    });
  });
});

describe('entry points', () => {
  it('may leave out what Node lets them leave out', async () => {
    await withScratchDirectory((directory) => {
      mkdirSync(path.join(directory, 'lib'));
      for (const file of ['lib/index.js', 'other.mjs', '[x].js']) writeFileSync(path.join(directory, file), '');
      expect(findEntryPoints('lib', directory)).toEqual(['lib/index.js']);
      expect(findEntryPoints('lib/', directory)).toEqual(['lib/index.js']);
      expect(findEntryPoints('./other', directory)).toEqual(['other.mjs']);
      expect(findEntryPoints('[x].js', directory)).toEqual(['[x].js']);
      expect(findEntryPoints('missing.js', directory)).toEqual([]);
      return Promise.resolve();
    });
  });

  it('of the v3 kind are folders with a function.json', async () => {
    await withScratchDirectory((directory) => {
      expect(hasFunctionJson(directory)).toBe(false);
      writeFileSync(path.join(directory, 'function.json'), '{}');
      expect(hasFunctionJson(directory)).toBe(false);
      mkdirSync(path.join(directory, 'Http'));
      writeFileSync(path.join(directory, 'Http', 'function.json'), '{}');
      expect(hasFunctionJson(directory)).toBe(true);
      expect(hasFunctionJson('/does/not/exist')).toBe(false);
      return Promise.resolve();
    });
  });
});
