import { splitWords } from './split-words.js';

/**
 * Returns the options that an app wants for the program of its workers: the setting `languageWorkers__node__arguments`, as in the
 * official host, with the runtime of the app in place of `node`. They come before the worker's own file.
 */
export function programOptionsOf(settings: Readonly<Record<string, string | undefined>>): readonly string[] {
  const runtime = findSetting(settings, 'FUNCTIONS_WORKER_RUNTIME')?.trim() || 'node';
  const text = findSetting(settings, `languageWorkers__${runtime}__arguments`) ?? '';
  return splitWords(text) ?? text.split(/\s+/).filter(Boolean);
}

/** Names are case-insensitive and `:` equals `__`; an exact match takes precedence. */
function findSetting(settings: Readonly<Record<string, string | undefined>>, wanted: string): string | undefined {
  if (Object.hasOwn(settings, wanted) && settings[wanted] !== undefined) return settings[wanted];
  return Object.entries(settings).findLast(([name, value]) => value !== undefined && fold(name) === fold(wanted))?.[1];
}

function fold(name: string): string {
  return name.replaceAll(':', '__').toLowerCase();
}
