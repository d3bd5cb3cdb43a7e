import {
  StatusResultStatus,
  type FunctionMetadataResponseInit,
  type RpcFunctionMetadataInit,
} from '@drover/function-rpc';
import { success } from '../execution/exceptions.js';
import type { AppLoader } from '../loading/app-loader.js';
import type { AppProblem } from '../loading/app-problem.js';
import type { AppSlot } from '../loading/app-slot.js';
import type { MessageHandler } from './dispatch.js';

export interface FunctionsMetadataRequestParts {
  readonly apps: AppSlot;
  readonly loader: AppLoader;
}

/** Reports the functions of the app. Later registrations are rejected. */
export function functionsMetadataRequest(
  parts: FunctionsMetadataRequestParts,
): MessageHandler<'functionsMetadataRequest'> {
  const { apps, loader } = parts;
  return ({ requestId, value: { functionAppDirectory } }, stream) => {
    const answer = async (): Promise<FunctionMetadataResponseInit> => {
      await loader.started;
      apps.current.lock();
      return describeFunctions(apps.current.rpcMetadata, loader.problem ?? noApp(loader, functionAppDirectory));
    };
    void answer().then((value) => stream.send({ kind: 'functionMetadataResponse', requestId, value }));
  };
}

/**
 * Lists the registered functions. Without any, asks the host to look for function.json files. A problem of the app makes
 * the result a failure, even if some functions are registered.
 */
function describeFunctions(
  functions: readonly RpcFunctionMetadataInit[],
  problem: AppProblem | undefined,
): FunctionMetadataResponseInit {
  const known = problem?.blocksAll ? [] : functions;
  return {
    functionMetadataResults: known,
    useDefaultMetadataIndexing: functions.length === 0,
    result: problem ? toFailure(problem) : success,
  };
}

function toFailure({ message, stack }: AppProblem): FunctionMetadataResponseInit['result'] {
  const exception = { message, stackTrace: stack ?? '', source: 'node-worker', isUserException: true };
  return { status: StatusResultStatus.Failure, exception };
}

function noApp({ directory }: AppLoader, asked: string): AppProblem | undefined {
  if (directory !== '') return undefined;
  const which = asked === '' ? '' : ` (the host asked for the functions of ${asked})`;
  return {
    message: `No functions were found: this worker is a placeholder without an app${which}.`,
    blocksAll: true,
  };
}
