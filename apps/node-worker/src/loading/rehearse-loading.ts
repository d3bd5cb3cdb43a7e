import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** A small app with two packages: one that is found by its `main`, one by its `exports`, as libraries are. */
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
 * Calls `load` with the directory of an app that exists for the moment. Node compiles the code by which it finds and loads
 * modules when it first needs it, which takes longer than to load an app; here it is needed before there is an app.
 */
export async function withRehearsalApp(load: (directory: string) => Promise<void>): Promise<void> {
  let directory: string;
  try {
    directory = mkdtempSync(path.join(tmpdir(), 'drover-warm-up-'));
  } catch {
    return; // nothing can be written here: then the first app takes a little longer
  }
  try {
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(path.dirname(path.join(directory, name)), { recursive: true });
      writeFileSync(path.join(directory, name), text);
    }
    await load(directory);
    forget(directory);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function forget(directory: string): void {
  const { cache } = createRequire(path.join(directory, 'x.js'));
  for (const file of Object.keys(cache)) if (file.startsWith(directory)) delete cache[file];
}
