// Generated from proto/ by src/generator/main.ts (npm run generate -w @drover/function-rpc). Do not edit.

/** Values of StatusResult.Status. */
export const StatusResultStatus = {
  Failure: 0,
  Success: 1,
  Cancelled: 2,
} as const;
/** A value of StatusResultStatus, or a newer one. */
export type StatusResultStatus = number;

/** Values of FileChangeEventRequest.Type. */
export const FileChangeEventRequestType = {
  Unknown: 0,
  Created: 1,
  Deleted: 2,
  Changed: 4,
  Renamed: 8,
  All: 15,
} as const;
/** A value of FileChangeEventRequestType, or a newer one. */
export type FileChangeEventRequestType = number;

/** Values of WorkerActionResponse.Action. */
export const WorkerActionResponseAction = {
  Restart: 0,
  Reload: 1,
} as const;
/** A value of WorkerActionResponseAction, or a newer one. */
export type WorkerActionResponseAction = number;

/** Values of FunctionEnvironmentReloadResponse.CapabilitiesUpdateStrategy. */
export const FunctionEnvironmentReloadResponseCapabilitiesUpdateStrategy = {
  merge: 0,
  replace: 1,
} as const;
/** A value of FunctionEnvironmentReloadResponseCapabilitiesUpdateStrategy, or a newer one. */
export type FunctionEnvironmentReloadResponseCapabilitiesUpdateStrategy = number;

/** The kind of data in a shared memory map. */
export const RpcDataType = {
  unknown: 0,
  string: 1,
  json: 2,
  bytes: 3,
  stream: 4,
  http: 5,
  int: 6,
  double: 7,
  collection_bytes: 8,
  collection_string: 9,
  collection_double: 10,
  collection_sint64: 11,
} as const;
/** A value of RpcDataType, or a newer one. */
export type RpcDataType = number;

/** Values of BindingInfo.Direction. */
export const BindingInfoDirection = {
  in: 0,
  out: 1,
  inout: 2,
} as const;
/** A value of BindingInfoDirection, or a newer one. */
export type BindingInfoDirection = number;

/** Values of BindingInfo.DataType. */
export const BindingInfoDataType = {
  undefined: 0,
  string: 1,
  binary: 2,
  stream: 3,
} as const;
/** A value of BindingInfoDataType, or a newer one. */
export type BindingInfoDataType = number;

/** Values of RpcLog.Level. */
export const RpcLogLevel = {
  Trace: 0,
  Debug: 1,
  Information: 2,
  Warning: 3,
  Error: 4,
  Critical: 5,
  None: 6,
} as const;
/** A value of RpcLogLevel, or a newer one. */
export type RpcLogLevel = number;

/** Values of RpcLog.RpcLogCategory. */
export const RpcLogCategory = {
  User: 0,
  System: 1,
  CustomMetric: 2,
} as const;
/** A value of RpcLogCategory, or a newer one. */
export type RpcLogCategory = number;

/** `None` omits the attribute; `ExplicitNone` is its value "None". */
export const RpcHttpCookieSameSite = {
  None: 0,
  Lax: 1,
  Strict: 2,
  ExplicitNone: 3,
} as const;
/** A value of RpcHttpCookieSameSite, or a newer one. */
export type RpcHttpCookieSameSite = number;

/** Values of RpcRetryOptions.RetryStrategy. */
export const RpcRetryOptionsRetryStrategy = {
  exponential_backoff: 0,
  fixed_delay: 1,
} as const;
/** A value of RpcRetryOptionsRetryStrategy, or a newer one. */
export type RpcRetryOptionsRetryStrategy = number;
