import { readFileSync } from 'node:fs';
import path from 'node:path';

/** The used fields of a package.json, or why it cannot be used. */
export type PackageJson =
  | { readonly kind: 'read'; readonly main?: string; readonly type?: string }
  | { readonly kind: 'missing' }
  | { readonly kind: 'invalid'; readonly reason: string };

export function readPackageJson(directory: string): PackageJson {
  let text: string;
  try {
    text = readFileSync(path.join(directory, 'package.json'), 'utf8');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'ENOENT' || code === 'ENOTDIR') return { kind: 'missing' };
    return { kind: 'invalid', reason: `it cannot be read: ${String(error)}` };
  }
  return parsePackageJson(text);
}

function parsePackageJson(text: string): PackageJson {
  let data: unknown;
  try {
    // Editors on Windows write a byte order mark, which JSON does not allow.
    data = JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch (error) {
    return { kind: 'invalid', reason: `it is not valid JSON: ${error instanceof Error ? error.message : ''}` };
  }
  if (typeof data !== 'object' || data === null || Array.isArray(data)) {
    return { kind: 'invalid', reason: 'its content is not an object' };
  }
  const { main, type } = data as Record<string, unknown>;
  return {
    kind: 'read',
    ...(typeof main === 'string' && main.trim() !== '' && { main: main.trim() }),
    ...(typeof type === 'string' && { type }),
  };
}

/** Returns `type` of the nearest package.json, which decides in Node whether a `.js` file is an ES module. */
export function packageTypeOf(file: string): string | undefined {
  for (let folder = path.dirname(file); ; folder = path.dirname(folder)) {
    const found = readPackageJson(folder);
    if (found.kind !== 'missing') return found.kind === 'read' ? found.type : undefined;
    if (path.basename(folder) === 'node_modules' || folder === path.dirname(folder)) return undefined;
  }
}
