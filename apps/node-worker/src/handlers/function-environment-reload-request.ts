import { isDeepStrictEqual } from 'node:util';
import {
  FunctionEnvironmentReloadResponseCapabilitiesUpdateStrategy as Strategy,
  type FunctionEnvironmentReloadRequest,
  type FunctionEnvironmentReloadResponseInit,
} from '@drover/function-rpc';
import { failure, success } from '../execution/exceptions.js';
import type { AppLoader } from '../loading/app-loader.js';
import type { PreparedLibrary } from '../loading/prepared-library.js';
import { SystemError } from '../loading/system-errors.js';
import type { WorkerDescription } from '../loading/capabilities.js';
import type { SystemLog } from '../logs/system-log.js';
import type { MessageHandler } from './dispatch.js';

/** The parts of the process that a specialization changes. */
export interface AppProcess {
  /** Sets exactly these variables and deletes all others. */
  replaceEnvironment(variables: Readonly<Record<string, string>>): void;
  changeDirectory(directory: string): void;
}

export interface FunctionEnvironmentReloadRequestParts {
  readonly loader: AppLoader;
  readonly prepared: PreparedLibrary;
  readonly appProcess: AppProcess;
  readonly describe: WorkerDescription;
  readonly systemLog: SystemLog;
}

/**
 * Specializes a placeholder for an app. Works once: what an app changed in its process cannot be undone. The same request comes
 * again from a host that was restarted; the app stays loaded.
 */
export function functionEnvironmentReloadRequest(
  parts: FunctionEnvironmentReloadRequestParts,
): MessageHandler<'functionEnvironmentReloadRequest'> {
  const { loader, describe } = parts;
  let specialized: { readonly by: FunctionEnvironmentReloadRequest; readonly done: Promise<void> } | undefined;

  const answer = async (request: FunctionEnvironmentReloadRequest): Promise<FunctionEnvironmentReloadResponseInit> => {
    try {
      if (specialized && !isDeepStrictEqual(specialized.by, request)) {
        throw new SystemError(
          `This worker has already been specialized for the app in ${loader.directory}. Use a new worker for another app.`,
        );
      }
      specialized ??= { by: request, done: specialize(request, parts) };
      await specialized.done;
      return {
        capabilities: await loader.capabilities(),
        capabilitiesUpdateStrategy: Strategy.replace,
        workerMetadata: describe(),
        result: success,
      };
    } catch (error) {
      return { workerMetadata: describe(), result: failure(error) };
    }
  };

  return ({ requestId, value: request }, stream) => {
    void answer(request).then((value) => stream.send({ kind: 'functionEnvironmentReloadResponse', requestId, value }));
  };
}

async function specialize(
  { environmentVariables, functionAppDirectory }: FunctionEnvironmentReloadRequest,
  { loader, prepared, appProcess, systemLog }: FunctionEnvironmentReloadRequestParts,
): Promise<void> {
  const count = Object.keys(environmentVariables).length;
  systemLog('information', `Reloading environment variables. Found ${count} variables to reload.`);
  appProcess.replaceEnvironment(environmentVariables);
  if (functionAppDirectory === '') return;
  appProcess.changeDirectory(functionAppDirectory);
  prepared.offerTo(functionAppDirectory);
  await loader.replace(functionAppDirectory);
}
