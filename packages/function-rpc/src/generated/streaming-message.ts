// Generated from proto/ by src/generator/main.ts (npm run generate -w @drover/function-rpc). Do not edit.

import type { StartStream, StartStreamInit } from './start-stream.js';
import type { WorkerInitRequest, WorkerInitRequestInit } from './worker-init-request.js';
import type { WorkerInitResponse, WorkerInitResponseInit } from './worker-init-response.js';
import type { WorkerHeartbeat, WorkerHeartbeatInit } from './worker-heartbeat.js';
import type { WorkerTerminate, WorkerTerminateInit } from './worker-terminate.js';
import type { FileChangeEventRequest, FileChangeEventRequestInit } from './file-change-event-request.js';
import type { WorkerActionResponse, WorkerActionResponseInit } from './worker-action-response.js';
import type { WorkerStatusRequest, WorkerStatusRequestInit } from './worker-status-request.js';
import type { WorkerStatusResponse, WorkerStatusResponseInit } from './worker-status-response.js';
import type {
  FunctionEnvironmentReloadRequest,
  FunctionEnvironmentReloadRequestInit,
} from './function-environment-reload-request.js';
import type {
  FunctionEnvironmentReloadResponse,
  FunctionEnvironmentReloadResponseInit,
} from './function-environment-reload-response.js';
import type {
  CloseSharedMemoryResourcesRequest,
  CloseSharedMemoryResourcesRequestInit,
} from './close-shared-memory-resources-request.js';
import type {
  CloseSharedMemoryResourcesResponse,
  CloseSharedMemoryResourcesResponseInit,
} from './close-shared-memory-resources-response.js';
import type {
  FunctionLoadRequestCollection,
  FunctionLoadRequestCollectionInit,
} from './function-load-request-collection.js';
import type {
  FunctionLoadResponseCollection,
  FunctionLoadResponseCollectionInit,
} from './function-load-response-collection.js';
import type { FunctionLoadRequest, FunctionLoadRequestInit } from './function-load-request.js';
import type { FunctionLoadResponse, FunctionLoadResponseInit } from './function-load-response.js';
import type { FunctionsMetadataRequest, FunctionsMetadataRequestInit } from './functions-metadata-request.js';
import type { FunctionMetadataResponse, FunctionMetadataResponseInit } from './function-metadata-response.js';
import type { InvocationRequest, InvocationRequestInit } from './invocation-request.js';
import type { InvocationCancel, InvocationCancelInit } from './invocation-cancel.js';
import type { InvocationResponse, InvocationResponseInit } from './invocation-response.js';
import type { WorkerWarmupRequest, WorkerWarmupRequestInit } from './worker-warmup-request.js';
import type { WorkerWarmupResponse, WorkerWarmupResponseInit } from './worker-warmup-response.js';
import type { RpcLog, RpcLogInit } from './rpc-log.js';

/** The contents of a StreamingMessage by kind. */
export interface StreamingMessageContent {
  readonly rpcLog: RpcLog;
  readonly invocationRequest: InvocationRequest;
  readonly invocationResponse: InvocationResponse;
  readonly fileChangeEventRequest: FileChangeEventRequest;
  readonly workerActionResponse: WorkerActionResponse;
  readonly functionLoadRequest: FunctionLoadRequest;
  readonly functionLoadResponse: FunctionLoadResponse;
  readonly workerStatusRequest: WorkerStatusRequest;
  readonly workerStatusResponse: WorkerStatusResponse;
  readonly workerTerminate: WorkerTerminate;
  readonly workerHeartbeat: WorkerHeartbeat;
  readonly workerInitResponse: WorkerInitResponse;
  readonly workerInitRequest: WorkerInitRequest;
  readonly startStream: StartStream;
  readonly invocationCancel: InvocationCancel;
  readonly functionEnvironmentReloadRequest: FunctionEnvironmentReloadRequest;
  readonly functionEnvironmentReloadResponse: FunctionEnvironmentReloadResponse;
  readonly closeSharedMemoryResourcesRequest: CloseSharedMemoryResourcesRequest;
  readonly closeSharedMemoryResourcesResponse: CloseSharedMemoryResourcesResponse;
  readonly functionsMetadataRequest: FunctionsMetadataRequest;
  readonly functionMetadataResponse: FunctionMetadataResponse;
  readonly functionLoadRequestCollection: FunctionLoadRequestCollection;
  readonly functionLoadResponseCollection: FunctionLoadResponseCollection;
  readonly workerWarmupRequest: WorkerWarmupRequest;
  readonly workerWarmupResponse: WorkerWarmupResponse;
}

/** The contents of a StreamingMessage by kind, for writing. */
export interface StreamingMessageContentInit {
  readonly rpcLog: RpcLogInit;
  readonly invocationRequest: InvocationRequestInit;
  readonly invocationResponse: InvocationResponseInit;
  readonly fileChangeEventRequest: FileChangeEventRequestInit;
  readonly workerActionResponse: WorkerActionResponseInit;
  readonly functionLoadRequest: FunctionLoadRequestInit;
  readonly functionLoadResponse: FunctionLoadResponseInit;
  readonly workerStatusRequest: WorkerStatusRequestInit;
  readonly workerStatusResponse: WorkerStatusResponseInit;
  readonly workerTerminate: WorkerTerminateInit;
  readonly workerHeartbeat: WorkerHeartbeatInit;
  readonly workerInitResponse: WorkerInitResponseInit;
  readonly workerInitRequest: WorkerInitRequestInit;
  readonly startStream: StartStreamInit;
  readonly invocationCancel: InvocationCancelInit;
  readonly functionEnvironmentReloadRequest: FunctionEnvironmentReloadRequestInit;
  readonly functionEnvironmentReloadResponse: FunctionEnvironmentReloadResponseInit;
  readonly closeSharedMemoryResourcesRequest: CloseSharedMemoryResourcesRequestInit;
  readonly closeSharedMemoryResourcesResponse: CloseSharedMemoryResourcesResponseInit;
  readonly functionsMetadataRequest: FunctionsMetadataRequestInit;
  readonly functionMetadataResponse: FunctionMetadataResponseInit;
  readonly functionLoadRequestCollection: FunctionLoadRequestCollectionInit;
  readonly functionLoadResponseCollection: FunctionLoadResponseCollectionInit;
  readonly workerWarmupRequest: WorkerWarmupRequestInit;
  readonly workerWarmupResponse: WorkerWarmupResponseInit;
}

/** The kind of a StreamingMessage. */
export type StreamingMessageKind = keyof StreamingMessageContent;

/** A StreamingMessage of one kind. */
export interface StreamingMessageOf<K extends StreamingMessageKind> {
  readonly requestId: string;
  readonly kind: K;
  readonly value: StreamingMessageContent[K];
}

/** The message of both directions: an id and one content. A message of a newer protocol, or an empty one, has no kind. */
export type StreamingMessage =
  | { [K in StreamingMessageKind]: StreamingMessageOf<K> }[StreamingMessageKind]
  | { readonly requestId: string; readonly kind: undefined; readonly value: undefined };

/** StreamingMessage for writing. */
export type StreamingMessageInit = {
  readonly [K in StreamingMessageKind]: {
    readonly requestId?: string | null | undefined;
    readonly kind: K;
    readonly value: StreamingMessageContentInit[K];
  };
}[StreamingMessageKind];
