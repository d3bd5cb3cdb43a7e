import {
  FunctionEnvironmentReloadResponseCapabilitiesUpdateStrategy as Strategy,
  type FunctionEnvironmentReloadRequest,
  type FunctionEnvironmentReloadResponseInit,
} from '@drover/function-rpc';
import { failure, success } from '../execution/exceptions.js';
import type { AppLoader } from '../loading/app-loader.js';
import { SystemError } from '../loading/system-errors.js';
import type { WorkerDescription } from '../loading/worker-description.js';
import type { SystemLog } from '../logs/system-log.js';
import type { MessageHandler } from '../stream/host-stream.js';

/** The parts of the process that belong to the app. */
export interface AppProcess {
  /** Sets exactly these variables; all others are gone. */
  replaceEnvironment(variables: Readonly<Record<string, string>>): void;
  changeDirectory(directory: string): void;
}

export interface FunctionEnvironmentReloadRequestParts {
  readonly loader: AppLoader;
  readonly appProcess: AppProcess;
  readonly describe: WorkerDescription;
  readonly systemLog: SystemLog;
}

/** Turns a placeholder into the worker of an app. That works once: what an app has done to a process stays in it. */
export function functionEnvironmentReloadRequest(
  parts: FunctionEnvironmentReloadRequestParts,
): MessageHandler<'functionEnvironmentReloadRequest'> {
  const { loader, describe } = parts;
  let isSpecialized = false;

  const answer = async (request: FunctionEnvironmentReloadRequest): Promise<FunctionEnvironmentReloadResponseInit> => {
    try {
      if (isSpecialized) {
        throw new SystemError(
          `This worker has been specialized before, for the app in ${loader.directory}: it can be so once.`,
        );
      }
      isSpecialized = true;
      await specialize(request, parts);
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
  { loader, appProcess, systemLog }: FunctionEnvironmentReloadRequestParts,
): Promise<void> {
  const count = Object.keys(environmentVariables).length;
  systemLog('information', `Reloading environment variables. Found ${count} variables to reload.`);
  appProcess.replaceEnvironment(environmentVariables);
  if (functionAppDirectory === '') return;
  appProcess.changeDirectory(functionAppDirectory);
  await loader.replace(functionAppDirectory);
}
