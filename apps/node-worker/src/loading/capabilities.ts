import type { CoreCapabilities, ProgrammingModel } from './functions-core.js';
import type { WorkerMetadataInit } from '@drover/function-rpc';

/** The version in package.json, repeated because the bundle has no package.json of the worker beside it. */
export const workerVersion = '0.1.0';

/** The capabilities with any app. The official worker does not have the last five. */
export const defaultCapabilities: Readonly<CoreCapabilities> = {
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

/** Returns the current metadata of the worker, including its programming model. */
export type WorkerDescription = () => WorkerMetadataInit;

/** Describes this process to the host. */
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
    // A restarted runtime learns from the directory which app a reconnecting worker runs.
    customProperties: { modelName: model.name, modelVersion: model.version, ...(appDirectory && { appDirectory }) },
  };
}
