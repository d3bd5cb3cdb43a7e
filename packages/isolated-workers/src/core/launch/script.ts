import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { UnsupportedOptionError } from '../../types/errors.js';
import type { ConnectSpec } from '../../types/driver.js';

/** Returns the absolute path of a worker's script, given as a path or a `file:` URL. Throws when it does not exist. */
export function resolveScript(script: string | URL): string {
  const file = script instanceof URL || script.startsWith('file:') ? fileURLToPath(script) : path.resolve(script);
  if (!existsSync(file))
    throw new UnsupportedOptionError(
      `The script ${file} does not exist. Name an existing file, for example new URL('./worker.js', import.meta.url).`,
    );
  if (!/\.[cm]?[jt]s$/.test(file))
    throw new UnsupportedOptionError(`The script ${file} must end in .js, .mjs, .cjs, .ts, .mts or .cts.`);
  return file;
}

/** Returns the host's flags without those that concern only the host, and without their values. */
export function inheritedExecArgv(): string[] {
  const own =
    /^(--eval|-e|--print|-p|--input-type|--inspect|--debug|--watch|--test|--max-old-space-size|--cpu-prof|--heap-prof)/;
  let dropping = false;
  return process.execArgv.filter((argument) => {
    if (argument.startsWith('-')) dropping = own.test(argument);
    return !dropping;
  });
}

/** Flags of known loaders, and those of Node that strip types. */
const knownLoader = /tsx|ts-node|swc|esbuild|--experimental-(strip|transform)-types/;
const anyLoader = /^(--import|--loader|--experimental-loader|--require|-r)(=|$)/;

/**
 * Returns the flags that a TypeScript script needs: none where Node strips types or `execArgv` names a loader, otherwise tsx. An
 * unknown loader is accepted when tsx is not installed. Throws when nothing can run the script.
 */
export function typeScriptArguments(script: string, execArgv: readonly string[]): string[] {
  if (!/\.[cm]?ts$/.test(script) || stripsTypes() || execArgv.some((argument) => knownLoader.test(argument))) return [];
  try {
    return ['--import', pathToFileURL(createRequire(script).resolve('tsx')).href];
  } catch {
    if (execArgv.some((argument) => anyLoader.test(argument))) return [];
    throw new UnsupportedOptionError(
      `Node ${process.versions.node} cannot run ${script}. Install tsx beside it, name a loader in execArgv, compile it to JavaScript, or use Node 22.18 or newer.`,
    );
  }
}

function stripsTypes(): boolean {
  return 'typescript' in process.features && Boolean(process.features.typescript);
}

/**
 * Returns the environment of a worker. Undefined removes a variable, even one of the host: a thread would otherwise read the
 * text "undefined".
 */
export function workerEnvironment({
  env,
  inheritEnv,
}: Pick<ConnectSpec, 'env' | 'inheritEnv'>): Record<string, string> {
  const all: Record<string, string> = {};
  for (const [name, value] of Object.entries(inheritEnv ? { ...process.env, ...env } : { ...env }))
    if (value !== undefined) all[name] = value;
  return all;
}
