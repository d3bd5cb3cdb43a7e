import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { processVariable } from './launch-parameters.js';
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

/**
 * Returns the host's flags without those that concern only the host, and without their values. `isWanted` says which of the
 * others are kept.
 */
export function inheritedExecArgv(isWanted: (flag: string) => boolean = () => true): string[] {
  const own =
    /^(--eval|-e|--print|-p|--input-type|--inspect|--debug|--watch|--test|--max-old-space-size|--cpu-prof|--heap-prof)/;
  let dropping = false;
  return process.execArgv.filter((argument) => {
    if (argument.startsWith('-')) dropping = own.test(argument) || !isWanted(argument);
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
export function typeScriptArguments(script: string, execArgv: readonly string[], kind: 'process' | 'thread'): string[] {
  if (!/\.[cm]?ts$/.test(script) || stripsTypes()) return [];
  const named = execArgv.find((argument) => knownLoader.test(argument));
  // On Node 20, tsx in the flags of a thread does nothing: it registers its hooks only in the main thread.
  if (named !== undefined && !(kind === 'thread' && named.includes('tsx'))) return [];
  const tsx = kind === 'thread' ? tsxForThread(script, named) : resolveFrom(script, 'tsx');
  if (tsx !== undefined) return ['--import', tsx];
  if (execArgv.some((argument) => anyLoader.test(argument))) return [];
  throw new UnsupportedOptionError(
    `Node ${process.versions.node} cannot run ${script}. Install tsx beside it, name a loader in execArgv, compile it to JavaScript, or use Node 22.18 or newer.`,
  );
}

/** Returns a module that registers tsx in a thread. It is looked up beside the script, then where a flag of the host names it. */
function tsxForThread(script: string, flag = ''): string | undefined {
  const named = flag.slice(flag.startsWith('--') ? flag.indexOf('=') + 1 : 0);
  const flagged = named.startsWith('file:') ? fileURLToPath(named) : path.resolve(named);
  const manifest = resolveFrom(script, 'tsx/package.json') ?? (flag && resolveFrom(flagged, 'tsx/package.json'));
  if (!manifest) return undefined;
  const apis = ['./esm/api', './cjs/api'].flatMap((name) => importedFile(new URL(manifest), name) ?? []);
  const lines = apis.map(
    (url, at) => `import { register as register${at} } from ${JSON.stringify(url)}; register${at}();`,
  );
  return `data:text/javascript,${encodeURIComponent(lines.join('\n'))}`;
}

/** Returns the URL of the ES module behind an export of a package. `require.resolve` would return another one, for `require`. */
function importedFile(manifest: URL, name: string): string | undefined {
  const { exports = {} } = JSON.parse(readFileSync(manifest, 'utf8')) as { exports?: Record<string, ExportTarget> };
  let target = exports[name];
  while (typeof target === 'object') target = target['import'] ?? target['default'];
  return target === undefined ? undefined : new URL(target, manifest).href;
}

type ExportTarget = string | { readonly [condition: string]: ExportTarget };

/** Returns the URL of a module as a file sees it, undefined when it is not installed there. */
function resolveFrom(file: string, name: string): string | undefined {
  try {
    return pathToFileURL(createRequire(file).resolve(name)).href;
  } catch {
    return undefined;
  }
}

function stripsTypes(): boolean {
  return 'typescript' in process.features && Boolean(process.features.typescript);
}

/**
 * Returns the environment of a worker. Undefined removes a variable, even one of the host: a thread would otherwise read the
 * text "undefined". The launch parameters of this process, if it is a worker that does not serve yet, are not for others.
 */
export function workerEnvironment({
  env,
  inheritEnv,
}: Pick<ConnectSpec, 'env' | 'inheritEnv'>): Record<string, string> {
  const all: Record<string, string> = {};
  for (const [name, value] of Object.entries(inheritEnv ? { ...process.env, ...env } : { ...env }))
    if (value !== undefined && name !== processVariable) all[name] = value;
  return all;
}
