/** What one side says it can do: any value that is not empty means yes. */
export type Capabilities = Readonly<Record<string, string>>;

/** Capabilities that change what is said in the protocol, as workers spell them. */
export const capability = {
  rpcHttpBodyOnly: 'RpcHttpBodyOnly',
  rawHttpBodyBytes: 'RawHttpBodyBytes',
  rpcHttpTriggerMetadataRemoved: 'RpcHttpTriggerMetadataRemoved',
  useNullableValueDictionaryForHttp: 'UseNullableValueDictionaryForHttp',
  ignoreEmptyValuedRpcHttpHeaders: 'IgnoreEmptyValuedRpcHttpHeaders',
  typedDataCollection: 'TypedDataCollection',
  includeEmptyEntriesInMessagePayload: 'IncludeEmptyEntriesInMessagePayload',
  workerStatus: 'WorkerStatus',
  handlesWorkerTerminateMessage: 'HandlesWorkerTerminateMessage',
  handlesInvocationCancelMessage: 'HandlesInvocationCancelMessage',
  handlesWorkerWarmupMessage: 'HandlesWorkerWarmupMessage',
  supportsLoadResponseCollection: 'SupportsLoadResponseCollection',
  enableUserCodeException: 'EnableUserCodeException',
  sharedMemoryDataTransfer: 'SharedMemoryDataTransfer',
  httpUri: 'HttpUri',
  requiresRouteParameters: 'RequiresRouteParameters',
  workerApplicationInsightsLoggingEnabled: 'WorkerApplicationInsightsLoggingEnabled',
  workerOpenTelemetryEnabled: 'WorkerOpenTelemetryEnabled',
} as const;

/** True when it was said, and not only as the name of something that every object has. */
export function hasCapability(capabilities: Capabilities, name: string): boolean {
  return Object.hasOwn(capabilities, name) && capabilities[name] !== '';
}
