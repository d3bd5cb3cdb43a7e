import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** A small app with two packages: one resolved by `main`, one by `exports`. */
const files: Readonly<Record<string, string>> = {
  'package.json': '{ "main": "src/*.js" }',
  'src/index.js': "module.exports = [require('by-main'), require('by-exports')];",
  'node_modules/by-main/package.json': '{ "main": "./dist/index.js" }',
  'node_modules/by-main/dist/index.js': "module.exports = require('./inner.js');",
  'node_modules/by-main/dist/inner.js': 'module.exports = 1;',
  'node_modules/by-exports/package.json':
    '{ "exports": { ".": { "import": "./index.mjs", "require": { "types": "./index.d.ts", "default": "./index.js" } } } }',
  'node_modules/by-exports/index.js': 'module.exports = 2;',
};

/**
 * Creates an app in a temporary directory, calls `load` with it, and deletes it. Node compiles its module loader at first
 * use, which takes longer than loading an app: this moves the cost into the warm-up.
 */
export async function withWarmUpApp(load: (directory: string) => Promise<void>): Promise<void> {
  let directory: string;
  try {
    directory = mkdtempSync(path.join(tmpdir(), 'drover-warm-up-'));
  } catch {
    return; // not writable: the first app then loads a little slower
  }
  try {
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(path.dirname(path.join(directory, name)), { recursive: true });
      writeFileSync(path.join(directory, name), text);
    }
    await load(directory);
    removeFromCache(directory);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function removeFromCache(directory: string): void {
  const { cache } = createRequire(path.join(directory, 'x.js'));
  for (const file of Object.keys(cache)) if (file.startsWith(directory)) delete cache[file];
}
