import path from 'node:path';
import type { RpcFunctionMetadata } from '@drover/function-rpc';
import { inputNamesOf, type LoadedFunction } from './function-app.js';
import type { FunctionCallback, ProgrammingModel } from './functions-core.js';
import { describeLoadFailure } from './load-failure.js';
import type { LoadScript } from './load-script.js';
import { fromBindingInfos } from './rpc-metadata.js';
import { SystemError } from './system-errors.js';

/** Loads the script of a v3 function: a folder with a function.json, whose content the host sends as `metadata`. */
export async function loadLegacyFunction(
  id: string,
  metadata: RpcFunctionMetadata,
  parts: { readonly load: LoadScript; readonly model: ProgrammingModel },
): Promise<LoadedFunction> {
  const { name, directory, scriptFile, entryPoint } = metadata;
  const file = path.resolve(directory, scriptFile || 'index.js');
  const bindings = fromBindingInfos(metadata.bindings);
  try {
    return {
      id,
      name,
      category: `${name}.Invocation`,
      metadata: { name, functionId: id, directory, scriptFile, entryPoint, bindings },
      inputNames: inputNamesOf({ name, bindings }),
      callback: findEntryPoint(await parts.load(file), entryPoint),
      model: () => parts.model,
    };
  } catch (error) {
    // The script of a function may be beside its folder, as builds of TypeScript place it.
    const reason = describeLoadFailure(error, path.dirname(directory));
    throw new SystemError(`Worker was unable to load function ${name} from ${file}: ${reason}`, { cause: error });
  }
}

/** Finds the function among the exports of a script and binds it to them. */
export function findEntryPoint(exports: unknown, entryPoint: string): FunctionCallback {
  if (typeof exports === 'function' && entryPoint === '') return exports as FunctionCallback;
  const members = isMembers(exports) ? exports : {};
  const found = choose(members, entryPoint);
  if (found === undefined || found === null) {
    const which = entryPoint === '' ? '' : `: ${entryPoint}`;
    throw new SystemError(
      `Unable to determine function entry point${which}. If multiple functions are exported, you must indicate the entry ` +
        "point, either by naming it 'run' or 'index', or by naming it explicitly via the 'entryPoint' metadata property.",
    );
  }
  if (typeof found !== 'function') {
    throw new SystemError(
      'The resolved entry point is not a function and cannot be invoked by the functions runtime. ' +
        'Make sure the function has been correctly exported.',
    );
  }
  return (found as FunctionCallback).bind(exports);
}

function choose(members: Readonly<Record<string, unknown>>, entryPoint: string): unknown {
  // Importing an ES module that was compiled to CommonJS yields its exports below `default`.
  const inner = isMembers(members['default']) ? members['default'] : {};
  if (entryPoint !== '') return members[entryPoint] ?? inner[entryPoint];
  const names = Object.keys(members);
  const [only] = names;
  if (names.length === 1 && only !== undefined) return members[only];
  return members['run'] ?? members['index'] ?? members['default'];
}

function isMembers(value: unknown): value is Readonly<Record<string, unknown>> {
  return (typeof value === 'object' && value !== null) || typeof value === 'function';
}
