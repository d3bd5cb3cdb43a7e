import type { Capabilities, ProgrammingModel } from './functions-core.js';
import { workerVersion } from '../version.js';
import type { WorkerMetadataInit } from '@drover/function-rpc';

/** What this worker can do with any app. The last five the official worker cannot. */
export const defaultCapabilities: Readonly<Capabilities> = {
  RawHttpBodyBytes: 'true',
  RpcHttpBodyOnly: 'true',
  RpcHttpTriggerMetadataRemoved: 'true',
  UseNullableValueDictionaryForHttp: 'true',
  IgnoreEmptyValuedRpcHttpHeaders: 'true',
  TypedDataCollection: 'true',
  WorkerStatus: 'true',
  HandlesWorkerTerminateMessage: 'true',
  HandlesInvocationCancelMessage: 'true',
  HandlesWorkerWarmupMessage: 'true',
  SupportsLoadResponseCollection: 'true',
  EnableUserCodeException: 'true',
  IncludeEmptyEntriesInMessagePayload: 'true',
};

/** What hosts are told about this process. */
export function workerMetadata(
  model: ProgrammingModel,
  runtime: { readonly version: string; readonly arch: string },
  appDirectory: string,
): WorkerMetadataInit {
  return {
    runtimeName: 'node',
    runtimeVersion: runtime.version,
    workerVersion,
    workerBitness: runtime.arch === 'ia32' ? 'x86' : runtime.arch,
    // The directory tells a runtime that was restarted what a worker that comes back to it has become.
    customProperties: { modelName: model.name, modelVersion: model.version, ...(appDirectory && { appDirectory }) },
  };
}
