import { realpath, stat } from 'node:fs/promises';
import path from 'node:path';

export type HandlerFile =
  | { readonly file: string; readonly directory: string }
  /** In words, for whoever registered the function; names no path but their own. */
  | { readonly problem: string };

const extensions = ['.js', '.mjs', '.cjs'];

/** Finds the module of a handler. What it really is, links followed, must lie inside the folder of handlers. */
export async function findHandlerFile(directory: string | undefined, handler: string): Promise<HandlerFile> {
  if (directory === undefined) {
    return {
      problem:
        'this platform runs no handlers of its own; whoever runs it can name a folder of them in DROVER_HANDLERS_DIR',
    };
  }
  if (!extensions.includes(path.extname(handler)))
    return { problem: `the handler ${handler} must be a .js, .mjs or .cjs file` };
  const root = await realpath(directory).catch(() => undefined);
  if (root === undefined)
    return {
      problem: 'the folder that DROVER_HANDLERS_DIR names cannot be read; whoever runs the platform must see to it',
    };
  const wanted = path.resolve(root, handler);
  const outside = { problem: `the handler ${handler} lies outside of the folder of handlers` };
  if (!isInside(root, wanted)) return outside;
  const file = await realpath(wanted).catch(() => undefined);
  const missing = { problem: `there is no handler ${handler} in the folder of handlers` };
  if (file === undefined) return missing;
  if (!isInside(root, file)) return outside;
  // Where a link leads must be a module as well.
  if (!extensions.includes(path.extname(file)))
    return { problem: `the handler ${handler} must be a .js, .mjs or .cjs file` };
  const facts = await stat(file).catch(() => undefined);
  return facts?.isFile() ? { file, directory: root } : missing;
}

function isInside(root: string, file: string): boolean {
  const relative = path.relative(root, file);
  return relative !== '' && relative !== '..' && !relative.startsWith(`..${path.sep}`) && !path.isAbsolute(relative);
}
