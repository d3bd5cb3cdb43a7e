import { pathToFileURL } from 'node:url';
import { describeFailure } from './to-reply.js';

/** The function that a module of the mode LOCAL exports, as `default` or `handler`. */
export type Handler = (input: unknown, context: unknown) => unknown;

export type LoadedHandler = { readonly handler: Handler } | { readonly problem: string };

/** Imports the module. Returns a sentence for the caller when that fails or the module has no handler. */
export async function loadHandler(file: string, directory: string): Promise<LoadedHandler> {
  const name = file.slice(directory.length + 1);
  try {
    const loaded = (await import(pathToFileURL(file).href)) as Record<string, unknown>; // a module has named exports
    const handler = pick(loaded);
    if (handler) return { handler };
    const found = Object.keys(loaded).join(', ') || 'nothing';
    return { problem: `${name} exports ${found}; export the handler as default or as "handler"` };
  } catch (error) {
    const why = describeFailure(error).replaceAll(`${directory}/`, '').replaceAll('file://', '');
    return { problem: `${name} cannot be loaded: ${why}` };
  }
}

/** The exports of CommonJS modules are also properties of `default`. */
function pick(loaded: Record<string, unknown>): Handler | undefined {
  const inner = loaded['default'];
  const nested = typeof inner === 'object' && inner !== null ? (inner as Record<string, unknown>) : {};
  const candidates = [inner, loaded['handler'], nested['default'], nested['handler']];
  return candidates.find((candidate): candidate is Handler => typeof candidate === 'function');
}
