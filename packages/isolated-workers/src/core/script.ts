import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { UnsupportedOptionError } from '../types/errors.js';

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

/** The host's own flags, without those that are about the host alone. */
export function inheritedExecArgv(): string[] {
  const own =
    /^(--eval|-e|--print|-p|--input-type|--inspect|--debug|--watch|--test|--max-old-space-size|--cpu-prof|--heap-prof)/;
  return process.execArgv.filter(
    (argument, index, all) => !own.test(argument) && !/^(-e|--eval|-p|--print)$/.test(all[index - 1] ?? ''),
  );
}

/** What a process needs to run this script: TypeScript runs where Node strips types, or where tsx is installed. */
export function typeScriptArguments(script: string, execArgv: readonly string[]): string[] {
  if (!/\.[cm]?ts$/.test(script) || stripsTypes() || execArgv.some((argument) => /tsx|ts-node|swc/.test(argument)))
    return [];
  try {
    const tsx = createRequire(script).resolve('tsx');
    return ['--import', tsx];
  } catch {
    throw new UnsupportedOptionError(
      `Node ${process.versions.node} cannot run ${script}; install tsx beside it, compile it to JavaScript, or use Node 22.18 or newer`,
    );
  }
}

function stripsTypes(): boolean {
  return 'typescript' in process.features && Boolean(process.features.typescript);
}
