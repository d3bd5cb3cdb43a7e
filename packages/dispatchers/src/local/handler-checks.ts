import { realpath, stat } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineError } from '@drover/contracts';
import { mayRead, type FunctionsUser } from '../functions-user.js';

export const localUnavailableError = defineError<{ problem: string }>('LOCAL_UNAVAILABLE', {
  fault: 'customer',
  retryable: false,
  status: 500,
  message: (d) => d.problem,
  help: 'The handler module of a LOCAL function cannot be run. Put it into the folder that `DROVER_HANDLERS_DIR` names, and export a function as `default` or `handler`.',
});

export const localErrors = { localUnavailableError };

/** The module of a handler, or why there is none: a sentence for the caller, which names no path but the caller's own. */
export type HandlerFile = { readonly file: string; readonly directory: string } | { readonly problem: string };

/** The script of a worker as one file, at the same place for the sources and the build. */
export const localWorkerScript = fileURLToPath(new URL('../../dist/bundle/local-worker.js', import.meta.url));

const extensions = ['.js', '.mjs', '.cjs'];

/**
 * Finds the module of a handler. Its real path, links resolved, must be inside the folder of handlers, and the user that workers
 * run as must be able to read it.
 */
export async function findHandlerFile(
  directory: string | undefined,
  handler: string,
  user: FunctionsUser | undefined,
): Promise<HandlerFile> {
  const found = await findInside(directory, handler);
  if ('problem' in found || !user) return found;
  const reader = `the user that runs functions (uid ${user.uid})`;
  if (!(await mayRead(found.file, user)))
    return {
      problem: `the handler ${handler} cannot be read by ${reader}: make it and the folders above it readable for that user, or set DROVER_FUNCTIONS_USER`,
    };
  for (const own of [process.execPath, localWorkerScript])
    if (!(await mayRead(await realpath(own), user)))
      return {
        problem: `this platform is installed where ${reader} cannot read it: install it elsewhere, or set DROVER_FUNCTIONS_USER`,
      };
  return found;
}

async function findInside(directory: string | undefined, handler: string): Promise<HandlerFile> {
  if (directory === undefined)
    return {
      problem: 'this platform has no folder of handlers; set DROVER_HANDLERS_DIR, or use another executionMode',
    };
  const notModule = { problem: `the handler ${handler} must be a .js, .mjs or .cjs file` };
  if (!extensions.includes(path.extname(handler))) return notModule;
  const root = await realpath(directory).catch(() => undefined);
  if (root === undefined)
    return {
      problem: 'the folder of handlers cannot be read; check that DROVER_HANDLERS_DIR names an existing folder',
    };
  const wanted = path.resolve(root, handler);
  const outside = { problem: `the handler ${handler} is outside the folder of handlers` };
  if (!isInside(root, wanted)) return outside;
  const file = await realpath(wanted).catch(() => undefined);
  const missing = { problem: `the folder of handlers has no ${handler}` };
  if (file === undefined) return missing;
  if (!isInside(root, file)) return outside;
  if (!extensions.includes(path.extname(file))) return notModule; // the target of a link
  const facts = await stat(file).catch(() => undefined);
  return facts?.isFile() ? { file, directory: root } : missing;
}

function isInside(root: string, file: string): boolean {
  const relative = path.relative(root, file);
  return relative !== '' && relative !== '..' && !relative.startsWith(`..${path.sep}`) && !path.isAbsolute(relative);
}

/**
 * Variables that make Node, its libraries or the dynamic linker load other code than the handler. The operator chooses the
 * handlers, but every caller that may register functions chooses variables: these would let such a caller run any code.
 */
const dangerous = /^(NODE_(?!ENV$)|LD_|DYLD_|UV_|OPENSSL_|SSL_CERT_|MALLOC_|GLIBC_|GCONV_|V8_|PATH$)/i;

export function mayHandlerHave(name: string): boolean {
  return !dangerous.test(name);
}

/** Returns a sentence for the caller that registers the function; undefined when all names are allowed. */
export function variablesProblem(names: readonly string[]): string | undefined {
  const refused = names.filter((name) => !mayHandlerHave(name));
  if (refused.length === 0) return undefined;
  return `env must not have ${refused.join(', ')} in the mode LOCAL: such variables change what the worker loads`;
}
