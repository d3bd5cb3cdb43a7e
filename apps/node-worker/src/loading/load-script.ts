import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { packageTypeOf } from './package-json.js';

/** Loads a file of an app and returns what it exports. */
export type LoadScript = (file: string) => Promise<unknown>;

/**
 * By `require` or by `import`, as Node itself would decide. Not always by `import`, which takes both: its loader costs a
 * start several milliseconds that most apps never need.
 */
export const loadScript: LoadScript = async (file) => {
  if (isEsModule(file, packageTypeOf)) return await import(pathToFileURL(file).href);
  try {
    return createRequire(file)(file);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    // The file itself may be one after all: a package.json of another tool, say. Anything below it is the app's affair.
    if (code === 'ERR_REQUIRE_ESM' && String(error).includes(file)) return await import(pathToFileURL(file).href);
    throw error;
  }
};

export function isEsModule(file: string, packageType: (file: string) => string | undefined): boolean {
  if (file.endsWith('.mjs')) return true;
  if (file.endsWith('.cjs')) return false;
  return packageType(file) === 'module';
}
