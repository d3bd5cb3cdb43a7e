import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { packageTypeOf } from './package-json.js';

/** Loads a file of an app and returns what it exports. */
export type LoadScript = (file: string) => Promise<unknown>;

/**
 * Uses `require` or `import`, as Node itself would decide. `import` alone would load both kinds, but its loader adds several
 * milliseconds to the start of apps that do not need it.
 */
export const loadScript: LoadScript = async (file) => {
  if (isEsModule(file, packageTypeOf)) return await import(pathToFileURL(file).href);
  try {
    return createRequire(file)(file);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    // The file itself may still be an ES module. An error from a module that the file requires belongs to the app.
    if (code === 'ERR_REQUIRE_ESM' && String(error).includes(file)) return await import(pathToFileURL(file).href);
    throw error;
  }
};

export function isEsModule(file: string, packageType: (file: string) => string | undefined): boolean {
  if (file.endsWith('.mjs')) return true;
  if (file.endsWith('.cjs')) return false;
  return packageType(file) === 'module';
}
