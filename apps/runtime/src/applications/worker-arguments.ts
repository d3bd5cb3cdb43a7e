import { splitWords } from '@drover/instance-provider';
import { Settings } from './settings.js';

/**
 * Returns the arguments that an app wants for the program of its workers: `languageWorkers__node__arguments`, as in the
 * official host, with the runtime of the app in place of `node`. They come before the worker's own file.
 */
export function workerArguments(environment: Readonly<Record<string, string>>): readonly string[] {
  const settings = new Settings(environment);
  const runtime = settings.get('FUNCTIONS_WORKER_RUNTIME')?.trim() || 'node';
  const text = settings.get(`languageWorkers__${runtime}__arguments`) ?? '';
  return splitWords(text) ?? text.split(/\s+/).filter(Boolean);
}
