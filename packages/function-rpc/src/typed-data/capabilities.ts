/** Announced capabilities. Any non-empty value means yes. */
export type Capabilities = Readonly<Record<string, string>>;

/** The capabilities that change the protocol, with the names that workers use. */
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

/** True when the capability was announced. Checks own properties, because names come from the peer. */
export function hasCapability(capabilities: Capabilities, name: string): boolean {
  return Object.hasOwn(capabilities, name) && capabilities[name] !== '';
}
