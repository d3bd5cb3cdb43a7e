// Generated from proto/ by src/generator/main.ts (npm run generate -w @drover/function-rpc). Do not edit.

export {
  StatusResultStatus,
  FileChangeEventRequestType,
  WorkerActionResponseAction,
  FunctionEnvironmentReloadResponseCapabilitiesUpdateStrategy,
  RpcDataType,
  BindingInfoDirection,
  BindingInfoDataType,
  RpcLogLevel,
  RpcLogCategory,
  RpcHttpCookieSameSite,
  RpcRetryOptionsRetryStrategy,
} from './enums.js';
export type {
  StreamingMessage,
  StreamingMessageContent,
  StreamingMessageContentInit,
  StreamingMessageKind,
  StreamingMessageOf,
  StreamingMessageInit,
} from './streaming-message.js';
export type { StartStream, StartStreamInit } from './start-stream.js';
export type { WorkerInitRequest, WorkerInitRequestInit } from './worker-init-request.js';
export type { WorkerInitResponse, WorkerInitResponseInit } from './worker-init-response.js';
export type { WorkerMetadata, WorkerMetadataInit } from './worker-metadata.js';
export type { StatusResult, StatusResultInit } from './status-result.js';
export type { WorkerHeartbeat, WorkerHeartbeatInit } from './worker-heartbeat.js';
export type { WorkerTerminate, WorkerTerminateInit } from './worker-terminate.js';
export type { FileChangeEventRequest, FileChangeEventRequestInit } from './file-change-event-request.js';
export type { WorkerActionResponse, WorkerActionResponseInit } from './worker-action-response.js';
export type { WorkerStatusRequest, WorkerStatusRequestInit } from './worker-status-request.js';
export type { WorkerStatusResponse, WorkerStatusResponseInit } from './worker-status-response.js';
export type {
  FunctionEnvironmentReloadRequest,
  FunctionEnvironmentReloadRequestInit,
} from './function-environment-reload-request.js';
export type {
  FunctionEnvironmentReloadResponse,
  FunctionEnvironmentReloadResponseInit,
} from './function-environment-reload-response.js';
export type {
  CloseSharedMemoryResourcesRequest,
  CloseSharedMemoryResourcesRequestInit,
} from './close-shared-memory-resources-request.js';
export type {
  CloseSharedMemoryResourcesResponse,
  CloseSharedMemoryResourcesResponseInit,
} from './close-shared-memory-resources-response.js';
export type {
  FunctionLoadRequestCollection,
  FunctionLoadRequestCollectionInit,
} from './function-load-request-collection.js';
export type {
  FunctionLoadResponseCollection,
  FunctionLoadResponseCollectionInit,
} from './function-load-response-collection.js';
export type { FunctionLoadRequest, FunctionLoadRequestInit } from './function-load-request.js';
export type { FunctionLoadResponse, FunctionLoadResponseInit } from './function-load-response.js';
export type { RpcFunctionMetadata, RpcFunctionMetadataInit } from './rpc-function-metadata.js';
export type { FunctionsMetadataRequest, FunctionsMetadataRequestInit } from './functions-metadata-request.js';
export type { FunctionMetadataResponse, FunctionMetadataResponseInit } from './function-metadata-response.js';
export type { InvocationRequest, InvocationRequestInit } from './invocation-request.js';
export type { RpcTraceContext, RpcTraceContextInit } from './rpc-trace-context.js';
export type { RetryContext, RetryContextInit } from './retry-context.js';
export type { InvocationCancel, InvocationCancelInit } from './invocation-cancel.js';
export type { InvocationResponse, InvocationResponseInit } from './invocation-response.js';
export type { WorkerWarmupRequest, WorkerWarmupRequestInit } from './worker-warmup-request.js';
export type { WorkerWarmupResponse, WorkerWarmupResponseInit } from './worker-warmup-response.js';
export type { TypedData, TypedDataInit, RpcHttp, RpcHttpInit } from './typed-data.js';
export type { RpcSharedMemory, RpcSharedMemoryInit } from './rpc-shared-memory.js';
export type { CollectionString, CollectionStringInit } from './collection-string.js';
export type { CollectionBytes, CollectionBytesInit } from './collection-bytes.js';
export type { CollectionDouble, CollectionDoubleInit } from './collection-double.js';
export type { CollectionSInt64, CollectionSInt64Init } from './collection-sint64.js';
export type { ParameterBinding, ParameterBindingInit } from './parameter-binding.js';
export type { BindingInfo, BindingInfoInit } from './binding-info.js';
export type { RpcLog, RpcLogInit } from './rpc-log.js';
export type { RpcException, RpcExceptionInit } from './rpc-exception.js';
export type { RpcHttpCookie, RpcHttpCookieInit } from './rpc-http-cookie.js';
export type { ModelBindingData, ModelBindingDataInit } from './model-binding-data.js';
export type { CollectionModelBindingData, CollectionModelBindingDataInit } from './collection-model-binding-data.js';
export type { RpcRetryOptions, RpcRetryOptionsInit } from './rpc-retry-options.js';
export type { Duration, DurationInit } from './duration.js';
export type { RpcClaimsIdentity, RpcClaimsIdentityInit } from './rpc-claims-identity.js';
export type { RpcClaim, RpcClaimInit } from './rpc-claim.js';
export type { NullableString, NullableStringInit } from './nullable-string.js';
export type { NullableDouble, NullableDoubleInit } from './nullable-double.js';
export type { NullableBool, NullableBoolInit } from './nullable-bool.js';
export type { NullableTimestamp, NullableTimestampInit } from './nullable-timestamp.js';
export type { Timestamp, TimestampInit } from './timestamp.js';
export type { CompleteRequest, CompleteRequestInit } from './complete-request.js';
export type { AbandonRequest, AbandonRequestInit } from './abandon-request.js';
export type { DeferRequest, DeferRequestInit } from './defer-request.js';
export type { DeadletterRequest, DeadletterRequestInit } from './deadletter-request.js';
export type { RenewMessageLockRequest, RenewMessageLockRequestInit } from './renew-message-lock-request.js';
export type { GetSessionStateRequest, GetSessionStateRequestInit } from './get-session-state-request.js';
export type { GetSessionStateResponse, GetSessionStateResponseInit } from './get-session-state-response.js';
export type { SetSessionStateRequest, SetSessionStateRequestInit } from './set-session-state-request.js';
export type { ReleaseSessionRequest, ReleaseSessionRequestInit } from './release-session-request.js';
export type { RenewSessionLockRequest, RenewSessionLockRequestInit } from './renew-session-lock-request.js';
export type { RenewSessionLockResponse, RenewSessionLockResponseInit } from './renew-session-lock-response.js';
export type { Empty, EmptyInit } from './empty.js';
export type { StringValue, StringValueInit } from './string-value.js';
