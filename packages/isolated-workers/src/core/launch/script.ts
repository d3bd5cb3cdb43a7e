import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { UnsupportedOptionError } from '../../types/errors.js';

/** The absolute path of a worker's script; `file:` URLs (also `new URL('./w.js', import.meta.url)`) and paths both do. */
export function resolveScript(script: string | URL): string {
  const file = script instanceof URL || script.startsWith('file:') ? fileURLToPath(script) : path.resolve(script);
  if (!existsSync(file))
    throw new UnsupportedOptionError(
      `there is no script ${file}; name an existing file, or use new URL('./worker.js', import.meta.url)`,
    );
  if (!/\.[cm]?[jt]s$/.test(file))
    throw new UnsupportedOptionError(`${file} is no script: it must end in .js, .mjs, .cjs, .ts, .mts or .cts`);
  return file;
}

/** The host's own flags, without those that are about the host alone, and without what belongs to them. */
export function inheritedExecArgv(): string[] {
  const own =
    /^(--eval|-e|--print|-p|--input-type|--inspect|--debug|--watch|--test|--max-old-space-size|--cpu-prof|--heap-prof)/;
  let dropping = false;
  return process.execArgv.filter((argument) => {
    if (argument.startsWith('-')) dropping = own.test(argument);
    return !dropping;
  });
}

/** Flags that bring a loader along, and those of Node that strip types. */
const knownLoader = /tsx|ts-node|swc|esbuild|--experimental-(strip|transform)-types/;
const anyLoader = /^(--import|--loader|--experimental-loader|--require|-r)(=|$)/;

/**
 * What a worker needs to run this script: TypeScript runs where Node strips types, where tsx is installed, or with a loader
 * of the user's. One that nobody knows by its name is believed in when there is nothing else.
 */
export function typeScriptArguments(script: string, execArgv: readonly string[]): string[] {
  if (!/\.[cm]?ts$/.test(script) || stripsTypes() || execArgv.some((argument) => knownLoader.test(argument))) return [];
  try {
    return ['--import', pathToFileURL(createRequire(script).resolve('tsx')).href];
  } catch {
    if (execArgv.some((argument) => anyLoader.test(argument))) return [];
    throw new UnsupportedOptionError(
      `Node ${process.versions.node} cannot run ${script}; install tsx beside it, name your loader in execArgv, compile it to JavaScript, or use Node 22.18 or newer`,
    );
  }
}

function stripsTypes(): boolean {
  return 'typescript' in process.features && Boolean(process.features.typescript);
}
