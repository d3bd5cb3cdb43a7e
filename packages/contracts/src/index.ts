export {
  ApiKey,
  bearsApiKey,
  collectionScopes,
  CreatedApiKey,
  holdsScope,
  isScope,
  mayGrantScope,
  NewApiKey,
  Scope,
  scopes,
} from './api-key.js';
export type { CollectionScope } from './api-key.js';
export {
  applicationChangeKinds,
  ApplicationChangeView,
  ApplicationName,
  applicationNameOfFolder,
  applicationNamePattern,
  ApplicationSettings,
  ApplicationVersionName,
  ApplicationVersionView,
  ApplicationView,
  NewApplicationVersion,
  PayloadDigest,
  RollbackPolicy,
  ScaleSettings,
  TrafficShares,
  UploadedPayload,
} from './application.js';
export type { ApplicationChangeKind } from './application.js';
export { CallbackSecret, NewCallbackSecret } from './callback-secret.js';
export {
  CollectionDefinition,
  CollectionName,
  FieldConstraints,
  FieldDefinition,
  PicklistDefinition,
  FieldName,
  fieldTypes,
  rollupFunctions,
  storageModes,
  ValidationRule,
} from './collection.js';
export type { FieldType, RollupFunction, StorageMode } from './collection.js';
export {
  CollectionChangeView,
  CollectionPlan,
  CollectionVersionView,
  CollectionView,
  RouteClash,
} from './collection-view.js';
export { CodedError, defineError, hasCode, isCodedError } from './errors/define-error.js';
export type { ErrorDefinition, ErrorTraits, Fault } from './errors/define-error.js';
export { catalogueToMarkdown, errorCatalogue } from './errors/catalogue.js';
export type { ErrorGroup } from './errors/catalogue.js';
export {
  contractErrors,
  illegalTransition,
  requestUnsendable,
  serverUnreachable,
  unexpectedAnswer,
} from './errors/errors.js';
export { defineTopic } from './events/topic.js';
export type { NewEvent, PublishedEvent, Topic } from './events/topic.js';
export {
  apiKeyChanged,
  applicationChanged,
  assignmentChanged,
  collectionCapacityNeeded,
  collectionChanged,
  collectionRouteChanged,
  recordChanged,
  functionChanged,
  topics,
  workerStatusChanged,
} from './events/topics.js';
export {
  AcceptedExecution,
  ColdStartBreakdown,
  CompletionBody,
  DeadLetterSelection,
  EnqueueBatchBody,
  EnqueueBatchResult,
  EnqueueBody,
  ExecutionAttempt,
  ExecutionError,
  ExecutionId,
  ExecutionPage,
  ExecutionQuery,
  ExecutionState,
  executionStates,
  ExecutionStatus,
  InvocationBody,
  InvocationEnvelope,
} from './execution.js';
export type { FinalExecutionState } from './execution.js';
export {
  executionModes,
  ExecutionMode,
  FunctionName,
  functionNamePattern,
  FunctionPatch,
  FunctionQueueStatus,
  functionQueueStates,
  FunctionReplacement,
  FunctionResponse,
  FunctionSpec,
  RequestedExecutionMode,
  FunctionRetryPolicy,
  FunctionSchedule,
  hiddenValue,
} from './function.js';
export type { FunctionQueueState } from './function.js';
export type { IndexedFunction, IndexedRoute, StoredFunctionIndex } from './function-index.js';
export { applicationRoutes } from './http/application-routes.js';
export { collectionRoutes } from './http/collection-routes.js';
export { picklistRoutes, PicklistView } from './http/picklist-routes.js';
export { scalingRoutes } from './http/scaling-routes.js';
export { ScalingDecisionView, ScalingView } from './scaling.js';
export { functionRoutes } from './http/function-routes.js';
export { createClient } from './http/client.js';
export type { Client, ClientOptions, SendRequest } from './http/client.js';
export { respondAsync, waitingForHeader } from './http/change-headers.js';
export { connectionHeaders, namedByConnection } from './http/connection-headers.js';
export { controlRoutes } from './http/control-routes.js';
export { ErrorBody, toErrorBody } from './http/error-body.js';
export { toOpenApi, toYaml } from './http/openapi.js';
export type { OpenApiInfo } from './http/openapi.js';
export { isForFunctions, isRecordsImport, recordsPathName, sharedRecordsNames } from './http/platform-paths.js';
export { defineRoute } from './http/route.js';
export {
  readRuntimeCallPath,
  readRuntimeStatePath,
  runtimeCallPath,
  runtimeCalls,
  runtimeStatePath,
} from './http/runtime-calls.js';
export type {
  RuntimeAnswerHead,
  RuntimeCallHead,
  RuntimeIndexAnswer,
  RuntimeIndexRequest,
  RuntimeKeyedFunction,
  RuntimeKeys,
  RuntimeListedFunction,
  RuntimeListing,
  RuntimeServedState,
} from './http/runtime-calls.js';
export type { Method, Route, RouteInput, RouteOutput, RouteResponse } from './http/route.js';
export { defaultTenantId } from './ids.js';
export type { ApiKeyId, Id, TenantId } from './ids.js';
export { defineStates, statesToMermaid } from './states/define-states.js';
export type { StateMachine, States, StateTable } from './states/define-states.js';
export { bytesOf, isDurable } from './accepted-call.js';
export type { AcceptedCall, Payload } from './accepted-call.js';
export type { FailedChangesChosen, FailedChangeView } from './failed-change.js';
export { failedChangeRoutes } from './http/failed-change-routes.js';
export { collectionWorkerRoutes } from './http/collection-worker-routes.js';
export { routeGenerationHeader, serveAnywayHeader } from './http/gateway-headers.js';
export { webhookRoutes } from './http/webhook-routes.js';
export {
  assignmentStatuses,
  CollectionAssignmentView,
  CollectionRoute,
  CollectionWorkerView,
  collectionWorkerStatuses,
  NewCollectionWorker,
  WorkerAssignment,
  CollectionWorkerHeartbeat,
  WorkerOrders,
} from './collection-worker.js';
export type { AssignmentStatus, CollectionWorkerStatus } from './collection-worker.js';
export {
  NewWebhook,
  recordChangeKinds,
  RecordWebhook,
  WebhookChange,
  WebhookDelivery,
  webhookDeliveryStates,
} from './webhook.js';
