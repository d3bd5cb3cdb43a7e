import type { FunctionLoadRequest, FunctionLoadResponseInit } from '@drover/function-rpc';
import { failure, success } from '../execution/exceptions.js';
import type { AppLoader } from '../loading/app-loader.js';
import type { AppSlot } from '../loading/app-slot.js';
import type { ProgrammingModel } from '../loading/functions-core.js';
import { loadLegacyFunction } from '../loading/legacy-function.js';
import type { LoadScript } from '../loading/load-script.js';
import { SystemError } from '../loading/system-errors.js';
import type { SystemLog } from '../logs/system-log.js';
import type { MessageHandler } from './dispatch.js';

export interface FunctionLoadParts {
  readonly apps: AppSlot;
  readonly loader: AppLoader;
  readonly load: LoadScript;
  readonly legacyModel: ProgrammingModel;
  readonly systemLog: SystemLog;
}

/** Loads the script of a v3 function. A v4 function was registered at start; the request only checks that. */
export function functionLoadRequest(parts: FunctionLoadParts): MessageHandler<'functionLoadRequest'> {
  return ({ requestId, value: request }, stream) => {
    void loadFunction(parts, request).then((value) => stream.send({ kind: 'functionLoadResponse', requestId, value }));
  };
}

/** Returns the response to a load request. Never rejects. */
export async function loadFunction(
  { apps, loader, load, legacyModel, systemLog }: FunctionLoadParts,
  { functionId, metadata }: FunctionLoadRequest,
): Promise<FunctionLoadResponseInit> {
  try {
    await loader.started;
    const app = apps.current;
    app.lock();
    const { problem } = loader;
    if (problem?.blocksAll) throw withStack(new SystemError(problem.message), problem.stack);
    if (app.registeredCount > 0) {
      if (!app.find(functionId)) throw notRegistered(functionId, app.functionIds, problem?.message);
    } else if (metadata && !metadata.isProxy) {
      app.addLegacy(await loadLegacyFunction(functionId, metadata, { load, model: legacyModel }));
    }
    return { functionId, result: success };
  } catch (error) {
    systemLog('error', error instanceof Error ? error.message : String(error));
    return { functionId, result: failure(error) };
  }
}

function notRegistered(functionId: string, known: readonly string[], problem: string | undefined): SystemError {
  const names = known.length > 10 ? `${known.slice(0, 10).join(', ')} and ${known.length - 10} more` : known.join(', ');
  return new SystemError(
    `The app has not registered a function '${functionId}', only ${names}. ${problem ?? ''}`.trim(),
  );
}

/** Replaces the stack by that of the error in the app, which names the place to fix. */
function withStack(error: SystemError, stack: string | undefined): SystemError {
  if (stack !== undefined) error.stack = stack;
  return error;
}
