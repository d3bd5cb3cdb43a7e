import {
  StatusResultStatus,
  type FunctionMetadataResponseInit,
  type RpcFunctionMetadataInit,
} from '@drover/function-rpc';
import { success } from '../execution/exceptions.js';
import type { AppLoader } from '../loading/app-loader.js';
import type { AppProblem } from '../loading/app-problem.js';
import type { AppSlot } from '../loading/app-slot.js';
import type { MessageHandler } from '../stream/host-stream.js';

export interface FunctionsMetadataRequestParts {
  readonly apps: AppSlot;
  readonly loader: AppLoader;
}

/** Says which functions the app has. No registration is taken after that. */
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
 * The functions that were registered; or, when there are none, the wish that the host looks for function.json files. What
 * is wrong with the app makes the result a failure, whatever functions it has besides.
 */
export function describeFunctions(
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
  const which = asked === '' ? '' : ` (the host asks for those of ${asked})`;
  return {
    message: `No functions were found: this worker is a placeholder, it was given no app${which}.`,
    blocksAll: true,
  };
}
